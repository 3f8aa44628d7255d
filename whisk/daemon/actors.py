"""The actors that live as long as the daemon: in which order they start, what each is given, how they end."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from structlog import get_logger

from whisk.actors.bridge import BridgeServices
from whisk.actors.bridges import BridgesActor, BridgesHandle
from whisk.actors.commands import CommandsActor, CommandsHandle
from whisk.actors.events import INBOX, EventsActor, EventsHandle, Numbering
from whisk.actors.future import wait
from whisk.actors.history import HistoryActor, HistoryBounds, HistoryHandle
from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.librarian import LibrarianActor, LibrarianHandle, open_index
from whisk.actors.library import Library
from whisk.actors.mail_effect import WorkEffects
from whisk.actors.matters import MattersActor, MattersHandle
from whisk.actors.notifier import NotifierActor, NotifierHandle, NotifierServices
from whisk.actors.peer import PeerServices
from whisk.actors.peers import PeersActor, PeersHandle
from whisk.actors.post_office import PostOfficeActor, PostOfficeHandle
from whisk.actors.pty import PtyHandle, PtyServices
from whisk.actors.pty_host import PtyHostActor, PtyHostHandle, tidy_host
from whisk.actors.pty_life import KEEPER
from whisk.actors.pty_link import host_paths
from whisk.actors.registrar import Registrar
from whisk.actors.session_book import SessionBook
from whisk.actors.session_services import SessionServices
from whisk.actors.setup import Setup
from whisk.actors.supervisor import SupervisorActor, SupervisorHandle
from whisk.actors.system import ActorSystem
from whisk.actors.webhook import WebhookServices
from whisk.actors.webhook_post import Poster
from whisk.actors.work import Work
from whisk.actors.work_hooks import WorkHooks
from whisk.actors.work_services import WorkServices
from whisk.actors.worktrees import Worktrees
from whisk.bridges.request import BridgeRequest
from whisk.clock import Clock, Instant
from whisk.daemon.places import hook_places
from whisk.errors import BusyError, WhiskError
from whisk.events import EventType
from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent
from whisk.storage import notice as notice_storage
from whisk.storage.database import Store
from whisk.storage.landing import Landing
from whisk.work.order import Callback

if TYPE_CHECKING:
    from whisk.daemon.main import Options

DRAIN_SECONDS = 4.0
# Three signals, each with its grace, and a little for the look afterwards.
KILL_GRACE = 1.0
KILL_SECONDS = 5.0
# What takes requests ends first, what the others write to last.
PHASES = (
    ("webhook:*", "matters", "notifier"),
    ("bridge:*", "bridges"),
    ("peer:*", "peers"),
    ("run:*", "work-item:*", "project:*"),
    ("session:*",),
    ("pty:*",),
    ("history", "librarian", "pty-host", "mailbox:*", "post-office"),
    ("events", "commands"),
    ("journal",),
)
_log = get_logger("whisk.daemon")


class Actors:
    """The actor system of a daemon, and the ways into it that the HTTP layer is given."""

    supervisor: SupervisorHandle
    journal: JournalHandle
    events: EventsHandle
    commands: CommandsHandle
    host: PtyHostHandle
    bridges: BridgesHandle
    post_office: PostOfficeHandle
    sessions: SessionBook
    work: Work
    worktrees: Worktrees
    setup: Setup
    library: Library

    def __init__(self, options: Options, store: Store, clock: Clock, cli: str, descriptors: int) -> None:
        """`descriptors` is the limit that the children of terminals get."""
        self._options = options
        self._descriptors = descriptors
        self._store = store
        self._clock = clock
        self._callback = Callback(url="", cli=cli, state_dir=str(options.paths.state))
        self.system = ActorSystem(clock=clock)

    def start(self) -> None:
        """Start what everything stands on, then take up what the last daemon left."""
        self._start_floor()
        self._make_ways()
        self._take_up()

    def serve_at(self, url: str) -> None:
        """Where agents will call back; to be said before the first of them can be started."""
        self._callback = Callback(url=url, cli=self._callback.cli, state_dir=self._callback.state_dir)

    def stop(self, *, kill_ptys: bool) -> None:
        """End everything, in phases; what had to be killed is logged. With `kill_ptys` no terminal is left running."""
        if kill_ptys:
            self._kill_ptys()
        report = self.system.drain(PHASES, timeout=DRAIN_SECONDS)
        _log.info("actors have ended", stopped=report.stopped, left=[info.name for info in report.left])
        self.system.close(timeout=1.0)
        self._landing.close()
        self._index.close()

    def _start_floor(self) -> None:
        store, settings, paths = self._store, self._options.settings, self._options.paths
        spawn = self.system.spawn
        self.supervisor = spawn(
            SupervisorActor, store, name="supervisor", restart="permanent", handle=SupervisorHandle
        )  # fmt: skip
        below = {"parent": "supervisor", "restart": "permanent"}
        self.journal = spawn(JournalActor, store, name="journal", mailbox=20_000, handle=JournalHandle, **below)
        # Behind whatever the last daemon can have announced: nobody announces an event in a microsecond.
        numbering = Numbering(int(self._clock.now()) // 1000)
        self.events = spawn(
            EventsActor, numbering=numbering, name="events", mailbox=INBOX, handle=EventsHandle, **below
        )
        self.host = spawn(
            PtyHostActor,
            host_paths(paths.state, paths.runtime),
            descriptors=self._descriptors,
            name="pty-host",
            handle=PtyHostHandle,
            **below,
        )
        self._index = open_index(paths.search_index)
        librarian = spawn(
            LibrarianActor,
            store,
            self._index,
            paths.transcripts,
            name="librarian",
            handle=LibrarianHandle,
            **below,
        )
        self.library = Library(store, self.journal, self._index, librarian)
        self.commands = spawn(CommandsActor, name="commands", handle=CommandsHandle, **below)
        bridge_services = BridgeServices(
            store,
            self.journal,
            settings.prompts,
            self._announce,
            self._hooked,
            WorkHooks(store, lambda: self.work),
            self._met,
            self._requested,
        )
        self.bridges = spawn(BridgesActor, bridge_services, name="bridges", handle=BridgesHandle, **below)

    def _make_ways(self) -> None:
        store, settings, paths = self._store, self._options.settings, self._options.paths
        environ = dict(os.environ)
        self._landing = Landing.open(paths.landing, paths.transcripts)
        ptys = PtyServices(
            store=store,
            journal=self.journal,
            events=self.events,
            host=self.host,
            transcripts=paths.transcripts,
            landing=self._landing,
            ring_bytes=settings.terminal.ring_bytes,
            transcript_bytes=settings.terminal.transcript_bytes,
        )
        history = HistoryBounds(settings.terminal.transcript_total_bytes, settings.terminal.history_terminals)
        self.system.spawn(
            HistoryActor, ptys, history, name=KEEPER, parent="supervisor", restart="permanent", handle=HistoryHandle
        )  # fmt: skip
        sessions = SessionServices(
            store=store,
            journal=self.journal,
            ptys=ptys,
            environ=environ,
            callback=lambda: self._callback,
            profiles=lambda: settings.profiles,
            changed=self._announcer("session.changed"),
            register_bridge=Registrar(self.bridges),
        )
        self.sessions = SessionBook(self.system, sessions)
        self.worktrees = Worktrees(environ)
        self.setup = Setup(environ, hook_places(), self._clock, settings.prompts.hook_limit)
        work = WorkServices(
            store=store,
            journal=self.journal,
            changed=self._announcer("workitems.changed"),
            launch=self.sessions.create,
            close_session=self.sessions.close,
            leave_project=self.sessions.leave_project,
            provision=self.worktrees.provision,
            profiles=lambda: settings.profiles,
        )
        self.work = Work(self.system, work, self._clock)

    def _take_up(self) -> None:
        """Terminals first: the runs in them ask whether they are still there."""
        self.setup.start()
        adopted = self.sessions.restore()
        self._tidy_host()
        self.system.spawn(
            PeersActor,
            PeerServices(self._store, self.journal, self._announce, self._agent_gone),
            name="peers",
            parent="supervisor",
            restart="permanent",
            mailbox=20_000,
            handle=PeersHandle,
        )
        self.work.start()
        self.post_office = self.system.spawn(
            PostOfficeActor,
            self._store,
            self.journal,
            self.supervisor,
            self.events,
            WorkEffects(self.system, self.work),
            self._options.settings.mail,
            name="post-office",
            parent="supervisor",
            restart="permanent",
            mailbox=20_000,
            handle=PostOfficeHandle,
        )
        self._tell_people()
        _log.info("actors have started", count=len(self.system.names()), sessions_taken_up=adopted)

    def _tell_people(self) -> None:
        """Webhooks and notices, which begin with what happened while there was no daemon."""
        settings = self._options.settings
        services = WebhookServices(
            store=self._store,
            journal=self.journal,
            poster=Poster(settings.webhooks.timeout),
            settings=settings.webhooks,
            link=self._link,
        )
        below = {"parent": "supervisor", "restart": "permanent"}
        notifiers: list[NotifierHandle] = []
        if settings.notify.urls:
            notifier = NotifierServices(self._store, self.journal, settings.notify, services.tell)
            made = self.system.spawn(NotifierActor, notifier, name="notifier", handle=NotifierHandle, **below)
            notifiers.append(made)
        else:
            self.journal.write.tell(notice_storage.end)
        self.system.spawn(
            MattersActor,
            services,
            self.events,
            keep_days=settings.audit.keep_days,
            listeners=lambda: notifiers,
            name="matters",
            handle=MattersHandle,
            **below,
        )

    def _link(self, noun: str, id: str) -> str:
        """Where a person opens a thing: as the settings say, or at this daemon."""
        chosen, url = self._options.settings.notify.link, self._callback.url
        pattern = chosen or (f"{url}/open/{{noun}}/{{id}}" if url else "")
        return pattern.format(noun=noun, id=id)

    def _tidy_host(self) -> None:
        try:
            strays = tidy_host(self.host, self._store)
        except WhiskError as error:
            _log.warning("the pty host was not tidied", why=error.message)
            return
        if strays:
            _log.warning("children run without a terminal of ours", keys=strays)

    def _announce(self, kind: EventType, about: str | None = None) -> None:
        try:
            self.events.publish.tell(kind, about)
        except BusyError:
            # Followers are told that they missed something by the numbers.
            _log.warning("announcement dropped", kind=kind, about=about)

    def _hooked(self, pty_id: str) -> None:
        pty = self.system.find(f"pty:{pty_id}", handle=PtyHandle)
        try:
            if pty is not None:
                pty.hooked.tell()
        except BusyError:
            _log.warning("a terminal was not told of its hooks", pty=pty_id)

    def _met(self, event: HookEvent, context: HookContext, at: Instant, keep: bool) -> None:
        self._tell_peers(lambda peers: peers.met.tell(event, context, at, keep))

    def _requested(self, request: BridgeRequest, keep: bool) -> None:
        self._tell_peers(lambda peers: peers.requested.tell(request, keep))

    def _tell_peers(self, tell: Callable[[PeersHandle], None]) -> None:
        """Never at the cost of a hook: what is lost here, a later event tells again."""
        try:
            if (peers := self.system.find("peers", handle=PeersHandle)) is not None:
                tell(peers)
        except BusyError:
            _log.warning("peers were not told of an event")

    def _agent_gone(self, runtime: str, session: str, pty_id: str) -> None:
        try:
            self.bridges.agent_gone.tell(runtime, session, pty_id)
        except BusyError:
            _log.warning("bridges were not told that an agent is gone", session=session)

    def _announcer(self, kind: EventType) -> Callable[[str], None]:
        return lambda about: self._announce(kind, about)

    def _kill_ptys(self) -> None:
        handles = [self.system.get(name, PtyHandle) for name in self.system.names() if name.startswith("pty:")]
        kills = [handle.kill.options(timeout=KILL_SECONDS).remote(KILL_GRACE) for handle in handles]
        done, _ = wait(kills, num_returns=len(kills), timeout=KILL_SECONDS)
        left = [process.pid for kill in done if kill.error() is None for process in kill.get().left]
        if left or len(done) < len(kills):
            _log.warning("terminals did not end", pids=left, unanswered=len(kills) - len(done))
        try:
            self.host.end_host.remote(True).get(timeout=1.0)
        except WhiskError as error:
            _log.warning("the pty host did not end", why=error.message)
