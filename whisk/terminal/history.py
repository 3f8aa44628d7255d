"""What is remembered of terminals, running and ended: who they were, and what they printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

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


class Kept(NamedTuple):
    """An ended terminal: `size` bytes of its output are on disk. `listed`: its session is there and still shows it."""

    id: str
    size: int
    listed: bool


def choose_expired(ended: Sequence[Kept], total_bytes: int, count: int) -> list[Kept]:
    """Which of `ended` (the longest ended first) have to go: the oldest, until the output of those that stay takes no
    more than `total_bytes` and no more than `count` are remembered whose session is gone.
    """
    size = sum(each.size for each in ended)
    forgotten = sum(not each.listed for each in ended)
    expired = []
    for each in ended:
        if (each.size and size > total_bytes) or (not each.listed and forgotten > count):
            expired.append(each)
            size -= each.size
            forgotten -= not each.listed
    return expired


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
