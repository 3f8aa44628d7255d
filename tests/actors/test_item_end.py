"""The deletion of a work item: real actors and a real journal; only the agent's terminal is stood in for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from tests.work_desk import Desk
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.errors import ActorDeadError, NotFoundError, UnavailableError
from whisk.matters.audit import AuditFilter
from whisk.storage import audit as audit_storage
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage.item_delete import ABOUT_AN_ITEM
from whisk.work.gate import OpenGate
from whisk.work.item import CreateWorkItem, WorkItem
from whisk.work.item_change import DeleteItem, UpdateItem
from whisk.work.question import AskQuestion

# Rows that name an item and outlive it: what was said to somebody, and what was seen of terminals.
OUTLIVES_AN_ITEM = {"mail", "peer", "terminal"}
# Kept by triggers on the tables whose words it holds.
FOLLOWS = {"search_doc"}


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def item(desk: Desk) -> WorkItem:
    return desk.item()


def delete(desk: Desk, item: WorkItem) -> WorkItem:
    return get(desk.work.item(item.id).delete.options(timeout=30).remote(DeleteItem(actor="ann")), timeout=30)


def until_gone(desk: Desk, name: str) -> None:
    with gevent.Timeout(10):
        while desk.system.find(name) is not None:
            gevent.sleep(0.001)  # why: nothing announces that an actor is gone


def test_a_deleted_item_takes_its_runs_questions_and_gates_with_it(desk: Desk, item: WorkItem) -> None:
    other = get(
        desk.work.project(item.project_id).create_item.remote(CreateWorkItem(project_id=item.project_id, title="Stays"))
    )
    for each in (item, other):
        run = desk.start(each, launch=True, agent_profile_id="claude")
        get(desk.work.item(each.id).ask_question.remote(AskQuestion(prompt="?", run_id=run.id)))
        get(desk.work.item(each.id).open_gate.remote(OpenGate(name="Ship?")))
    gone = delete(desk, item)
    assert (gone.history[-1].type, gone.history[-1].actor) == ("deleted", "ann")
    assert [each.id for each in desk.store.read(item_storage.select)] == [other.id]
    for select in (run_storage.select, question_storage.select, gate_storage.select):
        assert [each.work_item_id for each in desk.store.read(select)] == [other.id], select.__module__
    assert item.id in desk.changes


def test_sessions_that_whisk_made_are_closed_and_others_are_left(desk: Desk, item: WorkItem) -> None:
    owned = desk.start(item, launch=True, agent_profile_id="claude")
    desk.start(item, session_id="sess_of_a_person", pty_id="pty_of_a_person")
    delete(desk, item)
    assert desk.closed == [owned.session_id]


def test_its_actors_end_and_its_id_is_nobodys(desk: Desk, item: WorkItem) -> None:
    run = desk.start(item, launch=True, agent_profile_id="claude")
    delete(desk, item)
    for name in (f"work-item:{item.id}", f"run:{run.id}"):
        until_gone(desk, name)
    for way in (lambda: desk.work.item(item.id), lambda: desk.work.run(run.id), lambda: delete(desk, item)):
        with pytest.raises(NotFoundError):
            way()


def test_who_is_late_brings_nothing_back(desk: Desk, item: WorkItem) -> None:
    handle = desk.work.item(item.id)
    run = desk.start(item, launch=True, agent_profile_id="claude")
    run_handle = desk.work.run(run.id)
    deleting = handle.delete.options(timeout=30).remote(DeleteItem())
    late = [
        handle.update.remote(UpdateItem(title="Back")),
        handle.open_gate.remote(OpenGate(name="Back")),
        handle.ask_question.remote(AskQuestion(prompt="Back?")),
    ]
    get(deleting, timeout=30)
    for each in late:
        with pytest.raises((ActorDeadError, NotFoundError)):
            get(each)
    until_gone(desk, run_handle.name)
    with pytest.raises(NotFoundError):
        get(run_handle.heartbeat.remote())
    for select in (item_storage.select, run_storage.select, question_storage.select, gate_storage.select):
        assert desk.store.read(select) == []
    assert desk.system.find(f"work-item:{item.id}") is None


def test_an_actor_that_is_asked_for_while_its_item_goes_ends_by_itself(desk: Desk, item: WorkItem) -> None:
    project = desk.work.project(item.project_id)
    delete(desk, item)
    until_gone(desk, f"work-item:{item.id}")
    # As if it had been looked up just before.
    handle = get(project.item.remote(item.id))
    with pytest.raises((ActorDeadError, NotFoundError)):
        get(handle.show.remote())
    until_gone(desk, f"work-item:{item.id}")


def test_a_terminal_that_will_not_end_keeps_the_item(desk: Desk, item: WorkItem) -> None:
    desk.start(item, launch=True, agent_profile_id="claude")
    desk.stubborn = UnavailableError("could not end claude (4711)")
    with pytest.raises(UnavailableError, match="could not end"):
        delete(desk, item)
    assert [each.id for each in desk.store.read(item_storage.select)] == [item.id]
    assert len(desk.store.read(run_storage.select)) == 1
    desk.stubborn = None
    delete(desk, item)


def test_a_deletion_is_in_the_audit_trail(desk: Desk, item: WorkItem) -> None:
    delete(desk, item)
    [entry] = desk.store.read(lambda db: audit_storage.select(db, AuditFilter(noun="work-item")))
    assert (entry.who, entry.action, entry.id, entry.about) == ("ann", "delete", item.id, "#1 Fix it")


def test_a_crash_while_an_item_is_deleted_leaves_all_of_it_or_nothing(desk: Desk, item: WorkItem) -> None:
    for _ in range(3):
        desk.start(item)
    desk.work.item(item.id).delete.options(timeout=30).remote(DeleteItem())
    gevent.sleep(0)
    desk.crash()
    desk.open(ActorSystem())
    left = [len(desk.store.read(select)) for select in (item_storage.select, run_storage.select)]
    assert left in ([1, 3], [0, 0])
    desk.work.start()


def test_every_table_that_is_about_an_item_goes_with_it(desk: Desk) -> None:
    """A table that is added later either goes with its item or says here why not."""
    tables = desk.store.read(lambda db: [name for name in db.get_tables() if _names_an_item(db, name)])
    assert set(tables) - FOLLOWS == {each._meta.table_name for each in ABOUT_AN_ITEM} | OUTLIVES_AN_ITEM & set(tables)


def _names_an_item(db: object, table: str) -> bool:
    return any(column.name == "work_item_id" for column in db.get_columns(table))  # type: ignore[attr-defined]
