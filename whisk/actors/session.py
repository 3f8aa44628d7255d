"""A session's actor: it owns the record of one session and the terminals that were started in it.

Changes are written before they are shown, one at a time: a message that starts a terminal waits for it, so nothing can
move underneath. Only ending terminals takes long, and that goes on beside the other messages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec
from peewee import Database

from whisk.actors.actor import Actor
from whisk.actors.future import Future, get, wait
from whisk.actors.handle import Handle, Method
from whisk.actors.offload import offload
from whisk.actors.pty import PtyActor, PtyHandle
from whisk.actors.session_services import SessionServices
from whisk.errors import GoneError, InvalidError, NotFoundError, RefusedError, UnavailableError, WhiskError
from whisk.ids import new_id
from whisk.storage import session as storage
from whisk.storage import terminal as terminal_storage
from whisk.terminal.pty import PtyRecord
from whisk.work import session as rules
from whisk.work.order import Order, place_order, pty_spec
from whisk.work.session import (
    DetachedPanePty,
    Pane,
    RestartedPanePty,
    Session,
    SplitPaneResult,
    StartedPanePty,
)
from whisk.work.start import BridgeRequest, LaunchContext, StartPtyOptions

START_SECONDS = 20.0


class SessionActor(Actor):
    """Named `session:<id>`, which is also the address of its mail. The session must be in storage before it starts."""

    def __init__(self, session_id: str, services: SessionServices) -> None:
        super().__init__()
        self._id = session_id
        self._services = services
        self._closing: Future[None] | None = None

    def on_start(self) -> None:
        stored, records = self._services.store.read(lambda db: _load(db, self._id))
        self._session = reconcile(stored, records)
        if self._session != stored:
            self._services.write(lambda db: storage.update(db, self._session, self.clock.now()))
        for record in records:
            if not record.ended:
                self._spawn(record.id)

    def may_passivate(self) -> bool:
        """With nothing running here, storage knows all that there is to know."""
        return self._closing is None

    def describe(self) -> dict[str, Any]:
        session = self._session
        return {
            "name": session.name,
            "root": session.root_dir,
            "panes": len(session.panes),
            "ptys": len(session.pty_ids),
            **({"closing": True} if self._closing else {}),
        }

    def show(self) -> Session:
        return self._session

    def start_pty(self, pane_id: str, options: StartPtyOptions, context: LaunchContext) -> StartedPanePty:
        """Start a terminal in an empty pane. Refusals: of the options, of the pane, or why it could not be started."""
        pane = self._pane(pane_id)
        pty_id = new_id("pty")
        shown = rules.attach_pty(self._session, pane_id, pty_id)
        self._start(pty_id, pane, place_order(options, self._services.profiles(), self._services.environ), context)
        return StartedPanePty(session=self._keep(shown), pty_id=pty_id)

    def restart_pty(self, pane_id: str, options: StartPtyOptions, context: LaunchContext) -> RestartedPanePty:
        """Start another terminal in the place of one that has ended."""
        pane = self._pane(pane_id)
        pty_id = new_id("pty")
        shown, old = rules.replace_pty(self._session, pane_id, pty_id)
        if self._is_running(old):
            raise RefusedError(f"pty {old} is still running", pty=old, pane=pane_id)
        self._start(pty_id, pane, place_order(options, self._services.profiles(), self._services.environ), context)
        self._move(old, "", "")
        return RestartedPanePty(session=self._keep(shown), pty_id=pty_id, old_pty_id=old)

    def split_pane(
        self, window_id: str, target: str, direction: str, initial: StartPtyOptions | None, context: LaunchContext
    ) -> SplitPaneResult:
        """Add a pane, with a terminal in it if `initial` says so; both or neither."""
        self._check_open()
        pane_id = new_id("pane")
        split = rules.split_pane(self._session, window_id, target, direction, pane_id)
        if initial is None:
            return SplitPaneResult(session=self._keep(split), pane_id=pane_id)
        pty_id = new_id("pty")
        shown = rules.attach_pty(split, pane_id, pty_id)
        order = place_order(initial, self._services.profiles(), self._services.environ)
        self._start(pty_id, split.panes[pane_id], order, context)
        return SplitPaneResult(session=self._keep(shown), pane_id=pane_id, pty_id=pty_id, legacy_pty_id=pty_id)

    def detach_pty(self, pane_id: str) -> DetachedPanePty:
        """Empty the pane; its terminal runs on and stays the session's."""
        self._check_open()
        emptied, pty_id = rules.detach_pty(self._session, pane_id)
        session = self._keep(emptied)
        self._move(pty_id, "", "")
        return DetachedPanePty(session=session, pty_id=pty_id)

    def close_pane(self, window_id: str, pane_id: str) -> Future[Session]:
        """Take the pane away and end what runs in it; replies when that has ended."""
        pane = self._pane(pane_id)
        session = self._keep(rules.close_pane(self._session, window_id, pane_id))
        reply: Future[Session] = Future()
        if pane.current_pty_id is None:
            reply.set(session)
            return reply
        self._move(pane.current_pty_id, "", "")
        kills = self._kill((pane.current_pty_id,))
        self.pipe(kills[0], lambda done: reply.set(session)) if kills else reply.set(session)
        return reply

    def set_root_dir(self, root_dir: str) -> Session:
        self._check_open()
        running = any(self._is_running(each) for each in rules.shown_ptys(self._session))
        moved = rules.set_root_dir(self._session, root_dir, running=running)
        offload(check_exists, moved.root_dir, "root dir")
        return self._keep(moved)

    def set_working_dir(self, pane_id: str, working_dir: str) -> Session:
        pane = self._pane(pane_id)
        running = pane.current_pty_id is not None and self._is_running(pane.current_pty_id)
        moved = rules.set_working_dir(self._session, pane_id, working_dir, running=running)
        offload(check_exists, moved.panes[pane_id].working_dir, "working dir")
        return self._keep(moved)

    def set_project(self, project_id: str) -> Session:
        self._check_open()
        if project_id:
            self._services.project(project_id)
        return self._keep(rules.set_project(self._session, project_id))

    def remove_pty(self, pty_id: str) -> None:
        """Delete a terminal that has ended, its output with it."""
        self._check_open()
        if pty_id not in self._session.pty_ids:
            raise NotFoundError(f"pty {pty_id} not found in session {self._id}", pty=pty_id, session=self._id)
        get(self._spawn(pty_id).remove.remote())
        self.system.stop(f"pty:{pty_id}")
        self._keep(rules.forget_pty(self._session, pty_id))

    def close(self) -> Future[None]:
        """End everything that runs here, then forget the session; replies when it is gone. Others may ask meanwhile
        and get the same answer. The terminals' records and output stay, for whoever wants to read them later.
        """
        if self._closing is None:
            self._closing = Future()
            self.spawn_greenlet(self._close, self._closing)
        return self._closing

    def _close(self, closed: Future[None]) -> None:
        try:
            self._wake_haunted()
            kills = self._kill(self._session.pty_ids)
            wait(kills, num_returns=len(kills))
            for kill in kills:
                _check_killed(kill)
            self._services.write(lambda db: storage.delete(db, self._id))
        except WhiskError as error:
            # Still a session, with whatever is left in it: the person may try again.
            self._closing = None
            closed.set_error(error)
            return
        closed.set()
        self._services.changed(self._id)
        self.stop()

    def _start(self, pty_id: str, pane: Pane, order: Order, context: LaunchContext) -> None:
        """Blocks until the child runs; raises why it does not, and then nothing is left of the attempt."""
        services, session = self._services, self._session
        if context.project_id is None and session.project_id is not None:
            root = services.project(session.project_id).root_dir
            context = msgspec.structs.replace(context, project_id=session.project_id, project_root=root)
        bridge = None
        if order.hooks is not None and services.register_bridge is not None:
            # Before the child exists: its first hook may come at once.
            bridge = services.register_bridge(
                BridgeRequest(provider=order.hooks, session_id=session.id, pty_id=pty_id, context=context)
            )
        spec = pty_spec(order, session, pane, pty_id, context, services.callback(), services.environ, bridge)
        pty = self._spawn(pty_id)
        try:
            get(pty.launch.options(timeout=START_SECONDS).remote(spec), timeout=START_SECONDS)
        except WhiskError:
            self._discard(pty)
            raise

    def _discard(self, pty: PtyHandle) -> None:
        try:
            get(pty.remove.remote())
        except WhiskError as error:
            self.log.warning("a terminal that did not start left its record", pty=pty.name, error=error.message)
        self.system.stop(pty.name)

    def _spawn(self, pty_id: str) -> PtyHandle:
        """The actor of a terminal; one that is stored and has none yet is started, and finds its child by itself."""
        return self.system.spawn(
            PtyActor,
            pty_id,
            self._services.ptys,
            name=f"pty:{pty_id}",
            parent=self.me,
            labels={"session": self._id},
            restart="permanent",
            idle_after=self._services.idle_seconds,
            get_if_exists=True,
            handle=PtyHandle,
        )

    def _wake_haunted(self) -> None:
        """Terminals that have ended and left somebody in the background: their actors may be gone, and must end it."""
        marks = {resident.mark for resident in self._services.ptys.census.take()}
        for pty_id in marks.intersection(self._session.pty_ids):
            self._spawn(str(pty_id))

    def _kill(self, pty_ids: Sequence[str]) -> list[Future[Any]]:
        found = [self.system.find(f"pty:{each}", handle=PtyHandle) for each in pty_ids]
        return [pty.kill.options(timeout=None).remote() for pty in found if pty is not None]

    def _move(self, pty_id: str, window_id: str, pane_id: str) -> None:
        self._spawn(pty_id).move.tell(self._id, window_id, pane_id)

    def _is_running(self, pty_id: str) -> bool:
        pty = self.system.find(f"pty:{pty_id}", handle=PtyHandle)
        return pty is not None and get(pty.info.remote()).running

    def _pane(self, pane_id: str) -> Pane:
        self._check_open()
        return rules.find_pane(self._session, pane_id)

    def _check_open(self) -> None:
        if self._closing is not None:
            raise GoneError(f"session {self._id} is being closed", session=self._id)

    def _keep(self, session: Session) -> Session:
        self._services.write(lambda db: storage.update(db, session, self.clock.now()))
        self._session = session
        self._services.changed(session.id)
        return session


class SessionHandle(Handle):
    show: Method[[], Session]
    start_pty: Method[[str, StartPtyOptions, LaunchContext], StartedPanePty]
    restart_pty: Method[[str, StartPtyOptions, LaunchContext], RestartedPanePty]
    split_pane: Method[[str, str, str, StartPtyOptions | None, LaunchContext], SplitPaneResult]
    detach_pty: Method[[str], DetachedPanePty]
    close_pane: Method[[str, str], Session]
    set_root_dir: Method[[str], Session]
    set_working_dir: Method[[str, str], Session]
    set_project: Method[[str], Session]
    remove_pty: Method[[str], None]
    close: Method[[], None]


def reconcile(session: Session, records: Sequence[PtyRecord]) -> Session:
    """The session as the terminals say: a daemon may have died between storing the one and the other."""
    known = {record.id for record in records}
    for pty_id in (*session.pty_ids, *rules.shown_ptys(session)):
        if pty_id not in known:
            session = rules.forget_pty(session, pty_id)
    for record in records:
        if record.id in session.pty_ids:
            continue
        pane = session.panes.get(record.pane_id)
        if pane is not None and pane.current_pty_id is None:
            session = rules.attach_pty(session, pane.id, record.id)
        else:
            session = msgspec.structs.replace(session, pty_ids=(*session.pty_ids, record.id))
    return session


def check_exists(path: str, label: str) -> None:
    """Raises `InvalidError` when `path` is no directory that can be entered. May block: call it off the hub."""
    try:
        if not os.path.isdir(path):
            os.stat(path)
            raise InvalidError(f"{label} must be a directory: {path}", path=path)
        os.scandir(path).close()
    except OSError as error:
        raise InvalidError(f"{label} invalid: {path}: {error.strerror}", path=path) from error


def _load(db: Database, session_id: str) -> tuple[Session, list[PtyRecord]]:
    return storage.get(db, session_id), terminal_storage.select(db, session_id=session_id)


def _check_killed(kill: Future[Any]) -> None:
    """Raise when a terminal could not be ended; one whose actor is gone already needs no ending."""
    error = kill.error()
    if isinstance(error, NotFoundError):
        return
    report = kill.get()
    if report.left:
        names = ", ".join(f"{each.command} ({each.pid})" for each in report.left)
        raise UnavailableError(f"could not end {names}", processes=[each.pid for each in report.left])
