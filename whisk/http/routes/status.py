"""What agents say of themselves: reported, listed, read."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from structlog import get_logger

from whisk.actors.future import get
from whisk.errors import BusyError
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.ids import new_id
from whisk.storage import item as item_storage
from whisk.storage import status as storage
from whisk.values import Record
from whisk.work.status import ReportStatus, StatusEvent, StatusReport, new_event

_log = get_logger("whisk.http")


class StatusFilter(Record, frozen=True):
    """`limit` is how many of the newest."""

    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    unread_only: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=storage.KEPT_EVENTS)] = 1000


class MarkStatusEventRead(Record, frozen=True):
    """The path says which."""

    wire_name: ClassVar[str] = "MarkStatusEventReadRequest"

    id: str = ""


def report_status(api: Api, request: Request[ReportStatus, None]) -> StatusReport:
    """With a run, the report and what follows for the run are stored in one write; otherwise it is only kept."""
    report = request.body
    around = api.store.read(lambda db: storage.surroundings(db, report))
    event = new_event(report, around, event_id=new_id("stat"), now=api.clock.now())
    run, item_id = around.run, event.work_item_id
    if run is not None and event.kind == "done":
        run = get(api.work.item(run.work_item_id).report_done.remote(event, request.surface)).run
    elif run is not None:
        run = get(api.work.run(run.id).report.remote(event))
    else:
        get(api.journal.write.remote(lambda db: storage.insert(db, event)))
    _announce(api, event)
    item = api.store.read(lambda db: item_storage.get(db, item_id)) if item_id is not None else None
    return StatusReport(event=event, run=run, work_item=item)


def list_events(api: Api, request: Request[None, StatusFilter]) -> list[StatusEvent]:
    wanted = storage.StatusQuery(**msgspec.structs.asdict(request.query))
    return api.store.read(lambda db: storage.select(db, wanted))


def read_event(api: Api, request: Request[MarkStatusEventRead, None]) -> StatusEvent:
    event_id, now = request.path["status_event_id"], api.clock.now()
    event, changed = get(api.journal.write.remote(lambda db: storage.read(db, event_id, now)))
    if changed:
        _announce(api, event)
    return event  # type: ignore[no-any-return]


def _announce(api: Api, event: StatusEvent) -> None:
    try:
        api.events.publish.tell("status.changed", event.id, event.pty_id)
    except BusyError:
        # Followers learn by the numbers that they missed one; what was stored stands.
        _log.warning("announcement dropped", kind="status.changed", about=event.id)


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/status",
        report_status,
        "Report a question, a block, or that the work is done",
        body=ReportStatus,
        reply=StatusReport,
        status=201,
        operation="reportStatus",
    ),
    Route(
        "GET",
        "/v1/status-events",
        list_events,
        "List what agents have reported, oldest first",
        query=StatusFilter,
        reply=list[StatusEvent],
        operation="listStatusEvents",
    ),
    Route(
        "POST",
        "/v1/status-events/{status_event_id}/read",
        read_event,
        "Mark a report read",
        body=MarkStatusEventRead,
        reply=StatusEvent,
        operation="markStatusEventRead",
    ),
)
