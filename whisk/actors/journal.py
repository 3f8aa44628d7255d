"""The journal: the one writer of the database, as an actor.

Whatever has been queued while one group was being written becomes the next group, so the more there is to do, the
fewer syncs each write costs. A reply comes after the commit: who has it may tell the world.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeVar

import gevent
from gevent.event import Event
from gevent.threadpool import ThreadPool

from whisk.actors.actor import Actor
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.errors import BusyError, UnavailableError
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter, Write

T = TypeVar("T")

GROUP_LIMIT = 500
QUEUE_LIMIT = 10_000
MANY = 8


class JournalActor(Actor):
    """Groups writes and commits them on one real thread of its own; never blocks the hub."""

    def __init__(self, store: Store, group_limit: int = GROUP_LIMIT, queue_limit: int = QUEUE_LIMIT) -> None:
        super().__init__()
        self._writer = GroupWriter(store)
        self._group_limit = group_limit
        self._queue_limit = queue_limit
        self._queue: deque[tuple[Write[Any], Future[Any]]] = deque()
        self._flight: list[tuple[Write[Any], Future[Any]]] = []
        self._work = Event()
        self._flushed = Event()
        self._flushed.set()
        self._closing = False

    def on_start(self) -> None:
        # A pool of one thread: SQLite's connection is used by one thread at a time, and in order.
        self._thread = ThreadPool(1)
        self.spawn_greenlet(self._pump)

    def write(self, write: Write[T]) -> Future[T]:
        """Queue `write`; the reply is what it returned, after the commit, or what it raised.

        Raises `BusyError` when too much is queued already, `UnavailableError` while stopping.
        """
        if self._closing:
            raise UnavailableError("the journal is stopping")
        if len(self._queue) >= self._queue_limit:
            raise BusyError("too many writes are waiting for the disk", limit=self._queue_limit)
        future: Future[T] = Future()
        self._queue.append((write, future))
        self._flushed.clear()
        self._work.set()
        return future

    def on_stop(self) -> None:
        """Write what is queued, then give up the thread."""
        self._closing = True
        self._flushed.wait()
        self._thread.kill()

    def on_failure(self, *_: object) -> None:
        """Tell who waits, and let the thread finish: the next incarnation uses the same connection."""
        self._closing = True
        lost = UnavailableError("the journal ended before it answered; the write may be stored")
        queued = list(self._queue)
        # The pump lives until the thread has ended; it must not begin with what has just been given up.
        self._queue.clear()
        for _write, future in (*self._flight, *queued):
            future.set_error(lost)
        self._thread.kill()

    def describe(self) -> dict[str, object]:
        writer = self._writer
        return {
            "queued": len(self._queue),
            "groups": writer.groups,
            "writes": writer.writes,
            "failed": writer.failed,
            "largestGroup": writer.largest_group,
            "lastCommitMs": round(writer.last_commit_ms, 3),
        }

    def _pump(self) -> None:
        while True:
            self._work.wait()
            self._work.clear()
            while self._queue:
                if len(self._queue) > MANY:
                    # Under load, one more look at what has arrived makes the group larger, and each write cheaper.
                    gevent.sleep(0.00001)
                group = [self._queue.popleft() for _ in range(min(len(self._queue), self._group_limit))]
                self._flight = group
                outcomes = self._thread.spawn(self._writer.run, [write for write, _ in group]).get()
                self._flight = []
                for (_, future), outcome in zip(group, outcomes, strict=True):
                    if outcome.error is not None:
                        future.set_error(outcome.error)
                    else:
                        future.set(outcome.value)
            self._flushed.set()


class JournalHandle(Handle):
    write: Method[[Write[Any]], Any]
