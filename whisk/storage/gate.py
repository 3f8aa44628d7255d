"""Gates on disk."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.matters.audit import AuditEntry, Surface
from whisk.storage import audit
from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import WHOLE, Page
from whisk.work.gate import GateReport


class GateRow(Model):
    id = TextField(primary_key=True)
    work_item_id = TextField()
    status = TextField()
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "gate"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE gate (id TEXT NOT NULL PRIMARY KEY, work_item_id TEXT NOT NULL, status TEXT NOT NULL,"
        " created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX gate_work_item ON gate (work_item_id, created_at)")


MIGRATIONS: list[Migration] = [Migration("gate.create", _create)]

GATES = Documents(
    GateRow,
    GateReport,
    "gate report",
    lambda gate: {
        "id": gate.id,
        "work_item_id": gate.work_item_id,
        "status": gate.status,
        "created_at": int(gate.created_at),
    },
)


def complete(db: Database, done: GateReport, surface: Surface = "") -> None:
    """Store what a person decided, and that they did."""
    GATES.update(db, done)
    entry = AuditEntry(
        at=done.updated_at,
        who=done.completed_by or "",
        surface=surface,
        action="complete",
        noun="gate",
        id=done.id,
        outcome=done.status,
        reason=done.override_reason or "",
        about=done.name,
        project_id=done.project_id,
        work_item_id=done.work_item_id,
        run_id=done.run_id or "",
    )
    audit.record(db, entry)


def select(db: Database, *, work_item_id: str | None = None, page: Page = WHOLE) -> list[GateReport]:
    """Oldest first."""
    where = [] if work_item_id is None else [GateRow.work_item_id == work_item_id]
    return GATES.select(db, *where, page=page)
