"""Projects: real actors and a real journal; only the agent's terminal is stood in for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gevent
import msgspec
import pytest

from tests.work_desk import Desk
from whisk.actors.future import Future, get
from whisk.actors.system import ActorSystem
from whisk.errors import ActorDeadError, InvalidError, NotFoundError, RefusedError
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import project as project_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage import session as session_storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.item_delete import ABOUT_AN_ITEM
from whisk.storage.project_delete import ABOUT_A_PROJECT
from whisk.values import encode
from whisk.work.definition import BUILTIN
from whisk.work.definition_exchange import ImportDefinition
from whisk.work.gate import OpenGate
from whisk.work.item import CreateWorkItem, WorkItem
from whisk.work.project import CreateProject, Project, ProjectPreferences
from whisk.work.project_change import AttachToProject, DeleteProject, SetDefinition, UpdateProject
from whisk.work.question import AskQuestion, Question

# Tables that name a project and outlive it: what was said to somebody, where somebody still is, what was decided.
OUTLIVES_A_PROJECT = {"audit", "mail", "peer", "session", "terminal"}
# Kept by triggers on the tables whose words it holds.
FOLLOWS = {"search_doc"}


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def project(desk: Desk) -> Project:
    return desk.project()


def stored(desk: Desk, project: Project) -> Project:
    return desk.store.read(lambda db: project_storage.PROJECTS.get(db, project.id))


def create_item(desk: Desk, project: Project) -> WorkItem:
    request = CreateWorkItem(project_id=project.id, title="T")
    return get(desk.work.project(project.id).create_item.remote(request))


def delete(desk: Desk, project: Project) -> Project:
    handle = desk.work.project(project.id)
    return get(handle.delete.options(timeout=30).remote(DeleteProject(actor="ann")), timeout=30)


def bring_in(desk: Desk, id: str, version: int = 1) -> None:
    definition = msgspec.structs.replace(BUILTIN, id=id, version=version)
    desk.work.definitions.take(ImportDefinition(definition=msgspec.Raw(encode(definition))))


def until_gone(desk: Desk, name: str) -> None:
    with gevent.Timeout(10):
        while desk.system.find(name) is not None:
            gevent.sleep(0.001)


def test_two_changes_at_once_are_both_made(desk: Desk, project: Project) -> None:
    handle = desk.work.project(project.id)
    asked = [
        handle.update.remote(UpdateProject(name="New")),
        handle.update.remote(UpdateProject(description="What it is")),
        handle.attach.remote(AttachToProject(kind="note", note="Mind the gap")),
        handle.create_item.remote(CreateWorkItem(project_id=project.id, title="T")),
        handle.update.remote(UpdateProject(default_phase_agents={"writer": "codex"})),
    ]
    for each in asked:
        get(each)
    now = stored(desk, project)
    assert (now.name, now.description, len(now.attachments), now.next_work_item_number) == ("New", "What it is", 1, 2)
    assert now.preferences.default_phase_agents == {"writer": "codex"}
    assert get(handle.show.remote()) == now
    assert desk.changes.count(project.id) == 5


def test_a_change_that_is_none_is_neither_stored_nor_announced(desk: Desk, project: Project) -> None:
    before = len(desk.changes)
    assert get(desk.work.project(project.id).update.remote(UpdateProject(name="App"))) == project
    assert len(desk.changes) == before


def test_a_refused_change_changes_nothing(desk: Desk, project: Project) -> None:
    request = UpdateProject(name="New", default_phase_agents={"writer": "nobody"})
    with pytest.raises(InvalidError, match="unknown agent profile"):
        get(desk.work.project(project.id).update.remote(request))
    assert stored(desk, project) == project


def test_agents_that_a_new_project_names_must_exist(desk: Desk) -> None:
    preferences = ProjectPreferences(auto_run="never", auto_worktree=False, default_phase_agents={"writer": "nobody"})
    with pytest.raises(InvalidError, match="unknown agent profile"):
        desk.work.create_project(CreateProject(root_dir="/src", preferences=preferences))


def test_a_change_is_there_after_a_crash(desk: Desk, project: Project) -> None:
    get(desk.work.project(project.id).update.remote(UpdateProject(name="New")))
    bring_in(desk, "ship")
    get(desk.work.project(project.id).set_definition.remote(SetDefinition(id="ship", version=1)))
    desk.crash()
    desk.open(ActorSystem())
    shown = get(desk.work.project(project.id).show.remote())
    assert (shown.name, shown.workflow.definition_id) == ("New", "ship")


def test_a_crash_while_a_change_is_written_leaves_the_state_before_or_after(desk: Desk, project: Project) -> None:
    handle = desk.work.project(project.id)
    changing = [handle.update.remote(UpdateProject(name=f"N{number}", slug=f"n{number}")) for number in range(20)]
    get(changing[3])
    desk.crash()
    desk.open(ActorSystem())
    now = stored(desk, project)
    assert now.slug == now.name.lower(), "a name and its slug are changed together"
    assert int(now.name[1:]) >= 3, "what was answered is there"


def test_new_items_get_the_definition_and_the_old_ones_keep_theirs(desk: Desk, project: Project) -> None:
    old = create_item(desk, project)
    bring_in(desk, "ship", 2)
    changed = get(desk.work.project(project.id).set_definition.remote(SetDefinition(id="ship", version=2)))
    assert (changed.workflow.definition_id, changed.workflow.definition_version) == ("ship", 2)
    new = create_item(desk, project)
    assert (new.workflow_id, new.workflow_version) == ("ship", 2)
    kept = get(desk.work.item(old.id).show.remote())
    assert (kept.workflow_id, kept.workflow_version) == ("plan-execute-review", 1)


def test_a_definition_that_is_not_there_is_not_chosen(desk: Desk, project: Project) -> None:
    with pytest.raises(NotFoundError, match="workflow definition ship@1 not found"):
        get(desk.work.project(project.id).set_definition.remote(SetDefinition(id="ship", version=1)))
    assert stored(desk, project) == project


@pytest.mark.parametrize("turn", range(6))
def test_a_definition_is_chosen_or_deleted_and_never_both(desk: Desk, project: Project, turn: int) -> None:
    bring_in(desk, "ship")
    handle = desk.work.project(project.id)
    deleting = gevent.spawn(_try, lambda: desk.work.definitions.delete("ship", 1)) if turn % 2 else None
    choosing = gevent.spawn(_try, lambda: get(handle.set_definition.remote(SetDefinition(id="ship", version=1))))
    for _ in range(turn // 2):
        gevent.sleep(0)
    deleting = deleting or gevent.spawn(_try, lambda: desk.work.definitions.delete("ship", 1))
    gevent.joinall([choosing, deleting], timeout=10)
    chosen = stored(desk, project).workflow.definition_id == "ship"
    there = any(each.id == "ship" for each in desk.work.definitions.all())
    assert chosen == there
    assert isinstance(deleting.value if chosen else choosing.value, RefusedError if chosen else NotFoundError)


def _try(call: object) -> object:
    try:
        return call()  # type: ignore[operator]
    except Exception as error:  # noqa: BLE001 (the outcome is what is looked at)
        return error


def test_a_deleted_project_takes_its_work_with_it(desk: Desk, project: Project) -> None:
    other = desk.project()
    for each in (project, other):
        item = create_item(desk, each)
        run = desk.start(item, launch=True, agent_profile_id="claude")
        get(desk.work.item(item.id).ask_question.remote(AskQuestion(prompt="?", run_id=run.id)))
        get(desk.work.item(item.id).open_gate.remote(OpenGate(name="Ship?")))
    before = stored(desk, project)
    assert delete(desk, project) == before
    assert [each.id for each in desk.store.read(project_storage.select)] == [other.id]
    for select in (item_storage.select, run_storage.select, question_storage.select, gate_storage.select):
        assert [each.project_id for each in desk.store.read(select)] == [other.id], select.__module__
    assert desk.changes[-1] == project.id


def test_its_sessions_and_terminals_stay_and_belong_to_nobody(desk: Desk, project: Project) -> None:
    run = desk.start(create_item(desk, project), launch=True, agent_profile_id="claude")
    delete(desk, project)
    assert desk.closed == []
    assert desk.left == [run.session_id]
    (session,) = desk.store.read(session_storage.select)
    assert (session.id, session.project_id) == (run.session_id, None)
    assert desk.store.read(lambda db: session_storage.select(db, project.id)) == []
    assert run.pty_id is not None
    assert desk.store.read(lambda db: terminal_storage.get(db, run.pty_id or "")).status == "running"


def test_a_living_session_is_told_that_its_project_is_gone(desk: Desk, project: Project) -> None:
    run = desk.start(create_item(desk, project), launch=True, agent_profile_id="claude")
    book = desk.sessions()
    assert run.session_id is not None
    session = book.session(run.session_id)
    assert get(session.show.remote()).project_id == project.id
    delete(desk, project)
    book.leave_project(desk.left)
    assert get(session.show.remote()).project_id is None


def test_its_actors_end_and_its_ids_are_nobodys(desk: Desk, project: Project) -> None:
    item = create_item(desk, project)
    run = desk.start(item, launch=True, agent_profile_id="claude")
    delete(desk, project)
    for name in (f"project:{project.id}", f"work-item:{item.id}", f"run:{run.id}"):
        until_gone(desk, name)
    for way in (
        lambda: desk.work.project(project.id),
        lambda: desk.work.item(item.id),
        lambda: desk.work.run(run.id),
        lambda: delete(desk, project),
    ):
        with pytest.raises(NotFoundError):
            way()


def test_who_waits_for_an_answer_is_not_left_waiting(desk: Desk, project: Project) -> None:
    item = create_item(desk, project)
    handle = desk.work.item(item.id)
    question: Question = get(handle.ask_question.remote(AskQuestion(prompt="?")))
    waiting: Future[Question] = handle.await_answer.options(timeout=None).remote(question.id)
    get(handle.show.remote())
    delete(desk, project)
    with pytest.raises(ActorDeadError):
        get(waiting, timeout=10)


def test_what_comes_after_a_deletion_is_refused(desk: Desk, project: Project) -> None:
    handle = desk.work.project(project.id)
    deleting = handle.delete.options(timeout=30).remote(DeleteProject())
    late = [
        handle.create_item.remote(CreateWorkItem(project_id=project.id, title="Late")),
        handle.update.remote(UpdateProject(name="Late")),
        handle.delete.remote(DeleteProject()),
    ]
    get(deleting, timeout=30)
    for each in late:
        with pytest.raises((ActorDeadError, NotFoundError)):
            get(each)
    assert desk.store.read(project_storage.select) == []
    assert desk.store.read(item_storage.select) == []


def test_a_crash_while_a_project_is_deleted_leaves_all_of_it_or_nothing(desk: Desk, project: Project) -> None:
    for _ in range(3):
        desk.start(create_item(desk, project))
    desk.work.project(project.id).delete.options(timeout=30).remote(DeleteProject())
    gevent.sleep(0)
    desk.crash()
    desk.open(ActorSystem())
    left = [
        len(desk.store.read(select)) for select in (project_storage.select, item_storage.select, run_storage.select)
    ]
    assert left in ([1, 3, 3], [0, 0, 0])
    desk.work.start()


def test_every_table_that_names_a_project_goes_with_it(desk: Desk) -> None:
    """A table that is added later either goes with its project or says here why not."""
    tables = desk.store.read(lambda db: [name for name in db.get_tables() if _names_a_project(db, name)])
    gone = {each._meta.table_name for each in (*ABOUT_AN_ITEM, *ABOUT_A_PROJECT)} | {"work_item"}
    assert set(tables) - gone - OUTLIVES_A_PROJECT - FOLLOWS == set()


def _names_a_project(db: object, table: str) -> bool:
    return any(column.name == "project_id" for column in db.get_columns(table))  # type: ignore[attr-defined]


def test_a_project_says_whether_its_agents_start_through_the_login_shell(desk: Desk, project: Project) -> None:
    item = create_item(desk, project)
    desk.start(item, launch=True, agent_profile_id="claude")
    get(desk.work.project(project.id).update.remote(UpdateProject(use_interactive_agent_shell=True)))
    desk.start(item, launch=True, agent_profile_id="claude")
    assert [context.login_shell for _, context in desk.launches] == [False, True]
