"""Announcements: a numbered ring that anyone can follow. It says what changed, never how; clients read again."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import NamedTuple

from whisk.actors.actor import Actor
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.events import Event, EventType
from whisk.values import Record

KEPT = 1024
"""Events a follower may lag behind before it is told that it missed some."""
INBOX = 20_000
"""Messages that may wait for this actor: every follower asks again in the same moment."""


class Batch(Record, frozen=True):
    """Events after a follower's position, oldest first. `next` is its new position; `missed` means read all again."""

    events: tuple[Event, ...]
    next: int
    missed: bool = False


class Numbering:
    """The last number given. Made once and handed to every incarnation, so that a restart repeats no number.

    A daemon begins behind everything that its predecessors can have given, so that a position of theirs is known for
    what it is.
    """

    __slots__ = ("last",)

    def __init__(self, last: int = 0) -> None:
        self.last = last


class _Wish(NamedTuple):
    """What somebody waits for, and behind which event."""

    after: int
    limit: int
    types: frozenset[EventType]


class EventsActor(Actor):
    """Followers hold a position only, so one that is slow or gone costs nothing and never holds up a publisher."""

    def __init__(self, kept: int = KEPT, numbering: Numbering | None = None) -> None:
        super().__init__()
        self._ring: deque[Event] = deque(maxlen=kept)
        self._numbering = numbering or Numbering()
        self._waiting: dict[Future[Batch], _Wish] = {}

    def publish(
        self, kind: EventType, id: str | None = None, pty_id: str | None = None, offset: int | None = None
    ) -> None:
        """Announce; told, not asked."""
        self._numbering.last += 1
        self._ring.append(Event(type=kind, seq=self._numbering.last, id=id, pty_id=pty_id, offset=offset))
        waiting, self._waiting = self._waiting, {}
        for future, wish in waiting.items():
            if wish.types and kind not in wish.types:
                # It has waited here all the time, so this one is passed by and not missed.
                self._waiting[future] = wish._replace(after=self._seq)
            else:
                future.set(self._batch(wish))

    def follow(self, after: int, limit: int = 100, types: frozenset[EventType] = frozenset()) -> Future[Batch]:
        """Up to `limit` events behind `after`, of one of `types` (none: of any), as soon as there is one.

        `after=0` begins with the oldest that is kept. A position behind the ring, or ahead of it because the daemon
        was restarted, is answered with `missed` and what there is. Cancel the future to stop waiting.
        """
        future: Future[Batch] = Future()
        batch = self._batch(_Wish(after, limit, types))
        if batch.events or batch.missed:
            future.set(batch)
        else:
            self._waiting[future] = _Wish(self._seq, limit, types)
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

    def _batch(self, wish: _Wish) -> Batch:
        after = wish.after
        ahead = after > self._seq
        position = 0 if ahead else after
        first = self._ring[0].seq if self._ring else self._seq + 1
        # By index: those near the end are found at once, and nearly everybody stands there.
        events = (self._ring[i] for i in range(max(position + 1 - first, 0), len(self._ring)))
        wanted = (event for event in events if not wish.types or event.type in wish.types)
        found = tuple(islice(wanted, wish.limit))
        missed = ahead or (after > 0 and after + 1 < first)
        return Batch(events=found, next=found[-1].seq if found else self._seq, missed=missed)


class EventsHandle(Handle):
    publish: Method[..., None]
    follow: Method[..., Batch]
    last: Method[[], int]
