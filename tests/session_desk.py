"""A daemon's worth of sessions for tests: real actors, a real pty host and real children, over one database file."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.crash import crash
from whisk.actors.events import EventsActor, EventsHandle
from whisk.actors.future import get
from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.pty import PtyHandle, PtyServices
from whisk.actors.pty_host import PtyHostActor, PtyHostHandle
from whisk.actors.pty_link import HostPaths
from whisk.actors.session_book import SessionBook
from whisk.actors.session_services import SessionServices
from whisk.actors.system import ActorSystem
from whisk.errors import WhiskError
from whisk.profiles.builtin import BUILTIN
from whisk.profiles.profile import merge
from whisk.storage.database import Store
from whisk.work.order import Callback
from whisk.work.session import CreatedSession, CreateSession
from whisk.work.start import BridgeCredentials, BridgeRequest, LaunchContext, StartPtyOptions

SECONDS = 10.0
ENVIRON = {"HOME": "/nowhere", "PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/sh", "CLAUDECODE": "1"}
# An agent that shows how it was started, then waits to be spoken to.
AGENT = {"argv": [sys.executable, "-c", "import sys; print(sys.argv[1:], flush=True); input()", "{prompt}"]}


def run(*command: str, **options: object) -> StartPtyOptions:
    """Options that execute `command` as it is."""
    program, *args = command
    return StartPtyOptions(command=program, args=tuple(args), exec=True, **options)  # type: ignore[arg-type]


class SessionDesk:
    """`crash` is what kill -9 does to the daemon, `open` the next daemon; the pty host and its children stay."""

    def __init__(self, system: ActorSystem, folder: Path, idle: float = 60.0) -> None:
        self.folder = folder
        self.idle = idle
        # A socket's path has room for a hundred characters, which pytest's folders use up.
        self.runtime = Path(tempfile.mkdtemp(prefix="wd-"))
        self.changes: list[str] = []
        self.bridges: list[BridgeRequest] = []
        self.open(system)

    def open(self, system: ActorSystem) -> None:
        self.system = system
        self.store = Store.open(self.folder / "whisk.sqlite3")
        self.journal = system.spawn(JournalActor, self.store, name="journal", handle=JournalHandle)
        self.events = system.spawn(EventsActor, name="events", handle=EventsHandle)
        paths = HostPaths(*(str(self.runtime / name) for name in ("host", "host.lock", "host.log")))
        self.host = system.spawn(PtyHostActor, paths, 2.0, name="pty-host", handle=PtyHostHandle)
        ptys = PtyServices(
            self.store, self.journal, self.events, self.host, self.folder / "ptys", ring_bytes=65_536, look_seconds=0.02
        )
        profiles = merge(BUILTIN, {"shown": AGENT, "hooked": {**AGENT, "hook_provider": "claude"}})
        services = SessionServices(
            store=self.store,
            journal=self.journal,
            ptys=ptys,
            environ=ENVIRON,
            callback=lambda: Callback(url="http://127.0.0.1:1", cli="/opt/whisk/bin/whisk", state_dir="/state"),
            profiles=lambda: profiles,
            changed=self.changes.append,
            register_bridge=self.register,
            idle_seconds=self.idle,
        )
        self.book = SessionBook(system, services)

    def register(self, request: BridgeRequest) -> BridgeCredentials:
        self.bridges.append(request)
        return BridgeCredentials(bridge_id=f"brg_{len(self.bridges)}", token="secret", provider=request.provider)

    def crash(self) -> None:
        """Like kill -9: nothing is drained, nothing is said; what is committed is there."""
        crash(self.system, self.store)

    def create(
        self, initial: StartPtyOptions | None = None, context: LaunchContext | None = None, **fields: str
    ) -> CreatedSession:
        request = CreateSession(root_dir=fields.pop("root_dir", str(self.folder)), initial_pty=initial, **fields)
        return self.book.create(request, context)

    def shell(self, script: str, context: LaunchContext | None = None) -> tuple[CreatedSession, PtyHandle]:
        """A session whose pane runs `script`."""
        made = self.create(run("/bin/sh", "-c", script), context)
        assert made.pty_id is not None
        return made, self.book.pty(made.pty_id)

    def expect(self, pty_id: str | None, pattern: str) -> str:
        """What matched, of everything the terminal has shown."""
        assert pty_id is not None
        call = self.book.pty(pty_id).expect.options(timeout=SECONDS)
        return get(call.remote((pattern,), SECONDS, 0), timeout=SECONDS + 1).match

    def close(self) -> None:
        """End every child that a test left."""
        for session in self.book.sessions():
            try:
                self.book.close(session.id)
            except WhiskError as error:
                raise AssertionError(f"{session.id} could not be closed: {error}") from error
        self.system.close(timeout=SECONDS)
        self.store.close()
        shutil.rmtree(self.runtime, ignore_errors=True)
