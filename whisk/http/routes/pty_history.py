"""What terminals have printed, read from their transcripts: also of those that have ended long ago."""

from __future__ import annotations

import base64

import msgspec

from whisk.actors.offload import offload
from whisk.errors import InvalidError
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage.transcript import Contents, Transcript
from whisk.terminal.history import PtyHistory, PtyHistorySummary, summary
from whisk.terminal.text import LOOK_BACK, begins_inside, text_of
from whisk.values import Record

LIST_LIMIT = 10_000


class HistoryListQuery(Record, frozen=True):
    """`limit` takes the newest; the list is oldest first all the same."""

    session_id: str | None = None
    limit: int = LIST_LIMIT


class HistoryQuery(Record, frozen=True):
    """`from` is an offset in bytes; `base64` adds the very bytes. Without `limit` it is all that is kept."""

    start: int = msgspec.field(default=0, name="from")
    limit: int | None = None
    base64: bool = False


def list_history(api: Api, request: Request[None, HistoryListQuery]) -> list[PtyHistorySummary]:
    query = request.query
    if not 1 <= query.limit <= LIST_LIMIT:
        raise InvalidError(f"limit must be between 1 and {LIST_LIMIT}", field="limit")
    return [summary(record) for record in api.sessions.history(query.limit, query.session_id)]


def read_history(api: Api, request: Request[None, HistoryQuery]) -> PtyHistory:
    query = request.query
    if query.start < 0:
        raise InvalidError("from must not be negative", field="from")
    if query.limit is not None and query.limit < 1:
        raise InvalidError("limit must be at least 1", field="limit")
    record, transcript = api.sessions.transcript(request.path["pty_id"])
    # Some megabytes to copy, decode and encode: not where everybody waits.
    kept, text, encoded = offload(_read, transcript, query, record.ended)
    return PtyHistory(
        **msgspec.structs.asdict(summary(record)),
        output=text,
        start=kept.offset,
        offset=kept.next,
        end=max(transcript.end, kept.next),
        skipped=kept.skipped,
        output_base64=encoded,
    )


def _read(transcript: Transcript, query: HistoryQuery, ended: bool) -> tuple[Contents, str, str | None]:
    kept = transcript.contents(query.start, query.limit)
    before = b""
    if begins_inside(kept.data) and kept.offset > transcript.start:
        before = transcript.read(max(kept.offset - LOOK_BACK, 0), min(LOOK_BACK, kept.offset)).data
    text = text_of(kept.data, before=before, final=ended and kept.next >= transcript.end)
    return kept, text, base64.b64encode(kept.data).decode() if query.base64 else None


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/pty-history",
        list_history,
        "List the terminals that are remembered, ended ones too, oldest first",
        query=HistoryListQuery,
        reply=list[PtyHistorySummary],
        operation="listPTYHistory",
    ),
    Route(
        "GET",
        "/v1/pty-history/{pty_id}",
        read_history,
        "Read what is kept of a terminal's output",
        query=HistoryQuery,
        reply=PtyHistory,
        operation="readPTYHistory",
    ),
)
