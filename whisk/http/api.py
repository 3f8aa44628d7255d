"""What handlers work with: the daemon's parts, and a typed getter for each kind of actor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whisk.http.floor import Floors
from whisk.http.meter import Meter

if TYPE_CHECKING:
    from whisk.actors.events import EventsHandle
    from whisk.actors.journal import JournalHandle
    from whisk.actors.library import Library
    from whisk.actors.session_book import SessionBook
    from whisk.actors.setup import Setup
    from whisk.actors.supervisor import SupervisorHandle
    from whisk.actors.system import ActorSystem
    from whisk.actors.work import Work
    from whisk.actors.worktrees import Worktrees
    from whisk.clock import Clock
    from whisk.http.auth import Access
    from whisk.storage.database import Store


@dataclass(frozen=True, slots=True)
class Build:
    """What this daemon is, for `GET /v1/compat`."""

    version: str
    git_sha: str = ""
    dirty: bool = False


@dataclass(frozen=True)
class Api:
    """One per daemon, made by the composition.

    `shutdown(kill_ptys)` asks for a graceful stop and returns at once.
    """

    system: ActorSystem
    store: Store
    journal: JournalHandle
    supervisor: SupervisorHandle
    events: EventsHandle
    settings: Any
    clock: Clock
    access: Access
    build: Build
    shutdown: Callable[[bool], None]
    sessions: SessionBook
    work: Work
    worktrees: Worktrees
    setup: Setup
    library: Library | None = None
    meter: Meter = field(default_factory=Meter)
    floors: Floors = field(default_factory=Floors)
