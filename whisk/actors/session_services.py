"""What the actors of sessions need from the rest of the daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from peewee import Database

from whisk.actors.future import get
from whisk.actors.journal import JournalHandle
from whisk.actors.pty import PtyServices
from whisk.profiles.profile import Profile
from whisk.storage.database import Store
from whisk.storage.project import PROJECTS
from whisk.work.order import Callback
from whisk.work.project import Project
from whisk.work.start import BridgeCredentials, BridgeRequest

# How long a terminal that has ended, and a session in which nothing runs, stay in memory when nobody speaks to them.
IDLE_SECONDS = 60.0


class BridgeRegistrar(Protocol):
    """Makes the credentials of one terminal's hooks and returns when they are stored: the child's first hook may come
    within a millisecond of its start. Blocks the calling greenlet only; raises refusals.
    """

    def __call__(self, request: BridgeRequest) -> BridgeCredentials: ...


@dataclass(frozen=True)
class SessionServices:
    """`environ` is the daemon's own environment; `callback()` and `profiles()` are asked at each start.

    `changed(id)` announces that the record of that session changed; it does not block. Without a registrar no terminal
    gets bridge credentials.
    """

    store: Store
    journal: JournalHandle
    ptys: PtyServices
    environ: Mapping[str, str]
    callback: Callable[[], Callback]
    profiles: Callable[[], Sequence[Profile]]
    changed: Callable[[str], None] = field(default=lambda _: None)
    register_bridge: BridgeRegistrar | None = None
    idle_seconds: float = IDLE_SECONDS

    def write(self, change: Callable[[Database], Any]) -> None:
        """Make a change and return when it is on disk; blocks the calling greenlet only, raises refusals."""
        get(self.journal.write.remote(change))

    def project(self, project_id: str) -> Project:
        """Raises `NotFoundError`."""
        return self.store.read(lambda db: PROJECTS.get(db, project_id))
