"""`daemon clear`: end every terminal, forget sessions, output, work and mail. Policies, prompts and the audit stay."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from peewee import Database

from whisk.actors.future import get, wait
from whisk.actors.history import HistoryHandle
from whisk.actors.journal import JournalHandle
from whisk.actors.pty_life import KEEPER
from whisk.events import EventType
from whisk.matters.audit import AuditEntry, Surface
from whisk.storage import audit
from whisk.storage import item as item_storage
from whisk.storage import mail as mail_storage
from whisk.storage import peer as peer_storage
from whisk.storage.artifact import ARTIFACTS
from whisk.storage.definition import DEFINITIONS
from whisk.storage.gate import GATES
from whisk.storage.item_link import LINKS
from whisk.storage.project import PROJECTS
from whisk.storage.question import QUESTIONS
from whisk.storage.run import RUNS
from whisk.storage.session import SessionRow
from whisk.storage.status import STATUS_EVENTS
from whisk.storage.terminal import TerminalRow
from whisk.storage.workflow_event import WORKFLOW_EVENTS
from whisk.work.clearing import Cleared

if TYPE_CHECKING:
    from whisk.actors.session_book import SessionBook
    from whisk.actors.system import ActorSystem

CLEAR_SECONDS = 60.0
# Who keeps something in memory of what is deleted; in this order, so that none writes to one that has ended.
_OWNERS = ("run:*", "work-item:*", "project:*", "session:*", "pty:*", "mailbox:*")
_CHANGED: tuple[EventType, ...] = (
    *("session.changed", "pty.changed", "workitems.changed", "status.changed", "mailbox.changed", "peers.changed"),
)


def clear(
    system: ActorSystem,
    journal: JournalHandle,
    sessions: SessionBook,
    announce: Callable[[EventType], None],
    who: str = "",
    surface: Surface = "",
) -> Cleared:
    """Blocks the calling greenlet until all of it is gone from memory and from disk; `who` asked for it, for the audit.

    Sessions are closed first, which ends their terminals; a terminal that will not end is left to its kill ladder.
    """
    running = sum(pty.running for pty in sessions.ptys())
    closing = [
        sessions.session(session.id).close.options(timeout=CLEAR_SECONDS).remote() for session in sessions.sessions()
    ]
    wait(closing, num_returns=len(closing), timeout=CLEAR_SECONDS)
    for pattern in _OWNERS:
        stopping = [system.stop(name) for name in system.names() if fnmatchcase(name, pattern)]
        wait(stopping, num_returns=len(stopping), timeout=5.0)
    entry = AuditEntry(
        at=system.clock.now(),
        who=who,
        surface=surface,
        action="clear",
        noun="daemon",
        id="whiskd",
        outcome="cleared",
        about=f"{len(closing)} sessions, {running} terminals, all work and mail",
    )
    projects, items = get(journal.write.remote(lambda db: _delete(db, entry)))
    if (history := system.find(KEEPER, handle=HistoryHandle)) is not None:
        # What nobody can ask for by its id any more.
        get(history.sweep.options(timeout=CLEAR_SECONDS).remote(), timeout=CLEAR_SECONDS)
    for kind in _CHANGED:
        announce(kind)
    return Cleared(
        sessions_cleared=len(closing),
        ptys_cleared=running,
        projects_cleared=projects,
        work_items_cleared=items,
        forwards_cleared=0,
    )


def _delete(db: Database, entry: AuditEntry) -> tuple[int, int]:
    audit.record(db, entry)
    for rows in (SessionRow, TerminalRow):
        rows.delete().execute(db)
    for documents in (GATES, QUESTIONS, RUNS, DEFINITIONS, ARTIFACTS, WORKFLOW_EVENTS, STATUS_EVENTS, LINKS):
        documents.clear(db)
    peer_storage.clear_ended(db)
    mail_storage.clear(db)
    return PROJECTS.clear(db), item_storage.clear(db)
