"""Status events on disk: the newest of them, each read once."""

from __future__ import annotations

from peewee import BigIntegerField, Database, IntegerField, Model, TextField, fn

from whisk.clock import Instant
from whisk.storage import item as item_storage
from whisk.storage import run as run_storage
from whisk.storage import session as session_storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import Page
from whisk.storage.project import PROJECTS
from whisk.values import Record
from whisk.work.status import ReportStatus, StatusEvent, Surroundings, mark_read

KEPT_EVENTS = 10_000


class StatusEventRow(Model):
    seq = IntegerField(primary_key=True)
    id = TextField()
    project_id = TextField(null=True)
    work_item_id = TextField(null=True)
    run_id = TextField(null=True)
    session_id = TextField(null=True)
    pty_id = TextField(null=True)
    read_at = BigIntegerField(null=True)
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "status_event"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE status_event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project_id TEXT,"
        " work_item_id TEXT, run_id TEXT, session_id TEXT, pty_id TEXT, read_at BIGINT, created_at BIGINT NOT NULL,"
        " doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX status_event_work_item ON status_event (work_item_id)")
    db.execute_sql("CREATE INDEX status_event_unread ON status_event (seq) WHERE read_at IS NULL")


MIGRATIONS: list[Migration] = [Migration("status.create", _create)]

STATUS_EVENTS = Documents(
    StatusEventRow,
    StatusEvent,
    "status event",
    lambda event: {
        "id": event.id,
        "project_id": event.project_id,
        "work_item_id": event.work_item_id,
        "run_id": event.run_id,
        "session_id": event.session_id,
        "pty_id": event.pty_id,
        "read_at": None if event.read_at is None else int(event.read_at),
        "created_at": int(event.created_at),
    },
)


class StatusQuery(Record, frozen=True):
    """What to list: empty fields do not narrow. `limit` is how many of the newest."""

    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    unread_only: bool = False
    limit: int = KEPT_EVENTS


def insert(db: Database, event: StatusEvent, keep: int = KEPT_EVENTS) -> None:
    """Store it; what is older than the newest `keep` goes."""
    STATUS_EVENTS.insert(db, event)
    newest = StatusEventRow.select(fn.MAX(StatusEventRow.seq)).scalar(db)
    StatusEventRow.delete().where(StatusEventRow.seq <= newest - keep).execute(db)


def select(db: Database, query: StatusQuery) -> list[StatusEvent]:
    """The newest that fit, oldest first."""
    names = ("project_id", "work_item_id", "run_id", "session_id", "pty_id")
    where = [getattr(StatusEventRow, name) == value for name in names if (value := getattr(query, name))]
    where += [StatusEventRow.read_at.is_null()] if query.unread_only else []
    newest_first = [StatusEventRow.seq.desc()]
    return STATUS_EVENTS.select(db, *where, order=newest_first, page=Page(limit=query.limit))[::-1]


def read(db: Database, event_id: str, now: Instant) -> tuple[StatusEvent, bool]:
    """Mark it read; also whether it was unread. Raises `NotFoundError`."""
    known = STATUS_EVENTS.get(db, event_id)
    if (changed := mark_read(known, now)) is not known:
        STATUS_EVENTS.update(db, changed)
    return changed, changed is not known


def surroundings(db: Database, report: ReportStatus) -> Surroundings:
    """The records that a report names. Raises `NotFoundError` for one that is not there."""
    run = run_storage.get(db, report.run_id) if report.run_id else None
    if report.session_id:
        session_storage.get(db, report.session_id)
    if run is None and report.project_id:
        PROJECTS.get(db, report.project_id)
    item = item_storage.get(db, report.work_item_id) if run is None and report.work_item_id else None
    terminal = terminal_storage.get(db, report.pty_id) if report.pty_id else None
    if terminal is None and run is not None and run.pty_id:
        # It may have been deleted since, which takes nothing from what the run says.
        terminal = terminal_storage.find(db, run.pty_id)
    return Surroundings(run=run, terminal=terminal, work_item=item)
