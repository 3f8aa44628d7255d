"""Work items on disk.

`run_state` is a column of its own and not part of `doc`: it is written together with the run that it follows, in one
transaction, while everything else is written by the item.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peewee import BigIntegerField, Database, IntegerField, Model, TextField

from whisk.errors import NotFoundError
from whisk.storage.migration import Migration
from whisk.storage.page import WHOLE, Page, cut
from whisk.storage.statement import run
from whisk.values import decode, encode
from whisk.work.item import RunState, WorkItem, with_run_state


class ItemRow(Model):
    id = TextField(primary_key=True)
    project_id = TextField()
    number = IntegerField()
    stage_id = TextField()
    run_state = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "work_item"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE work_item (id TEXT NOT NULL PRIMARY KEY, project_id TEXT NOT NULL, number INTEGER NOT NULL,"
        " stage_id TEXT NOT NULL, run_state TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,"
        " doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE UNIQUE INDEX work_item_number ON work_item (project_id, number)")


def _index_states(db: Database) -> None:
    # Holds all of `states`: documents are long, and a list of ten thousand items would read every one of them.
    db.execute_sql("CREATE INDEX work_item_state ON work_item (project_id, number, stage_id, run_state, id)")


MIGRATIONS: list[Migration] = [
    Migration("work_item.create", _create),
    Migration("work_item.index_states", _index_states),
]
STATES = "SELECT id, number, stage_id, run_state FROM work_item WHERE project_id = ? ORDER BY number"
# Parameters of one statement; databases differ in how many they take.
_AT_ONCE = 500


def insert(db: Database, item: WorkItem) -> None:
    ItemRow.insert(
        id=item.id, project_id=item.project_id, number=item.number, run_state=item.run_state, **_columns(item)
    ).execute(db)


def update(db: Database, item: WorkItem) -> None:
    """Everything but the run state. Raises `NotFoundError` when the item is no longer there."""
    if not ItemRow.update(**_columns(item)).where(ItemRow.id == item.id).execute(db):
        raise _unknown(item.id)


def follow_run(db: Database, item_id: str, state: RunState) -> None:
    """The item's run state is now that of its run."""
    ItemRow.update(run_state=state).where(ItemRow.id == item_id).execute(db)


def get(db: Database, item_id: str) -> WorkItem:
    """Raises `NotFoundError`."""
    found = _select(db, ItemRow.id == item_id)
    if not found:
        raise _unknown(item_id)
    return found[0]


def select(
    db: Database, project_id: str | None = None, *, stage_id: str | None = None, page: Page = WHOLE
) -> list[WorkItem]:
    """By project and number; all of them, or those of one project or stage."""
    where = [] if project_id is None else [ItemRow.project_id == project_id]
    where += [] if stage_id is None else [ItemRow.stage_id == stage_id]
    return _select(db, *where, page=page)


def select_ids(db: Database, ids: Iterable[str]) -> list[WorkItem]:
    """Those of these ids that there are, in no order."""
    found: list[WorkItem] = []
    wanted = list(ids)
    for start in range(0, len(wanted), _AT_ONCE):
        found += _select(db, ItemRow.id.in_(wanted[start : start + _AT_ONCE]))
    return found


def states(db: Database, project_id: str) -> list[tuple[str, int, str, str]]:
    """Id, number, stage and run state of every item of a project, by number; nothing is decoded for it."""
    return list(run(db, STATES, (project_id,)).fetchall())


def project_of(db: Database, item_id: str) -> str:
    """The id of the item's project. Raises `NotFoundError`."""
    for (project_id,) in ItemRow.select(ItemRow.project_id).where(ItemRow.id == item_id).tuples().execute(db):
        return str(project_id)
    raise _unknown(item_id)


def clear(db: Database) -> int:
    return int(ItemRow.delete().execute(db))


def _select(db: Database, *where: Any, page: Page = WHOLE) -> list[WorkItem]:
    query = ItemRow.select(ItemRow.doc, ItemRow.run_state)
    if where:
        query = query.where(*where)
    query = cut(db, query, ItemRow, (ItemRow.project_id, ItemRow.number), page)
    return [with_run_state(decode(doc, WorkItem), state) for doc, state in query.tuples().execute(db)]


def _columns(item: WorkItem) -> dict[str, object]:
    return {
        "stage_id": item.stage_id,
        "created_at": int(item.created_at),
        "updated_at": int(item.updated_at),
        "doc": encode(with_run_state(item, "idle")).decode(),
    }


def _unknown(item_id: str) -> NotFoundError:
    return NotFoundError(f"work item {item_id} not found", id=item_id)
