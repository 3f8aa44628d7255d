"""Announcements: a numbered ring that anyone can follow. It says what changed, never how; clients read again."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from whisk.actors.actor import Actor
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.events import Event, EventType
from whisk.values import Record

KEPT = 1024
"""Events a follower may lag behind before it is told that it missed some."""


class Batch(Record, frozen=True):
    """Events after a follower's position, oldest first. `next` is its new position; `missed` means read all again."""

    events: tuple[Event, ...]
    next: int
    missed: bool = False


class Numbering:
    """The last number given. Made once and handed to every incarnation, so that a restart repeats no number."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0


class EventsActor(Actor):
    """Followers hold a position only, so one that is slow or gone costs nothing and never holds up a publisher."""

    def __init__(self, kept: int = KEPT, numbering: Numbering | None = None) -> None:
        super().__init__()
        self._ring: deque[Event] = deque(maxlen=kept)
        self._numbering = numbering or Numbering()
        self._waiting: dict[Future[Batch], tuple[int, int]] = {}

    def publish(
        self, kind: EventType, id: str | None = None, pty_id: str | None = None, offset: int | None = None
    ) -> None:
        """Announce; told, not asked."""
        self._numbering.last += 1
        self._ring.append(Event(type=kind, seq=self._numbering.last, id=id, pty_id=pty_id, offset=offset))
        waiting, self._waiting = self._waiting, {}
        for future, (after, limit) in waiting.items():
            future.set(self._batch(after, limit))

    def follow(self, after: int, limit: int = 100) -> Future[Batch]:
        """Up to `limit` events behind `after`, as soon as there is one; cancel the future to stop waiting.

        `after=0` begins with the oldest that is kept. A position behind the ring, or ahead of it because the daemon
        was restarted, is answered with `missed` and what there is.
        """
        future: Future[Batch] = Future()
        if after > self._seq or (after < self._seq and (self._ring or after)):
            future.set(self._batch(after, limit))
        else:
            self._waiting[future] = (after, limit)
            future.on_cancel(lambda: self._waiting.pop(future, None))
        return future

    def last(self) -> int:
        """The number of the newest event; 0 before the first."""
        return self._seq

    @property
    def _seq(self) -> int:
        return self._numbering.last

    def describe(self) -> dict[str, object]:
        return {"seq": self._seq, "kept": len(self._ring), "followers": len(self._waiting)}

    def _batch(self, after: int, limit: int) -> Batch:
        ahead = after > self._seq
        position = 0 if ahead else after
        first = self._ring[0].seq if self._ring else self._seq + 1
        skip = max(position + 1 - first, 0)
        found: Sequence[Event] = [self._ring[i] for i in range(skip, min(skip + limit, len(self._ring)))]
        missed = ahead or (after > 0 and after + 1 < first)
        return Batch(events=tuple(found), next=found[-1].seq if found else self._seq, missed=missed)


class EventsHandle(Handle):
    publish: Method[..., None]
    follow: Method[..., Batch]
    last: Method[[], int]
