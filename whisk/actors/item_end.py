"""The end of a work item: what was started for it is ended, then all that is known of it is forgotten, in one write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peewee import Database

from whisk.actors.future import wait
from whisk.actors.work_services import WorkServices
from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.matters.audit import AuditEntry, Surface
from whisk.storage import audit, item_delete
from whisk.storage import item as item_storage
from whisk.storage import run as run_storage
from whisk.work.item import WorkItem
from whisk.work.item_change import DeleteItem, mark_deleted
from whisk.work.run import Run

if TYPE_CHECKING:
    from whisk.actors.system import ActorSystem

_STOP_SECONDS = 5.0


def end_item(system: ActorSystem, services: WorkServices, item_id: str, request: DeleteItem, now: Instant) -> WorkItem:
    """The item as it was last, with its deletion in its history. For the item's own actor, which must end after it.

    Sessions that whisk made for its runs are closed, and with them what runs in them; the agent of a run that was
    bound to a terminal by hand goes on. Its worktree stays on disk. Blocks the calling greenlet for as long as a
    terminal takes to end.
    """
    item, runs = services.store.read(lambda db: _known(db, item_id))
    gone = mark_deleted(item, request, now)
    for session_id in dict.fromkeys(run.session_id for run in runs if run.owns_session and run.session_id):
        try:
            services.close_session(session_id)
        except NotFoundError:
            pass
    # Their actors end before their records: what a terminal tells them from now on is told to nobody.
    found = [name for run in runs if system.find(name := f"run:{run.id}") is not None]
    stopping = [system.stop(name) for name in found]
    wait(stopping, num_returns=len(stopping), timeout=_STOP_SECONDS)
    services.write(lambda db: _forget(db, gone, request.surface))
    services.changed(item_id)
    return gone


def _forget(db: Database, gone: WorkItem, surface: Surface) -> None:
    item_delete.delete(db, gone.id)
    last = gone.history[-1]
    entry = AuditEntry(
        at=last.at,
        who=last.actor or "",
        surface=surface,
        action="delete",
        noun="work-item",
        id=gone.id,
        outcome="deleted",
        about=f"#{gone.number} {gone.title}",
        project_id=gone.project_id,
        work_item_id=gone.id,
    )
    audit.record(db, entry)


def _known(db: Database, item_id: str) -> tuple[WorkItem, list[Run]]:
    return item_storage.get(db, item_id), run_storage.select(db, work_item_id=item_id)
