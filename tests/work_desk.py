"""A daemon's worth of work actors for tests: everything real but the agent's terminal, which has no process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.crash import crash
from whisk.actors.events import EventsActor, EventsHandle
from whisk.actors.future import get
from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.pty import PtyServices
from whisk.actors.pty_host import PtyHostHandle
from whisk.actors.run import RunHandle
from whisk.actors.session_book import SessionBook
from whisk.actors.session_services import SessionServices
from whisk.actors.system import ActorSystem
from whisk.actors.work import Work
from whisk.actors.work_services import WorkServices
from whisk.actors.worktrees import Worktrees
from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.ids import new_id
from whisk.profiles.builtin import BUILTIN
from whisk.storage import item as item_storage
from whisk.storage import run as run_storage
from whisk.storage import session as session_storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.database import Store
from whisk.terminal import pty as terminals
from whisk.terminal.pty import PtyRecord, PtySpec
from whisk.work.item import CreateWorkItem, WorkItem
from whisk.work.order import Callback
from whisk.work.project import CreateProject, Project
from whisk.work.run import Run, StartRun
from whisk.work.session import CreatedSession, CreateSession, attach_pty, new_session
from whisk.work.start import LaunchContext


class Desk:
    """A daemon's worth of work actors over one database file; `reopen` is the next daemon after a kill."""

    def __init__(self, system: ActorSystem, path: Path) -> None:
        self.path = path
        self.changes: list[str] = []
        self.launches: list[tuple[CreateSession, LaunchContext]] = []
        self.closed: list[str] = []
        self.left: list[str] = []
        self.stubborn: Exception | None = None
        self.refusal: Exception | None = None
        self.open(system)

    def open(self, system: ActorSystem) -> None:
        self.system = system
        self.store = Store.open(self.path)
        self.journal = system.spawn(JournalActor, self.store, name="journal", handle=JournalHandle)
        self.events = system.spawn(EventsActor, name="events", handle=EventsHandle)
        self.services = WorkServices(
            self.store,
            self.journal,
            self.changed,
            self.launch,
            self.close_session,
            self.left.extend,
            Worktrees(dict(os.environ)).provision,
            lambda: BUILTIN,
        )
        self.work = Work(system, self.services, system.clock, parent="supervisor")

    def changed(self, id: str) -> None:
        self.changes.append(id)
        self.events.publish.tell("workitems.changed", id)

    def launch(self, order: CreateSession, context: LaunchContext) -> CreatedSession:
        """What making a session does to the database, without a process."""
        self.launches.append((order, context))
        if self.refusal is not None:
            raise self.refusal
        pty_id, session_id = new_id("pty"), new_id("sess")
        session = new_session(order, session_id=session_id, window_id="win_1", pane_id="pane_1")
        session = attach_pty(session, "pane_1", pty_id)
        assert context.run_id is not None
        spec = PtySpec(
            argv=("agent",), working_dir=order.root_dir, env={}, session_id=session_id, run_id=context.run_id
        )
        self.keep(terminals.run(terminals.new_record(pty_id, spec, self.now), 4711, 0.0, self.now), new=True)
        get(self.journal.write.remote(lambda db: session_storage.insert(db, session, self.now)))
        return CreatedSession(session=session, window_id="win_1", pane_id="pane_1", pty_id=pty_id)

    def close_session(self, session_id: str) -> None:
        """What closing a session does to the database and to the run that its terminal belongs to."""
        if self.stubborn is not None:
            raise self.stubborn
        for record in self.store.read(lambda db: terminal_storage.select(db, session_id=session_id)):
            if not record.ended:
                info = self.end_terminal(record.id, None, killed=True)
                if (run := self.system.find(f"run:{record.run_id}", handle=RunHandle)) is not None:
                    run.pty_ended.tell(info)
        if not get(self.journal.write.remote(lambda db: session_storage.delete(db, session_id))):
            raise NotFoundError(f"session {session_id} not found", id=session_id)
        self.closed.append(session_id)

    def keep(self, record: PtyRecord, *, new: bool = False) -> None:
        store = terminal_storage.insert if new else terminal_storage.update
        get(self.journal.write.remote(lambda db: store(db, record, self.now)))

    def sessions(self) -> SessionBook:
        """Sessions as the daemon has them, without a pty host: nothing can be started in them."""
        host = PtyHostHandle("pty-host", system=self.system)
        ptys = PtyServices(self.store, self.journal, self.events, host, self.path.parent / "transcripts")
        return SessionBook(
            self.system,
            SessionServices(
                self.store,
                self.journal,
                ptys,
                environ={},
                callback=lambda: Callback(url="http://127.0.0.1:1", cli="/bin/whisk", state_dir="/nonexistent"),
                profiles=lambda: BUILTIN,
            ),
        )

    def end_terminal(self, pty_id: str, code: int | None, *, killed: bool = False) -> terminals.PtyInfo:
        record = self.store.read(lambda db: terminal_storage.get(db, pty_id))
        ended = terminals.end(record, code, None, killed, self.now)
        self.keep(ended)
        return terminals.info(ended, 0)

    def crash(self) -> None:
        """Like kill -9: nothing is drained, nothing is said; what is committed is there."""
        crash(self.system, self.store)

    @property
    def now(self) -> Instant:
        return self.system.clock.now()

    def project(self) -> Project:
        return self.work.create_project(CreateProject(root_dir="/src/app", name="App"))

    def item(self, stage_id: str = "") -> WorkItem:
        project = self.project()
        request = CreateWorkItem(project_id=project.id, title="Fix it", stage_id=stage_id)
        return get(self.work.project(project.id).create_item.remote(request))

    def start(self, item: WorkItem, **fields: Any) -> Run:
        request = StartRun(work_item_id=item.id, **fields)
        return get(self.work.item(item.id).start_run.options(timeout=30).remote(request), timeout=30)

    def stored(self, run: Run) -> Run:
        return self.store.read(lambda db: run_storage.get(db, run.id))

    def state(self, item: WorkItem) -> str:
        return self.store.read(lambda db: item_storage.get(db, item.id)).run_state
