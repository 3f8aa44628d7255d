"""Who works where, from real rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.captured import load
from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.hooks.entry import AgentBridgeEvent, HookContext
from whisk.hooks.event import HookKind
from whisk.peers.peer import after_event, new_peer
from whisk.storage import bridge as bridge_storage
from whisk.storage import hook_event, worker
from whisk.storage import item as item_storage
from whisk.storage import peer as peer_storage
from whisk.storage import run as run_storage
from whisk.storage import session as session_storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.project import MIGRATIONS as PROJECT_TABLES
from whisk.storage.project import PROJECTS
from whisk.terminal.pty import PtySpec, PtyStatus, new_record
from whisk.work import run as runs
from whisk.work.item import CreateWorkItem, new_item
from whisk.work.project import CreateProject, new_project
from whisk.work.session import CreateSession, attach_pty, new_session

NOW = Instant(1_800_000_000_000_000_000)
TABLES = [
    *PROJECT_TABLES,
    *item_storage.MIGRATIONS,
    *run_storage.MIGRATIONS,
    *session_storage.MIGRATIONS,
    *terminal_storage.MIGRATIONS,
    *bridge_storage.MIGRATIONS,
    *hook_event.MIGRATIONS,
    *peer_storage.MIGRATIONS,
]


class World:
    """A project `proj_1` with one work item, to which runs, sessions and terminals are added."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.writer = GroupWriter(store)
        self.project = new_project(CreateProject(root_dir="/src"), project_id="proj_1", now=NOW)
        self.item = new_item(
            CreateWorkItem(project_id="proj_1", title="Do"),
            self.project.workflow,
            item_id="item_1",
            number=1,
            now=NOW,
        )
        self.writer.write(lambda db: PROJECTS.insert(db, self.project))
        self.writer.write(lambda db: item_storage.insert(db, self.item))

    def run(self, number: int, status: runs.RunStatus, pty: str | None = None, session: str | None = None) -> None:
        made = runs.new_run(
            runs.StartRun(work_item_id="item_1"),
            run_id=f"run_{number}",
            project_id="proj_1",
            preset="writer",
            template_id="implement",
            prompt="",
            now=NOW.plus(number),
        )
        made = msgspec.structs.replace(made, status=status, pty_id=pty, session_id=session)
        self.writer.write(lambda db: run_storage.insert(db, made))

    def session(
        self, number: int, pty: str | None = None, status: PtyStatus = "running", project: str = "proj_1"
    ) -> None:
        made = new_session(
            CreateSession(root_dir="/src", project_id=project),
            session_id=f"sess_{number}",
            window_id=f"win_{number}",
            pane_id=f"pane_{number}",
        )
        if pty is not None:
            made = attach_pty(made, f"pane_{number}", pty)
            record = new_record(pty, PtySpec(argv=("sh",), working_dir="/src", env={}), NOW)
            record = msgspec.structs.replace(record, status=status)
            self.writer.write(lambda db: terminal_storage.insert(db, record, NOW))
        self.writer.write(lambda db: session_storage.insert(db, made, NOW.plus(number)))

    def heard(self, number: int, pty: str, event_name: str) -> None:
        entry = AgentBridgeEvent(
            id=f"hev_{number:03}",
            provider="claude",
            event_name=event_name,
            status="pending",
            created_at=NOW.plus(number),
            event=HookKind.OTHER,
            kind="lifecycle",
            result="logged",
            pty_id=pty,
        )
        self.writer.write(lambda db: hook_event.insert(db, entry))

    def idle(self) -> str | None:
        told = self.store.read(lambda db: worker.standing(db, worker.of_project(db, "proj_1")))
        found = told.longest_idle()
        return None if found is None else str(found.address)

    def workers(self) -> list[str]:
        return [str(each.address) for each in self.store.read(lambda db: worker.of_project(db, "proj_1"))]


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    store = Store.open(path, migrations=TABLES)
    yield World(store)
    store.close()


def test_open_runs_of_an_item_are_its_workers_in_the_order_they_began(world: World) -> None:
    for number, status in enumerate(
        ("running", "completed", "queued", "awaiting_input", "failed", "lost", "cancelled")
    ):
        world.run(number, status)  # type: ignore[arg-type]
    found = world.store.read(lambda db: worker.of_work_item(db, "item_1"))
    assert [str(each.address) for each in found] == ["run:run_0", "run:run_2", "run:run_3"]


def test_a_project_has_its_runs_then_its_running_terminals_then_its_empty_sessions(world: World) -> None:
    world.run(1, "running", pty="pty_1", session="sess_1")
    world.session(1, "pty_1")
    world.session(2, "pty_2")
    world.session(3)
    assert world.workers() == ["run:run_1", "pty:pty_2", "session:sess_3"]


@pytest.mark.parametrize("status", ["exited", "killed", "failed", "lost"])
def test_a_terminal_that_has_ended_is_no_worker(world: World, status: PtyStatus) -> None:
    world.session(1, "pty_1", status)
    assert world.workers() == []


def test_the_session_of_a_run_that_has_not_been_started_is_not_counted_twice(world: World) -> None:
    world.run(1, "queued", session="sess_1")
    world.session(1)
    assert world.workers() == ["run:run_1"]


def test_the_terminal_of_a_run_that_has_ended_works_on_for_itself(world: World) -> None:
    world.run(1, "completed", pty="pty_1", session="sess_1")
    world.session(1, "pty_1")
    assert world.workers() == ["pty:pty_1"]


def test_sessions_of_other_projects_are_not_asked(world: World) -> None:
    world.session(1, "pty_1", project="proj_2")
    world.session(2, "pty_2", project="")
    assert world.workers() == []


def test_unknown_ids_are_named(world: World) -> None:
    with pytest.raises(NotFoundError, match=r"^project proj_9 not found$"):
        world.store.read(lambda db: worker.of_project(db, "proj_9"))
    with pytest.raises(NotFoundError, match=r"^work item item_9 not found$"):
        world.store.read(lambda db: worker.of_work_item(db, "item_9"))


def test_nobody_is_idle_until_a_hook_says_so(world: World) -> None:
    world.run(1, "running", pty="pty_1")
    assert world.idle() is None
    world.heard(1, "pty_1", "UserPromptSubmit")
    assert world.idle() is None
    world.heard(2, "pty_1", "Stop")
    world.heard(3, "pty_1", "Notification")
    assert world.idle() == "run:run_1"
    world.heard(4, "pty_1", "PreToolUse")
    assert world.idle() is None


def test_who_has_been_idle_longest_is_taken_first(world: World) -> None:
    for number in (1, 2):
        world.run(number, "running", pty=f"pty_{number}")
        world.heard(number, f"pty_{3 - number}", "Stop")
    assert world.idle() == "run:run_2"
    world.heard(3, "pty_2", "SessionEnd")
    assert world.idle() == "run:run_1"


def test_the_agent_of_a_run_is_one_worker_although_it_is_a_peer_too(world: World) -> None:
    world.run(1, "running", pty="pty_1")
    before = world.store.read(lambda db: worker.of_project(db, "proj_1"))
    event, context = load("claude", "Stop"), HookContext(pty_id="pty_1", run_id="run_1", project_id="proj_1")
    peer = after_event(new_peer("peer_1", event, NOW), event, context, NOW)
    world.writer.write(lambda db: peer_storage.save(db, peer))
    assert world.store.read(lambda db: worker.of_project(db, "proj_1")) == before
    assert [str(each.address) for each in before] == ["run:run_1"]
