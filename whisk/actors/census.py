"""Who runs on this machine, and in which of our terminals: one count, shared by all who ask at the same time."""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

import psutil

from whisk.actors.future import Future
from whisk.actors.offload import offload
from whisk.errors import CancelledError


class Resident(NamedTuple):
    """A living process. `process` compares equal across counts for the same process only, never for a number that
    was used again; `mark` is the WHISK_PTY_ID that it was started with.
    """

    process: psutil.Process
    parent: int
    session: int
    mark: str | None


class Census:
    """A count takes some ten milliseconds of a thread, so two hundred kills must not mean as many counts."""

    def __init__(self) -> None:
        self._next: Future[list[Resident]] | None = None
        self._counting = False

    def take(self) -> list[Resident]:
        """Everybody alive, counted after this call; blocks the calling greenlet."""
        while True:
            if self._next is None:
                self._next = Future()
            asked = self._next
            if not self._counting:
                self._count()
            try:
                return asked.get()
            except CancelledError:
                continue  # whoever counted for us was ended in the middle of it

    def _count(self) -> None:
        """Count for all who wait, and for those who come meanwhile: they want what is true after they asked."""
        self._counting = True
        asked: Future[list[Resident]] | None = None
        try:
            while (asked := self._next) is not None:
                self._next = None
                asked.set(offload(count))
        finally:
            self._counting = False
            for unanswered in (asked, self._next):
                if unanswered is not None:
                    unanswered.cancel()
            self._next = None


def count() -> list[Resident]:
    """Blocks. A process that is started while we look, by one that we have looked at, is looked at too."""
    residents = []
    looked_at: set[int] = set()
    while new := set(psutil.pids()) - looked_at:
        looked_at |= new
        for pid in new:
            with contextlib.suppress(psutil.Error, OSError):
                process = psutil.Process(pid)
                with process.oneshot():
                    if process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                        residents.append(Resident(process, process.ppid(), os.getsid(pid), _mark(process)))
    return residents


def _mark(process: psutil.Process) -> str | None:
    with contextlib.suppress(psutil.Error, OSError):
        return process.environ().get("WHISK_PTY_ID")
    return None
