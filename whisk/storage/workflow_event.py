"""Workflow events on disk; they are written once and never changed."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import WHOLE, Page
from whisk.work.workflow_event import WorkflowEvent


class WorkflowEventRow(Model):
    id = TextField(primary_key=True)
    project_id = TextField()
    work_item_id = TextField(null=True)
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "workflow_event"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE workflow_event (id TEXT NOT NULL PRIMARY KEY, project_id TEXT NOT NULL, work_item_id TEXT,"
        " created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX workflow_event_work_item ON workflow_event (work_item_id, created_at)")
    db.execute_sql("CREATE INDEX workflow_event_created ON workflow_event (created_at)")


MIGRATIONS: list[Migration] = [Migration("workflow_event.create", _create)]

WORKFLOW_EVENTS = Documents(
    WorkflowEventRow,
    WorkflowEvent,
    "workflow event",
    lambda event: {
        "id": event.id,
        "project_id": event.project_id,
        "work_item_id": event.work_item_id,
        "created_at": int(event.at),
    },
)


def select(db: Database, *, work_item_id: str | None = None, page: Page = WHOLE) -> list[WorkflowEvent]:
    """Oldest first."""
    where = [] if work_item_id is None else [WorkflowEventRow.work_item_id == work_item_id]
    return WORKFLOW_EVENTS.select(db, *where, page=page)
