"""The way to sessions and terminals: making sessions, and typed handles to their actors, started when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from whisk.actors.future import get, wait
from whisk.actors.offload import offload
from whisk.actors.pty import PtyActor, PtyHandle
from whisk.actors.session import START_SECONDS, SessionActor, SessionHandle, check_exists
from whisk.actors.session_services import SessionServices
from whisk.errors import WhiskError
from whisk.ids import new_id
from whisk.storage import session as storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.page import WHOLE, Page
from whisk.storage.transcript import Transcript
from whisk.terminal.pty import PtyInfo, PtyRecord, info
from whisk.work.order import place_order
from whisk.work.session import CreatedSession, CreateSession, Session, new_session
from whisk.work.start import LaunchContext

if TYPE_CHECKING:
    from whisk.actors.system import ActorSystem

# What ending everything in a session may take: three signals, each with its grace.
CLOSE_SECONDS = 60.0


@dataclass(frozen=True)
class SessionBook:
    """Every method blocks the calling greenlet only, and raises `NotFoundError` for an id that nobody has."""

    system: ActorSystem
    services: SessionServices
    parent: str = "supervisor"

    def restore(self) -> int:
        """Start the sessions whose terminals were alive when the last daemon ended; returns how many."""
        alive = self.services.store.read(terminal_storage.select_alive)
        sessions = {record.session_id for record in alive}
        known = {session.id for session in self.sessions()}
        for session_id in sorted(sessions & known):
            self._open(session_id)
        return len(sessions & known)

    def create(self, request: CreateSession, context: LaunchContext | None = None) -> CreatedSession:
        """A session, with a terminal in its pane if `initial_pty` says so; both or neither.

        Raises refusals: a directory that does not exist, an unknown project, or whatever kept the terminal from
        starting. A context that names a run makes that run the owner of the terminal.
        """
        context = context or LaunchContext()
        session = new_session(request, session_id=new_id("sess"), window_id=new_id("win"), pane_id=new_id("pane"))
        (pane,) = session.panes.values()
        offload(check_exists, session.root_dir, "root dir")
        if pane.working_dir != session.root_dir:
            offload(check_exists, pane.working_dir, "working dir")
        if session.project_id is not None:
            self.services.project(session.project_id)
        if request.initial_pty is not None:
            # What cannot be started should not leave a session behind, even for a moment.
            place_order(request.initial_pty, self.services.profiles(), self.services.environ)
        self.services.write(lambda db: storage.insert(db, session, self.system.clock.now()))
        handle = self._open(session.id)
        created = CreatedSession(session=session, window_id=pane.window_id, pane_id=pane.id)
        if request.initial_pty is not None:
            try:
                call = handle.start_pty.options(timeout=START_SECONDS)
                started = get(call.remote(pane.id, request.initial_pty, context), timeout=START_SECONDS)
            except WhiskError:
                self._undo(handle)
                raise
            created = msgspec.structs.replace(
                created, session=started.session, pty_id=started.pty_id, main_pty_id=started.pty_id
            )
        self.services.changed(session.id)
        return created

    def _undo(self, session: SessionHandle) -> None:
        try:
            get(session.close.options(timeout=CLOSE_SECONDS).remote(), timeout=CLOSE_SECONDS)
        except WhiskError as error:
            self.system.log.warning("an empty session was left", session=session.name, error=error.message)

    def sessions(self, project_id: str | None = None, page: Page = WHOLE) -> list[Session]:
        """Oldest first."""
        return self.services.store.read(lambda db: storage.select(db, project_id, page))

    def show(self, session_id: str) -> Session:
        """As it is stored; a session at rest is not woken for that."""
        return self.services.store.read(lambda db: storage.get(db, session_id))

    def session(self, session_id: str) -> SessionHandle:
        found = self.system.find(f"session:{session_id}", handle=SessionHandle)
        if found is None:
            self.services.store.read(lambda db: storage.get(db, session_id))
            found = self._open(session_id)
        return found

    def close(self, session_id: str) -> list[Session]:
        """End a session and what runs in it; returns the sessions that are left."""
        call = self.session(session_id).close.options(timeout=CLOSE_SECONDS)
        get(call.remote(), timeout=CLOSE_SECONDS)
        return self.sessions()

    def leave_project(self, session_ids: Sequence[str]) -> None:
        """These belong to no project any more, and their records say so; those that are alive are told."""
        for session_id in session_ids:
            handle = self.system.find(f"session:{session_id}", handle=SessionHandle)
            try:
                if handle is not None:
                    get(handle.set_project.remote(""))
            except WhiskError as error:
                self.system.log.warning("a session was not told", session=session_id, error=error.message)
            self.services.changed(session_id)

    def ptys(self, page: Page = WHOLE) -> list[PtyInfo]:
        """The terminals of the sessions that there are, oldest first."""
        records = self.services.store.read(lambda db: storage.select_terminals(db, page))
        handles = [self.system.find(f"pty:{record.id}", handle=PtyHandle) for record in records]
        asked = [handle.info.remote() if handle is not None else None for handle in handles]
        pending = [ask for ask in asked if ask is not None]
        wait(pending, num_returns=len(pending), timeout=2.0)
        # One that cannot answer is shown as it was stored.
        return [
            ask.get() if ask is not None and ask.done() and ask.error() is None else info(record, record.output_offset)
            for record, ask in zip(records, asked, strict=True)
        ]

    def pty(self, pty_id: str) -> PtyHandle:
        """A terminal, also one that has ended, of a session that is closed too: its output can still be read."""
        found = self.system.find(f"pty:{pty_id}", handle=PtyHandle)
        if found is not None:
            return found
        record = self.services.store.read(lambda db: terminal_storage.get(db, pty_id))
        return self.system.spawn(
            PtyActor,
            pty_id,
            self.services.ptys,
            name=f"pty:{pty_id}",
            parent=self.parent,
            labels={"session": record.session_id},
            idle_after=self.services.idle_seconds,
            get_if_exists=True,
            handle=PtyHandle,
        )

    def history(self, limit: int, session_id: str | None = None) -> list[PtyRecord]:
        """The newest terminals that are remembered, oldest first, those of sessions that are closed too."""
        return self.services.store.read(lambda db: terminal_storage.select_newest(db, limit, session_id))

    def transcript(self, pty_id: str) -> tuple[PtyRecord, Transcript]:
        """A terminal, whether it runs or not, and what is on disk of its output: reading that wakes no actor."""
        record = self.services.store.read(lambda db: terminal_storage.get(db, pty_id))
        return record, offload(Transcript, self.services.ptys.transcripts / pty_id)

    def remove_pty(self, pty_id: str) -> None:
        """Delete a terminal that has ended, its output with it."""
        record = self.services.store.read(lambda db: terminal_storage.get(db, pty_id))
        if any(session.id == record.session_id for session in self.sessions()):
            get(self.session(record.session_id).remove_pty.remote(pty_id))
            return
        get(self.pty(pty_id).remove.remote())
        self.system.stop(f"pty:{pty_id}")

    def _open(self, session_id: str) -> SessionHandle:
        return self.system.spawn(
            SessionActor,
            session_id,
            self.services,
            name=f"session:{session_id}",
            parent=self.parent,
            labels={"session": session_id},
            restart="permanent",
            idle_after=self.services.idle_seconds,
            get_if_exists=True,
            handle=SessionHandle,
        )
