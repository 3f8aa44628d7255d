"""The actors that live as long as the daemon, in the order in which they start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structlog import get_logger

from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.system import ActorSystem
from whisk.clock import Clock
from whisk.storage.database import Store

if TYPE_CHECKING:
    from whisk.daemon.main import Options

# What is left of the stop's time when the HTTP server has stopped.
DRAIN_SECONDS = 6.0
# What takes requests ends first, what others write to last.
PHASES = (
    ("bridge:*",),
    ("run:*", "work-item:*", "project:*", "session:*"),
    ("pty:*", "pty-host"),
    ("mailbox:*", "post-office"),
    ("events",),
    ("journal",),
)
_log = get_logger("whisk.daemon")


class Actors:
    """The actor system of a daemon and the handles that the HTTP layer is given."""

    def __init__(self, options: Options, store: Store, clock: Clock, cli: str) -> None:
        self._options = options
        self._store = store
        self._cli = cli
        self.system = ActorSystem(clock=clock)
        self.supervisor: Any = None
        self.events: Any = None

    def start(self) -> None:
        self.journal = self.system.spawn(
            JournalActor, self._store, name="journal", restart="permanent", handle=JournalHandle
        )  # fmt: skip

    def serve_at(self, url: str) -> None:
        """Where agents will find the daemon; known once the server has bound its port."""

    def stop(self, *, kill_ptys: bool) -> None:
        """End everything, in phases; what had to be killed is logged by the system."""
        report = self.system.drain(PHASES, timeout=DRAIN_SECONDS)
        _log.info("actors have ended", stopped=report.stopped, left=[info.name for info in report.left])
        self.system.close(timeout=1.0)
