"""What an agent says of itself: a question, that it is done, or that it is blocked. Kept for whoever comes to look."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.terminal.pty import PtyRecord
from whisk.values import Record, check_text
from whisk.work.item import WorkItem
from whisk.work.person import check_actor
from whisk.work.run import Run

StatusKind = Literal["question", "done", "blocked"]
StatusScope = Literal["run", "pty", "session", "work-item"]
Severity = Literal["attention", "warning", "info"]

MESSAGE_LIMIT = 65_536
_SEVERITY: dict[StatusKind, Severity] = {"question": "attention", "blocked": "warning", "done": "info"}


class ReportStatus(Record, frozen=True):
    """At least a run, a terminal, a session or a work item is named."""

    wire_name: ClassVar[str] = "ReportStatusRequest"

    kind: str
    message: str
    actor: str | None = None
    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pane_id: str = ""
    pty_id: str = ""


class StatusEvent(Record, frozen=True):
    """One report. `scope` is the most particular thing it is about.

    Reports of the same agent that say the same kind of thing share a `notification_key`: a person who has been told of
    one need not be told again a moment later.
    """

    id: str
    scope: StatusScope
    kind: StatusKind
    message: str
    requires_attention: bool
    created_at: Instant
    notification_key: str
    notification_severity: Severity
    actor: str | None = None
    project_id: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    pane_id: str | None = None
    pty_id: str | None = None
    read_at: Instant | None = None


class StatusReport(Record, frozen=True):
    """What a report led to: `run` and `work_item` as they are now."""

    wire_name: ClassVar[str] = "ReportStatusResponse"

    event: StatusEvent
    run: Run | None = None
    work_item: WorkItem | None = None


class Surroundings(Record, frozen=True):
    """The records behind the ids of a report. `terminal` is the run's own where no other is named."""

    run: Run | None = None
    terminal: PtyRecord | None = None
    work_item: WorkItem | None = None


def check_kind(kind: str) -> StatusKind:
    if kind not in get_args(StatusKind):
        known = ", ".join(get_args(StatusKind))
        raise InvalidError(f"unsupported status kind {kind}; there are {known}", field="kind")
    return kind  # type: ignore[return-value]


def new_event(report: ReportStatus, around: Surroundings, *, event_id: str, now: Instant) -> StatusEvent:
    """The report with the ids that follow from those it names. Raises `InvalidError`.

    A run beats whatever else is said of the work: an agent's environment names the work item it was started for.
    """
    kind = check_kind(report.kind)
    run, terminal, item = around.run, around.terminal, around.work_item
    scope = _scope(report)
    actor = check_actor(report.actor)
    session_id = report.session_id or (run.session_id if run else None) or (terminal.session_id if terminal else None)
    pty_id = report.pty_id or (run.pty_id if run else None) or None
    pane_id = check_text(report.pane_id, "paneId", limit=256) or (terminal.pane_id if terminal else None) or None
    work_item_id = run.work_item_id if run else report.work_item_id or (terminal.work_item_id if terminal else None)
    project_id = run.project_id if run else item.project_id if item else report.project_id
    return StatusEvent(
        id=event_id,
        scope=scope,
        kind=kind,
        message=check_text(report.message.strip(), "message", limit=MESSAGE_LIMIT) or kind,
        requires_attention=kind != "done",
        created_at=now,
        notification_key=_key(scope, kind, actor, report, session_id, pane_id, pty_id),
        notification_severity=_SEVERITY[kind],
        actor=actor,
        project_id=project_id or (terminal.project_id if terminal else None) or None,
        work_item_id=work_item_id or None,
        run_id=run.id if run else None,
        session_id=session_id or None,
        pane_id=pane_id,
        pty_id=pty_id,
    )


def mark_read(event: StatusEvent, now: Instant) -> StatusEvent:
    """Read once: a second reader changes nothing."""
    return event if event.read_at is not None else msgspec.structs.replace(event, read_at=now)


def _scope(report: ReportStatus) -> StatusScope:
    if report.run_id:
        return "run"
    if report.pty_id:
        return "pty"
    if report.session_id:
        return "session"
    if report.work_item_id:
        return "work-item"
    raise InvalidError("status context required: a run, a terminal, a session or a work item", field="runId")


def _key(
    scope: StatusScope,
    kind: StatusKind,
    actor: str | None,
    report: ReportStatus,
    session_id: str | None,
    pane_id: str | None,
    pty_id: str | None,
) -> str:
    if session_id:
        place = f"pane:{pane_id}" if pane_id else f"pty:{pty_id}" if pty_id else "session"
        where = f"session:{session_id}|{place}"
    else:
        # Work that is in no session: without its id, all of it would share one key.
        ids = {"run": report.run_id, "pty": report.pty_id, "session": "", "work-item": report.work_item_id}
        where = f"{scope}:{ids[scope]}"
    return f"status|{where}|actor:{actor or ''}|kind:{kind}"
