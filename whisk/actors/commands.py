"""The place of the command runtime in the tree. Nothing is contributed yet, so its snapshot is empty."""

from __future__ import annotations

from whisk.actors.actor import Actor
from whisk.actors.handle import Handle, Method


class CommandsActor(Actor):
    """Owns the ids of the commands that can be run; they come with contributions, which a later version admits."""

    def __init__(self) -> None:
        super().__init__()
        self._ids: tuple[str, ...] = ()

    def ids(self) -> tuple[str, ...]:
        return self._ids

    def describe(self) -> dict[str, object]:
        return {"commands": len(self._ids)}


class CommandsHandle(Handle):
    ids: Method[[], tuple[str, ...]]
