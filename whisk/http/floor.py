"""Who of several viewers of one terminal decides its size: the one that typed or resized last."""

from __future__ import annotations

from weakref import WeakValueDictionary


class Floor:
    """`holder` is whoever has it; None until somebody types or resizes."""

    def __init__(self) -> None:
        self.holder: object | None = None


class Floors:
    """The floor of each terminal that is being viewed; gone with its last viewer."""

    def __init__(self) -> None:
        self._floors: WeakValueDictionary[str, Floor] = WeakValueDictionary()

    def of(self, pty_id: str) -> Floor:
        return self._floors.setdefault(pty_id, Floor())
