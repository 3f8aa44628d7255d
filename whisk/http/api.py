"""What handlers work with: the daemon's parts, and a typed getter for each kind of actor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whisk.http.meter import Meter

if TYPE_CHECKING:
    from whisk.actors.system import ActorSystem

    from whisk.clock import Clock
    from whisk.http.auth import Access


@dataclass(frozen=True, slots=True)
class Build:
    """What this daemon is, for `GET /v1/compat`."""

    version: str
    git_sha: str = ""
    dirty: bool = False


@dataclass(frozen=True)
class Api:
    """One per daemon, made by the composition. `shutdown` asks for a graceful stop and returns at once."""

    system: ActorSystem
    store: Any
    journal: Any
    supervisor: Any
    events: Any
    settings: Any
    clock: Clock
    access: Access
    build: Build
    shutdown: Callable[[], None]
    meter: Meter = field(default_factory=Meter)
