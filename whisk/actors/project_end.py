"""The end of a project: nobody works for it any more, then all that is known of it is forgotten, in one write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peewee import Database

from whisk.actors.future import wait
from whisk.actors.work_services import WorkServices
from whisk.clock import Instant
from whisk.matters.audit import AuditEntry
from whisk.storage import audit, project_delete
from whisk.work.project import Project
from whisk.work.project_change import DeleteProject

if TYPE_CHECKING:
    from whisk.actors.system import ActorSystem

_STOP_SECONDS = 5.0


def end_project(
    system: ActorSystem, services: WorkServices, project: Project, request: DeleteProject, now: Instant
) -> None:
    """For the project's own actor, which must end after it. Blocks the calling greenlet.

    What runs in terminals goes on, and sessions stay, without a project: a person may have more in them than this work.
    """
    project_id = project.id
    # Their actors end before their records: what a terminal tells them from now on is told to nobody.
    for kind in ("work-item:", "run:"):
        found = [each.name for each in system.list(project=project_id) if each.name.startswith(kind)]
        stopping = [system.stop(name) for name in found]
        wait(stopping, num_returns=len(stopping), timeout=_STOP_SECONDS)
    entry = AuditEntry(
        at=now,
        who=request.actor or "",
        surface=request.surface,
        action="delete",
        noun="project",
        id=project_id,
        outcome="deleted",
        about=f"{project.name} ({project.root_dir})",
        project_id=project_id,
    )

    def write(db: Database) -> list[str]:
        audit.record(db, entry)
        return project_delete.delete(db, project_id, now)

    sessions = services.write(write)
    services.leave_project(sessions)
    services.changed(project_id)
