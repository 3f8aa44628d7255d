"""Keeps what is on disk of ended terminals within its bounds: the longest ended go first, a running one never.

It looks a little after each end, and at the start. A transcript that belongs to no terminal goes too: one whose
terminal was deleted or cleared while its files could not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whisk.actors.actor import Actor
from whisk.actors.future import Future, get
from whisk.actors.handle import Handle, Method
from whisk.actors.offload import offload
from whisk.actors.pty_life import PtyServices
from whisk.errors import UnavailableError, WhiskError
from whisk.storage import terminal as storage
from whisk.storage.transcript import Transcript, find_transcripts, measure
from whisk.terminal.history import Kept, choose_expired
from whisk.terminal.pty import PtyInfo

_LOOK_SECONDS = 5.0
# An ended terminal that somebody still reads is left alone, and looked at again when that may be over.
_AGAIN_SECONDS = 90.0
# Records that are deleted in one write, which everybody else's writes wait for.
_AT_ONCE = 200


@dataclass(frozen=True)
class HistoryBounds:
    """`total_bytes` of transcripts of ended terminals; `count` of them are remembered when their session is gone."""

    total_bytes: int
    count: int


class HistoryActor(Actor):
    """Named `history` (`pty_life.KEEPER`), so that every terminal tells it of its end."""

    def __init__(self, services: PtyServices, bounds: HistoryBounds) -> None:
        super().__init__()
        self._services = services
        self._bounds = bounds
        # What is measured once stays so: nothing is added to the transcript of an ended terminal.
        self._sizes: dict[str, int] = {}
        self._asked: list[Future[int]] = []
        self._sweeping = False
        self._removed = 0

    def on_start(self) -> None:
        self.timers.start("look", _LOOK_SECONDS, self._look)

    def on_stop(self) -> None:
        asked, self._asked = self._asked, []
        for future in asked:
            future.set_error(UnavailableError("whiskd is stopping"))

    def describe(self) -> dict[str, object]:
        return {"transcripts": len(self._sizes), "bytes": sum(self._sizes.values()), "removed": self._removed}

    def pty_ended(self, info: PtyInfo) -> None:
        """From a terminal."""
        if "look" not in self.timers:
            self.timers.start("look", _LOOK_SECONDS, self._look)

    def sweep(self) -> Future[int]:
        """Remove what exceeds the bounds as they are now; replies with how many transcripts and records that were."""
        future: Future[int] = Future()
        self._asked.append(future)
        if not self._sweeping:
            self._sweeping = True
            self.spawn_greenlet(self._sweep)
        return future

    def _look(self) -> None:
        self.sweep()

    def _sweep(self) -> None:
        """For all who asked, and for those who ask meanwhile: they want what is true after they asked."""
        try:
            while self._asked:
                asked, self._asked = self._asked, []
                try:
                    removed = self._remove_expired()
                except (WhiskError, OSError) as error:
                    self.log.error("transcripts could not be tidied up", error=str(error))
                    for future in asked:
                        future.set_error(UnavailableError(f"transcripts could not be tidied up: {error}"))
                else:
                    self._removed += removed
                    for future in asked:
                        future.set(removed)
        finally:
            self._sweeping = False

    def _remove_expired(self) -> int:
        root = self._services.transcripts
        # Folders first: whoever has one by now has long been stored, so what is not stored belongs to nobody.
        folders = offload(find_transcripts, root)
        known = self._services.store.read(storage.select_ids)
        strays = [Kept(name, 0, listed=True) for name in folders - known]
        ended = self._services.store.read(storage.select_ended)
        new = [pty_id for pty_id, _ in ended if pty_id in folders and pty_id not in self._sizes]
        sizes = offload(lambda: {pty_id: measure(root / pty_id) for pty_id in new})
        self._sizes = {pty_id: size for pty_id, size in (self._sizes | sizes).items() if pty_id in folders}
        kept = [Kept(pty_id, self._sizes.get(pty_id, 0), listed) for pty_id, listed in ended]
        expired = [*strays, *choose_expired(kept, self._bounds.total_bytes, self._bounds.count)]
        busy = [each for each in expired if self.system.find(f"pty:{each.id}") is not None]
        if busy:
            self.timers.start("look", _AGAIN_SECONDS, self._look)
        going = [each for each in expired if each not in busy]
        for first in range(0, len(going), _AT_ONCE):
            self._remove(going[first : first + _AT_ONCE])
        return len(going)

    def _remove(self, expired: Sequence[Kept]) -> None:
        forgotten = [each.id for each in expired if not each.listed]
        if forgotten:
            get(self._services.journal.write.remote(lambda db: [storage.delete(db, each) for each in forgotten]))
        offload(_remove_files, [self._services.transcripts / each.id for each in expired])
        for each in expired:
            self._sizes.pop(each.id, None)


def _remove_files(folders: Sequence[Path]) -> None:
    for folder in folders:
        Transcript(folder).remove()


class HistoryHandle(Handle):
    pty_ended: Method[[PtyInfo], None]
    sweep: Method[[], int]
