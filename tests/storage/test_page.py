"""Long lists: read in parts, and found by an index and not by looking at everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from peewee import Database

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.storage import artifact as artifact_storage
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import item_link as link_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage import session as session_storage
from whisk.storage import workflow_event as event_storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.page import Page
from whisk.work.item import CreateWorkItem, new_item
from whisk.work.run import TERMINAL, RunStatus, StartRun, new_run
from whisk.work.session import CreateSession, new_session
from whisk.work.workflow import builtin_workflow

NOW = Instant(1_800_000_000_000_000_000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "whisk.sqlite3")
    yield store
    store.close()


def fill(store: Store, count: int = 7) -> None:
    """Items of two projects, runs of the first item, and sessions, all made in the same instant."""

    def change(db: Database) -> None:
        for number in range(count):
            for project in ("proj_1", "proj_2"):
                request = CreateWorkItem(project_id=project, title=f"T{number}")
                id = f"item_{project}_{count - number}"
                item = new_item(request, builtin_workflow(), item_id=id, number=number + 1, now=NOW)
                stage = "ready" if number % 2 else "backlog"
                item_storage.insert(db, msgspec.structs.replace(item, stage_id=stage))
            run = new_run(
                StartRun(work_item_id=f"item_proj_1_{1 + number % 2}"),
                run_id=f"run_{number}",
                project_id="proj_1",
                preset="reader",
                template_id="plan",
                prompt="",
                now=NOW,
            )
            run_storage.insert(db, run)
            session = new_session(
                CreateSession(root_dir="/src"), session_id=f"sess_{number}", window_id="win_1", pane_id="pane_1"
            )
            session_storage.insert(db, session, NOW)

    GroupWriter(store).write(change)


LISTS = {
    "items": item_storage.select,
    "items of a project": lambda db, page: item_storage.select(db, "proj_2", page=page),
    "items in a stage": lambda db, page: item_storage.select(db, "proj_1", stage_id="ready", page=page),
    "runs": run_storage.select,
    "runs of an item": lambda db, page: run_storage.select(db, work_item_id="item_proj_1_1", page=page),
    "sessions": session_storage.select,
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_parts_of_a_list_make_the_whole(store: Store, name: str, size: int) -> None:
    fill(store)
    listed: Any = LISTS[name]
    whole = store.read(lambda db: listed(db, page=Page()))
    parts: list[Any] = []
    while True:
        page = Page(parts[-1].id if parts else None, size)
        part = store.read(lambda db, page=page: listed(db, page=page))
        assert len(part) <= size
        if not part:
            break
        parts += part
    assert whole
    assert parts == whole


def test_a_list_does_not_go_on_behind_what_is_gone(store: Store) -> None:
    for listed in (item_storage.select, session_storage.select, gate_storage.select):
        with pytest.raises(NotFoundError, match="item_9 is not there"):
            store.read(lambda db, listed=listed: listed(db, page=Page("item_9", 1)))


PAGE = Page("last seen", 10)
# What is asked, and the index that must answer it without looking at every row.
INDEXED = {
    "items of a project": (lambda db: item_storage.select(db, "p"), "work_item_number"),
    "a page of all items": (lambda db: item_storage.select(db, page=PAGE), "work_item_number"),
    "a page of a project's items": (lambda db: item_storage.select(db, "p", page=PAGE), "work_item_number"),
    "the states of a project": (
        lambda db: db.execute_sql(item_storage.STATES, ("p",)),
        "COVERING INDEX work_item_state",
    ),
    "the graph of a project": (
        lambda db: db.execute_sql(link_storage.PAIRS, ("p", "blocks")),
        "COVERING INDEX work_item_link_graph",
    ),
    "links from and to an item": (lambda db: link_storage.select(db, work_item_id="i"), "work_item_link_target"),
    "runs of an item": (lambda db: run_storage.select(db, work_item_id="i"), "run_work_item"),
    "runs of a project": (lambda db: run_storage.select(db, project_id="p"), "run_"),
    "a page of all runs": (lambda db: run_storage.select(db, page=PAGE), "run_work_item"),
    "sessions of a project": (lambda db: session_storage.select(db, "p"), "session_"),
    "open runs of a project": (lambda db: run_storage.select_open(db, project_id="p"), "run_open"),
    "living runs of a project": (lambda db: run_storage.items_with_living_runs(db, "p"), "run_pty"),
    "a page of sessions": (lambda db: session_storage.select(db, page=PAGE), "session_made"),
    "a page of terminals": (lambda db: session_storage.select_terminals(db, PAGE), "terminal_session"),
    "a page of questions": (lambda db: question_storage.select(db, page=PAGE), "question_made"),
    "a page of gates": (lambda db: gate_storage.select(db, page=PAGE), "gate_made"),
    "a page of artifacts": (lambda db: artifact_storage.select(db, page=PAGE), "artifact_made"),
    "a page of events": (lambda db: event_storage.select(db, page=PAGE), "workflow_event_made"),
    "artifacts of an item": (lambda db: artifact_storage.select(db, work_item_id="i"), "artifact_"),
    "gates of an item": (lambda db: gate_storage.select(db, work_item_id="i"), "gate_work_item"),
    "questions of an item": (lambda db: question_storage.select(db, work_item_id="i"), "question_work_item"),
    "events of an item": (lambda db: event_storage.select(db, work_item_id="i"), "workflow_event_"),
}


@pytest.mark.parametrize("name", INDEXED)
def test_what_may_be_long_is_found_by_an_index(store: Store, name: str) -> None:
    asked, index = INDEXED[name]

    def plans(db: Database) -> list[str]:
        """The plan of the last statement that `asked` runs."""
        said: list[str] = []
        execute = db.execute_sql

        def explain(sql: str, params: Any = None) -> Any:
            rows = execute(f"EXPLAIN QUERY PLAN {sql}", params).fetchall()
            said[:] = [row[3] for row in rows]
            # The row to go on behind, as if it were there.
            width, found = sql.split(" FROM ")[0].count(",") + 1, tuple(params or ()) == (PAGE.after,)
            return execute(f"SELECT {', '.join(['1'] * width)} WHERE {found:d}")

        db.execute_sql = explain
        try:
            asked(db)
        finally:
            del db.execute_sql
        return said

    plan = store.read(plans)
    assert any(index in step for step in plan), plan
    assert not any(step.startswith("SCAN") and "USING" not in step for step in plan), plan


def test_the_index_of_open_runs_knows_every_status_that_is_open() -> None:
    known = {text.strip("'") for text in run_storage._OPEN_TEXTS.split(", ")}
    assert known == set(get_args(RunStatus)) - TERMINAL
