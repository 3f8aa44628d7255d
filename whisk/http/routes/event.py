"""Announcements of changes, by long poll or as a stream. They say what changed; clients read it again."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from whisk.actors.events import Batch
from whisk.actors.future import Future
from whisk.errors import DeadlineError, InvalidError
from whisk.events import Event, EventType
from whisk.http import sse
from whisk.http.api import Api
from whisk.http.reply import Stream
from whisk.http.route import Request, Route
from whisk.values import Record

_DAY_MS = 86_400_000
_SEQ = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class NextEventQuery(Record, frozen=True):
    """`timeoutMs=0` waits without limit; `afterSeq=0` begins with the oldest event kept. `types`: any of them."""

    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=_DAY_MS)] = 30_000
    after_seq: _SEQ = 0
    types: list[EventType] = []


class StreamQuery(Record, frozen=True):
    """`types`: any of them."""

    after_seq: _SEQ | None = None
    types: list[EventType] = []


class RuntimeEvent(Record, frozen=True):
    """Type `none` with seq 0 means that nothing happened in time."""

    type: str
    seq: int
    id: str | None = None
    pty_id: str | None = None
    offset: int | None = None


class NextEvent(Record, frozen=True):
    """After `missed` a client reads everything again."""

    wire_name: ClassVar[str] = "NextEventResponse"

    event: RuntimeEvent
    missed: bool


_NONE = RuntimeEvent(type="none", seq=0)


def next_event(api: Api, request: Request[None, NextEventQuery]) -> NextEvent:
    wanted = request.query
    waiting = api.events.follow.options(timeout=None).remote(wanted.after_seq, 1, frozenset(wanted.types))
    try:
        batch = request.wait(waiting, wanted.timeout_ms / 1000 or None)
    except DeadlineError:
        return NextEvent(event=_NONE, missed=False)
    finally:
        waiting.cancel()
    events = [_runtime(event) for event in batch.events]
    return NextEvent(event=events[0] if events else _NONE, missed=batch.missed)


def stream_events(api: Api, request: Request[None, StreamQuery]) -> Stream:
    """From now on, or from behind `Last-Event-ID` (or `afterSeq`); an event `missed` stands for those that are lost."""
    position, types = _position(api, request), frozenset(request.query.types)

    def following() -> Future[Batch]:
        return api.events.follow.options(timeout=None).remote(position, types=types)

    def render(batch: Batch) -> bytes:
        nonlocal position
        position = batch.next
        lost = sse.message({}, event="missed") if batch.missed else b""
        return lost + b"".join(sse.message(_runtime(each), event=each.type, id=each.seq) for each in batch.events)

    # A client that is cut off before the first event would otherwise come back "from now on" and miss some.
    here = f"id: {position}\n\n".encode()
    return sse.stream(request, following, render, lambda waiting: waiting.cancel(), hello=here)


def _position(api: Api, request: Request[None, StreamQuery]) -> int:
    seen = request.header("Last-Event-ID")
    if seen is None:
        after = request.query.after_seq
        return request.wait(api.events.last.remote(), 5.0) if after is None else after
    if not (seen.isascii() and seen.isdigit() and len(seen) < 20):
        raise InvalidError(f"Last-Event-ID is not the number of an event: {seen!r}")
    return int(seen)


def _runtime(event: Event) -> RuntimeEvent:
    return RuntimeEvent(type=event.type, seq=event.seq, id=event.id, pty_id=event.pty_id, offset=event.offset)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/events/next",
        next_event,
        "Wait for the next event",
        query=NextEventQuery,
        reply=NextEvent,
        operation="nextEvent",
    ),
    Route(
        "GET",
        "/v1/events",
        stream_events,
        "Follow events (SSE)",
        query=StreamQuery,
        reply=Stream,
        stream=True,
        operation="streamEvents",
        media="text/event-stream",
        frames=(RuntimeEvent,),
    ),
)
