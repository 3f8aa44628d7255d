"""What the actors of projects, work items and runs need from the rest of the daemon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from peewee import Database

from whisk.actors.future import get
from whisk.actors.journal import JournalHandle
from whisk.actors.worktrees import Provision
from whisk.profiles.profile import Profile
from whisk.storage.database import Store
from whisk.work.item import WorkItem
from whisk.work.project import Project
from whisk.work.session import CreatedSession, CreateSession
from whisk.work.start import LaunchContext

T = TypeVar("T")


@dataclass(frozen=True)
class WorkServices:
    """`changed(id)` announces that the record of that id changed; it does not block.

    `launch` makes a session with an agent's terminal in it, owned by the run that the context names, and returns when
    the terminal runs; it blocks the calling greenlet only, and raises refusals. `close_session(id)` ends a session and
    what runs in it, likewise. `leave_project(ids)` tells the sessions of a project that is gone. `provision` makes an
    item's worktree, or says why there is none; it blocks the calling greenlet for as long as git takes. `profiles()`
    are the agent profiles that there are now.
    """

    store: Store
    journal: JournalHandle
    changed: Callable[[str], None]
    launch: Callable[[CreateSession, LaunchContext], CreatedSession]
    close_session: Callable[[str], object]
    leave_project: Callable[[Sequence[str]], None]
    provision: Callable[[Project, WorkItem], Provision]
    profiles: Callable[[], Sequence[Profile]]

    def write(self, change: Callable[[Database], T]) -> T:
        """Make a change and return when it is on disk; blocks the calling greenlet only, raises refusals."""
        return get(self.journal.write.remote(change))  # type: ignore[no-any-return]
