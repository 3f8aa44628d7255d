"""The daemon as a whole: its parts in the order in which they start, and backwards the order in which they stop."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import gevent
from structlog import get_logger

from whisk import PROTOCOL_VERSION, __version__
from whisk.clock import SystemClock
from whisk.daemon import log
from whisk.daemon.actors import Actors
from whisk.daemon.build import this_build
from whisk.daemon.cli_path import find_cli
from whisk.daemon.config import is_loopback
from whisk.daemon.process import forget_ancestors, raise_descriptor_limit, spare_collector
from whisk.daemon.ready import Ready
from whisk.daemon.signals import Signals
from whisk.daemon.state import DaemonState, process_start_time, remove_state, write_state
from whisk.daemon.token import ensure_token, write_private
from whisk.errors import UnavailableError, WhiskError
from whisk.http.api import Api
from whisk.http.app import WsgiApp, build_app
from whisk.http.auth import Access
from whisk.http.server import Server
from whisk.http.table import all_routes
from whisk.ids import token_hash
from whisk.storage.database import Store
from whisk.terminal.environment import scrub

if TYPE_CHECKING:
    from whisk.daemon.main import Options

# What ending the terminals and draining the actors may take on top of what the requests are given. The stop is over
# within both together, whatever does not want to end; service managers kill after 15 to 90 s.
STOP_SECONDS = 10.5
_log = get_logger("whisk.daemon")


class Step(NamedTuple):
    name: str
    start: Callable[[], None]
    stop: Callable[[], None]


class Daemon:
    """One life of whiskd, from `run` to its return."""

    def __init__(self, options: Options, ready: Ready) -> None:
        self._options = options
        self._ready = ready
        self._clock = SystemClock()
        self._signals = Signals(None if options.foreground and sys.stdin.isatty() else self._reopen_log)
        self._kill_ptys = False
        self._started: list[Step] = []
        # Read downwards it is the start, upwards the stop.
        self._steps = (
            Step("log", self._open_log, self._close_log),
            Step("signals", self._signals.install, self._signals.remove),
            Step("surroundings", self._settle, self._unsettle),
            Step("database", self._open_store, self._close_store),
            Step("actors", self._start_actors, self._stop_actors),
            Step("http", self._start_server, self._stop_server),
            Step("state file", self._announce, self._withdraw),
        )

    def run(self) -> int:
        """Start, serve until told to stop, stop; returns the exit code."""
        try:
            for step in self._steps:
                step.start()
                self._started.append(step)
        except Exception as error:  # noqa: BLE001 (whatever it is, what has started must stop and the starter must know)
            refusal = error if isinstance(error, WhiskError) else UnavailableError(f"{step.name}: {error!r}")
            _log.error("could not start", part=step.name, error=refusal.message, exc_info=refusal is not error)
            self._stop()
            self._ready.failed(refusal, logged=self._options.foreground and step.name != "log")
            return 1
        spare_collector()
        _log.info("whiskd is up", url=self._server.url, pid=os.getpid(), version=__version__)
        self._ready.up(self._server.url, os.getpid())
        self._signals.stop.wait()
        _log.info("whiskd stops", kill_ptys=self._kill_ptys)
        return self._stop_in_time()

    def ask_stop(self, kill_ptys: bool = False) -> None:
        """What `POST /v1/shutdown` does; returns at once."""
        self._kill_ptys = kill_ptys
        self._signals.stop.set()

    def _stop_in_time(self) -> int:
        """Stop in order, but end the process when it takes too long or the person asks a second time."""
        stopping = gevent.spawn(self._stop)
        limit = self._options.settings.daemon.drain + STOP_SECONDS
        gevent.wait([stopping, self._signals.hurry], timeout=limit, count=1)
        if stopping.ready():
            return 0
        _log.error("the stop was cut short", left=[step.name for step in self._started])
        with contextlib.suppress(OSError):
            remove_state(self._options.paths.state_file)
        os._exit(1)

    def _stop(self) -> None:
        while self._started:
            step = self._started[-1]
            try:
                step.stop()
            except Exception:  # noqa: BLE001 (one part that fails to stop must not keep the others from it)
                _log.exception("a part did not stop", part=step.name)
            self._started.pop()

    def _open_log(self) -> None:
        settings = self._options.settings.daemon
        stderr = sys.stderr if self._options.foreground else None
        self._logging = log.start(
            self._options.paths.log, level=settings.log_level, size=settings.log_bytes, stderr=stderr
        )

    def _close_log(self) -> None:
        self._logging.close()

    def _reopen_log(self) -> None:
        self._logging.reopen()

    def _settle(self) -> None:
        """Hold on to nothing of the place we were started from, and find what the parts need."""
        os.environ.clear()
        os.environ.update(scrub(self._options.env))
        os.chdir("/")
        self._descriptors = raise_descriptor_limit()
        forget_ancestors()
        self._token = ensure_token(self._options.paths.token)
        self._cli = find_cli(self._options.env, self._options.paths.state)
        if not is_loopback(self._options.host):
            _log.warning("other machines can reach this daemon", host=self._options.host)

    def _unsettle(self) -> None:
        """Remove the folder of sockets, unless the pty host goes on in it."""
        runtime = self._options.paths.runtime
        # One inside the state folder may stay; one of its own below /tmp is worth waiting for a host that is leaving.
        for _ in range(1 if runtime.is_relative_to(self._options.paths.state) else 15):
            with contextlib.suppress(OSError):
                runtime.rmdir()
                return
            gevent.sleep(0.02)

    def _open_store(self) -> None:
        self._store = Store.open(self._options.paths.database, clock=self._clock)

    def _close_store(self) -> None:
        self._store.close()

    def _start_actors(self) -> None:
        self._actors = Actors(self._options, self._store, self._clock, self._cli, self._descriptors)
        self._actors.start()

    def _stop_actors(self) -> None:
        self._actors.stop(kill_ptys=self._kill_ptys)

    def _start_server(self) -> None:
        options = self._options
        access = Access(token_hash(self._token), options.host, frozenset(options.settings.daemon.host_names))
        api = Api(
            system=self._actors.system,
            store=self._store,
            journal=self._actors.journal,
            supervisor=self._actors.supervisor,
            events=self._actors.events,
            settings=options.settings,
            clock=self._clock,
            access=access,
            build=this_build(options.env),
            shutdown=self.ask_stop,
            sessions=self._actors.sessions,
            work=self._actors.work,
            worktrees=self._actors.worktrees,
            setup=self._actors.setup,
            library=self._actors.library,
        )
        self._server = self._bind(build_app(api, all_routes()))
        self._actors.serve_at(self._server.url)
        self._server.start()

    def _bind(self, app: WsgiApp) -> Server:
        """Listen. When any port will do, the last one is tried first: terminals that outlived the last daemon were
        told its address."""
        host, port = self._options.host, self._options.port
        remembered = self._options.paths.state / "last-port"
        if port == 0:
            with contextlib.suppress(OSError, ValueError, WhiskError):
                return Server(app, host, int(remembered.read_text("ascii")))
        server = Server(app, host, port)
        # Without it the next daemon takes another port, which is no reason not to run.
        with contextlib.suppress(WhiskError):
            write_private(remembered, f"{server.address[1]}\n")
        return server

    def _stop_server(self) -> None:
        cut_off = self._server.stop(timeout=self._options.settings.daemon.drain)
        if cut_off:
            _log.warning("requests were cut off", count=cut_off)

    def _announce(self) -> None:
        host, port = self._server.address
        pid = os.getpid()
        state = DaemonState(
            pid=pid,
            process_start_time=process_start_time(pid) or 0.0,
            addr=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            url=self._server.url,
            version=__version__,
            protocol_version=PROTOCOL_VERSION,
            started_at=self._clock.now(),
            log=str(self._options.paths.log),
        )
        write_state(self._options.paths.state_file, state)

    def _withdraw(self) -> None:
        remove_state(self._options.paths.state_file)
