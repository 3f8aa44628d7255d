"""A lease: the right to change or take back exactly one contribution."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from whisk.commands.command import Command
from whisk.commands.graph import Contribution


class Lease:
    """Returned by `contribute`. Once disposed, or when the runtime is closed, it is stale and does nothing more.

    A stale lease never touches what has come in the place of its contribution.
    """

    def __init__(
        self,
        contribution: Contribution,
        swap: Callable[[Contribution, Sequence[Command[Any, Any]]], Contribution | None],
        remove: Callable[[Contribution], bool],
        holds: Callable[[Contribution], bool],
    ) -> None:
        self._lock = threading.Lock()
        self._held = contribution
        self._swap = swap
        self._remove = remove
        self._holds = holds

    @property
    def source_id(self) -> str:
        return self._held.source_id

    @property
    def namespace(self) -> str:
        return self._held.namespace

    @property
    def scope(self) -> str | None:
        return self._held.scope

    @property
    def live(self) -> bool:
        return self._holds(self._held)

    def update(self, commands: Sequence[Command[Any, Any]]) -> bool:
        """Put `commands` in the place of those there are, all or none. False for a stale lease.

        Raises as `contribute` does; the commands there were then stay.
        """
        while True:
            held = self._held
            new = self._swap(held, commands)
            with self._lock:
                if new is not None:
                    self._held = new
                    return True
                if self._held is held:
                    return False
            # Another thread's update came first: this one goes on top of it.

    def dispose(self) -> bool:
        """Take the contribution back. True for the call that did it."""
        while True:
            held = self._held
            if self._remove(held):
                return True
            with self._lock:
                if self._held is held:
                    return False
