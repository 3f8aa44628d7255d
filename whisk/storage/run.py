"""Runs on disk; each change of a run carries its work item's run state with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peewee import SQL, BigIntegerField, Database, Model, TextField

from whisk.storage import item as item_storage
from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import WHOLE, Page
from whisk.storage.terminal import TerminalRow
from whisk.storage.workflow_event import WORKFLOW_EVENTS
from whisk.work.run import Run
from whisk.work.workflow_event import event_of_run, new_event


class RunRow(Model):
    id = TextField(primary_key=True)
    project_id = TextField()
    work_item_id = TextField()
    status = TextField()
    session_id = TextField(null=True)
    pty_id = TextField(null=True)
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "run"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE run (id TEXT NOT NULL PRIMARY KEY, project_id TEXT NOT NULL, work_item_id TEXT NOT NULL,"
        " status TEXT NOT NULL, session_id TEXT, pty_id TEXT, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,"
        " doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX run_work_item ON run (work_item_id, created_at)")
    db.execute_sql("CREATE INDEX run_project ON run (project_id, created_at)")
    db.execute_sql("CREATE INDEX run_status ON run (status)")


_OPEN_TEXTS = "'awaiting_input', 'queued', 'running'"


def _index_living(db: Database) -> None:
    db.execute_sql(f"CREATE INDEX run_open ON run (project_id, created_at, id) WHERE status IN ({_OPEN_TEXTS})")
    db.execute_sql("CREATE INDEX run_pty ON run (pty_id)")


MIGRATIONS: list[Migration] = [Migration("run.create", _create), Migration("run.index_living", _index_living)]

RUNS = Documents(
    RunRow,
    Run,
    "work item run",
    lambda run: {
        "id": run.id,
        "project_id": run.project_id,
        "work_item_id": run.work_item_id,
        "status": run.status,
        "session_id": run.session_id,
        "pty_id": run.pty_id,
        "created_at": int(run.created_at),
        "updated_at": int(run.updated_at),
    },
)
_ORDER = (RunRow.work_item_id, RunRow.created_at, RunRow.id)
# In the words of the index, which holds only these: parameters would not be recognised.
_OPEN = RunRow.status.in_([SQL(text) for text in _OPEN_TEXTS.split(", ")])


def insert(db: Database, run: Run) -> None:
    RUNS.insert(db, run)
    item_storage.follow_run(db, run.work_item_id, run.status)


def update(db: Database, run: Run) -> None:
    """Raises `NotFoundError` when the run is no longer there."""
    RUNS.update(db, run)
    item_storage.follow_run(db, run.work_item_id, run.status)


def advance(db: Database, run_id: str, step: Callable[[Run], Run], event_id: str) -> Run:
    """Take a step from what is stored now, and return the run after it; a bad end is an event of the work item.

    A step that leaves the history alone (a sign of life, a late exit code) is not followed by the item. Raises
    `NotFoundError`, and what the step raises.
    """
    before = get(db, run_id)
    after = step(before)
    if after is before:
        return before
    if len(after.history) == len(before.history):
        RUNS.update(db, after)
        return after
    update(db, after)
    if (kind := event_of_run(before, after)) is not None:
        last = after.history[-1]
        event = new_event(
            kind,
            event_id=event_id,
            project_id=after.project_id,
            work_item_id=after.work_item_id,
            run_id=after.id,
            actor=last.actor,
            message=last.message or "",
            now=last.at,
        )
        WORKFLOW_EVENTS.insert(db, event)
    return after


def get(db: Database, run_id: str) -> Run:
    """Raises `NotFoundError`."""
    return RUNS.get(db, run_id)


def select(
    db: Database, *, work_item_id: str | None = None, project_id: str | None = None, page: Page = WHOLE
) -> list[Run]:
    """By work item, then the time they were made."""
    where = [] if work_item_id is None else [RunRow.work_item_id == work_item_id]
    where += [] if project_id is None else [RunRow.project_id == project_id]
    return RUNS.select(db, *where, order=_ORDER, page=page)


def select_open(db: Database, *, work_item_id: str | None = None, project_id: str | None = None) -> list[Run]:
    """Those that have not ended, by the time they were made."""
    where = [_OPEN]
    where += [] if work_item_id is None else [RunRow.work_item_id == work_item_id]
    where += [] if project_id is None else [RunRow.project_id == project_id]
    return RUNS.select(db, *where)


def living_of_item(db: Database, work_item_id: str) -> list[str]:
    """The ids of the item's runs that have not ended, or whose terminal has not. Oldest first."""
    return [run_id for _, run_id, _ in _living(db, RunRow.work_item_id, work_item_id)]


def items_with_living_runs(db: Database, project_id: str) -> list[str]:
    """The ids of the project's items that have such runs, in the order of the first of them."""
    return list(dict.fromkeys(item_id for _, _, item_id in _living(db, RunRow.project_id, project_id)))


def _living(db: Database, whose: Any, id: str) -> list[tuple[int, str, str]]:
    """When each was made, its id and its item's, in that order. Two look-ups: one with an `or` would read every run."""
    rows = RunRow.select(RunRow.created_at, RunRow.id, RunRow.work_item_id)
    found = set(rows.where(whose == id, _OPEN).tuples().execute(db))
    alive = TerminalRow.select(TerminalRow.id).where(TerminalRow.status.in_(("starting", "running")))
    # Few, and so found by their terminals, whosever they are.
    for *row, owner in rows.select_extend(whose).where(RunRow.pty_id.in_(alive)).tuples().execute(db):
        if owner == id:
            found.add(tuple(row))
    return sorted(found)
