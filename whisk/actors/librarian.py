"""The librarian reads what terminals have printed into the index of their words: at leisure, and before a search.

Transcripts are files, and taking the escape sequences out of them is slow (12 MB/s), so they are read once. The index
holds nothing of its own; what is missing from it is read again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import gevent
from gevent.event import Event
from gevent.lock import Semaphore

from whisk.actors.actor import Actor
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.offload import offload
from whisk.errors import StorageError
from whisk.storage import transcript_text
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.transcript_text import Stretch
from whisk.terminal.pty import PtyRecord

ROUND_SECONDS = 60.0
# Every so many rounds, those that have ended are looked at again: it takes a thousand of them half a second.
_WHOLE_ROUND = 30
_SLICE_SECONDS = 0.5
_PAUSE_SECONDS = 0.1
_READ_BYTES = 256 * 1024
_SIDE_FILES = ("", "-wal", "-shm")


def open_index(path: Path) -> Store:
    """The index's database; one that cannot be used is made anew. Blocks."""
    try:
        return Store.open(path, migrations=transcript_text.OWN_MIGRATIONS)
    except StorageError:
        for suffix in _SIDE_FILES:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return Store.open(path, migrations=transcript_text.OWN_MIGRATIONS)


class LibrarianActor(Actor):
    """Named `librarian`. `index` is used for writing by this actor alone."""

    def __init__(self, store: Store, index: Store, transcripts: Path) -> None:
        super().__init__()
        self._store = store
        self._index = index
        self._writer = GroupWriter(index)
        self._transcripts = transcripts
        self._reading = Semaphore()
        self._soon = Event()
        # Terminals that have ended and are read to their end.
        self._done: set[str] = set()
        self._left = 0
        self._closing = False

    def on_start(self) -> None:
        self.spawn_greenlet(self._tend)

    def on_stop(self) -> None:
        """The index is closed next: nobody may be writing to it then."""
        self._closing = True
        self._reading.acquire()

    def describe(self) -> dict[str, object]:
        return {"readToTheEnd": len(self._done), "unreadBytes": self._left}

    def catch_up(self, seconds: float) -> Future[int]:
        """Read what is new, for about so long; the reply is how many bytes are still unread."""
        reply: Future[int] = Future()
        self.spawn_greenlet(self._answer, seconds, reply)
        return reply

    def _answer(self, seconds: float, reply: Future[int]) -> None:
        with self._reading:
            reply.set(self._pass(seconds))
        if self._left:
            self._soon.set()

    def _tend(self) -> None:
        """Now and then, look at all of them again: output may have been dropped, or a transcript be gone."""
        for number in count():
            if number % _WHOLE_ROUND == 0:
                self._done.clear()
            while True:
                with self._reading:
                    left = self._pass(_SLICE_SECONDS)
                if not left:
                    break
                # Reading takes its time from everybody else's.
                gevent.sleep(_PAUSE_SECONDS)
            self._soon.clear()
            self._soon.wait(ROUND_SECONDS)

    def _pass(self, seconds: float) -> int:
        """Read the newest terminals first, until the time is over; returns how many bytes are unread, and at least 1
        when some terminals were not even looked at."""
        ends = time.monotonic() + seconds
        records = self._store.read(transcript_text.terminals)
        positions = self._index.read(transcript_text.positions)
        for pty_id in positions.keys() - {record.id for record in records}:
            self._write_forget(pty_id)
        left = 0
        for record in sorted(records, key=lambda each: each.created_at, reverse=True):
            if record.id in self._done:
                continue
            if self._closing or time.monotonic() > ends:
                left += 1
                continue
            unread = self._read(record, positions.get(record.id, 0), ends)
            left += unread
            if record.ended and not unread:
                self._done.add(record.id)
        self._left = left
        return left

    def _read(self, record: PtyRecord, at: int, ends: float) -> int:
        folder = self._transcripts / record.id
        oldest, end = offload(transcript_text.bounds, folder)
        if at and (end < at or oldest > 0):
            self._write_forget(record.id, None if end < at else oldest)
            at = 0 if end < at else at
        while True:
            stretches, left = offload(
                transcript_text.read_stretches, folder, at, _READ_BYTES, ended=record.ended
            )  # fmt: skip
            if not stretches:
                # The end of a line that is still being written is nobody's backlog.
                return 0
            self._write(record.id, stretches)
            at = stretches[-1].until
            if not left or self._closing or time.monotonic() > ends:
                return left

    def _write(self, pty_id: str, stretches: Sequence[Stretch]) -> None:
        offload(self._writer.write, lambda db: transcript_text.add(db, pty_id, stretches))

    def _write_forget(self, pty_id: str, before: int | None = None) -> None:
        offload(self._writer.write, lambda db: transcript_text.forget(db, pty_id, before))


class LibrarianHandle(Handle):
    catch_up: Method[[float], int]
