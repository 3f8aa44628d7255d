"""The way to projects, work items and runs: typed handles to their actors, which are started when first needed.

A project's actor lives as long as the daemon. Those of its work items and runs live while there is something to own: an
open run, a terminal that still runs, somebody who waits for an answer. Everything they know is in storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whisk.actors.definition_book import DefinitionBook
from whisk.actors.future import get
from whisk.actors.project import ProjectActor, ProjectHandle
from whisk.actors.run import RunHandle
from whisk.actors.work_item import WorkItemHandle
from whisk.actors.work_services import WorkServices
from whisk.clock import Clock
from whisk.ids import new_id
from whisk.storage import item as item_storage
from whisk.storage import project as project_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage.gate import GATES
from whisk.work.project import CreateProject, Project, check_agents, new_project

if TYPE_CHECKING:
    from whisk.actors.system import ActorSystem


class Work:
    """Every method blocks the calling greenlet only, and raises `NotFoundError` for an id that nobody has."""

    def __init__(self, system: ActorSystem, services: WorkServices, clock: Clock, parent: str = "supervisor") -> None:
        self._system = system
        self._services = services
        self._clock = clock
        self._parent = parent
        self.definitions = DefinitionBook(services, clock)

    def start(self) -> None:
        """Start the projects there are, and with them what was alive when the last daemon ended."""
        for project in self._services.store.read(project_storage.select):
            self._open(project.id)

    def create_project(self, request: CreateProject) -> Project:
        if request.preferences is not None:
            check_agents(request.preferences.default_phase_agents, [each.id for each in self._services.profiles()])
        project = new_project(request, project_id=new_id("proj"), now=self._clock.now())
        self._services.write(lambda db: project_storage.PROJECTS.insert(db, project))
        self._open(project.id)
        self._services.changed(project.id)
        return project

    def project(self, project_id: str) -> ProjectHandle:
        self._services.store.read(lambda db: project_storage.PROJECTS.get(db, project_id))
        return self._open(project_id)

    def item(self, item_id: str) -> WorkItemHandle:
        found = self._system.find(f"work-item:{item_id}", handle=WorkItemHandle)
        if found is not None:
            return found
        item = self._services.store.read(lambda db: item_storage.get(db, item_id))
        return get(self._open(item.project_id).item.remote(item_id))

    def run(self, run_id: str) -> RunHandle:
        found = self._system.find(f"run:{run_id}", handle=RunHandle)
        if found is not None:
            return found
        run = self._services.store.read(lambda db: run_storage.get(db, run_id))
        return get(self.item(run.work_item_id).run.remote(run_id))

    def item_of_question(self, question_id: str) -> WorkItemHandle:
        question = self._services.store.read(lambda db: question_storage.QUESTIONS.get(db, question_id))
        return self.item(question.work_item_id)

    def item_of_gate(self, gate_id: str) -> WorkItemHandle:
        gate = self._services.store.read(lambda db: GATES.get(db, gate_id))
        return self.item(gate.work_item_id)

    def _open(self, project_id: str) -> ProjectHandle:
        return self._system.spawn(
            ProjectActor,
            project_id,
            self._services,
            name=f"project:{project_id}",
            parent=self._parent,
            labels={"project": project_id},
            restart="permanent",
            get_if_exists=True,
            handle=ProjectHandle,
        )
