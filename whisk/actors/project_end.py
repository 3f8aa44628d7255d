"""The end of a project: nobody works for it any more, then all that is known of it is forgotten, in one write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whisk.actors.future import wait
from whisk.actors.work_services import WorkServices
from whisk.clock import Instant
from whisk.storage import project_delete

if TYPE_CHECKING:
    from whisk.actors.system import ActorSystem

_STOP_SECONDS = 5.0


def end_project(system: ActorSystem, services: WorkServices, project_id: str, now: Instant) -> None:
    """For the project's own actor, which must end after it. Blocks the calling greenlet.

    What runs in terminals goes on, and sessions stay, without a project: a person may have more in them than this work.
    """
    # Their actors end before their records: what a terminal tells them from now on is told to nobody.
    for kind in ("work-item:", "run:"):
        found = [each.name for each in system.list(project=project_id) if each.name.startswith(kind)]
        stopping = [system.stop(name) for name in found]
        wait(stopping, num_returns=len(stopping), timeout=_STOP_SECONDS)
    sessions = services.write(lambda db: project_delete.delete(db, project_id, now))
    services.leave_project(sessions)
    services.changed(project_id)
