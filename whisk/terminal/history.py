"""What is remembered of terminals, running and ended: who they were, and what they printed."""

from __future__ import annotations

from typing import ClassVar

from whisk.clock import Instant
from whisk.terminal.pty import PtyRecord, PtyStatus
from whisk.values import Record


class PtyHistorySummary(Record, frozen=True):
    """The window and the pane are those it was started in. `exit_code` is -1 when it is not known."""

    wire_name: ClassVar[str] = "PTYHistorySummary"

    pty_id: str
    session_id: str
    window_id: str
    pane_id: str
    working_dir: str
    created_at: Instant
    status: PtyStatus
    argv: tuple[str, ...]
    exit_code: int | None = None
    ended_at: Instant | None = None
    title: str | None = None


class PtyHistory(PtyHistorySummary, frozen=True, kw_only=True):
    """`output` are the bytes `start` to `offset` as text; `end` is where the output ends for now. `skipped` bytes were
    asked for and are no longer kept. `output_base64` is there when it was asked for.
    """

    wire_name: ClassVar[str] = "PTYHistory"

    output: str
    start: int
    offset: int
    end: int
    skipped: int = 0
    output_base64: str | None = None


def summary(record: PtyRecord) -> PtyHistorySummary:
    return PtyHistorySummary(
        pty_id=record.id,
        session_id=record.session_id,
        window_id=record.origin_window_id,
        pane_id=record.origin_pane_id,
        working_dir=record.working_dir,
        created_at=record.created_at,
        status=record.status,
        argv=record.argv,
        exit_code=record.exit_code,
        ended_at=record.ended_at,
        title=record.title,
    )
