"""A project: it numbers its work items, and keeps those alive that have something alive."""

from __future__ import annotations

from typing import Any

from peewee import Database

from whisk.actors.actor import Actor
from whisk.actors.handle import Handle, Method
from whisk.actors.work_item import IDLE_SECONDS, WorkItemActor, WorkItemHandle
from whisk.actors.work_services import WorkServices
from whisk.ids import new_id
from whisk.storage import item as item_storage
from whisk.storage import run as run_storage
from whisk.storage.project import PROJECTS
from whisk.work.item import CreateWorkItem, WorkItem, new_item
from whisk.work.project import Project, take_number


class ProjectActor(Actor):
    """Named `project:<id>`. The project must be in storage before the actor starts."""

    def __init__(self, project_id: str, services: WorkServices) -> None:
        super().__init__()
        self._id = project_id
        self._services = services

    def on_start(self) -> None:
        self._project, living = self._services.store.read(lambda db: _load(db, self._id))
        for item_id in living:
            self.item(item_id)

    def describe(self) -> dict[str, Any]:
        return {"slug": self._project.slug, "workItems": self._project.next_work_item_number - 1}

    def show(self) -> Project:
        return self._project

    def item(self, item_id: str) -> WorkItemHandle:
        """The handle of one of this project's items, whose actor is started when there is none. It must be stored."""
        return self.system.spawn(
            WorkItemActor,
            item_id,
            self._services,
            name=f"work-item:{item_id}",
            parent=self.name,
            labels={"project": self._id},
            restart="permanent",
            idle_after=IDLE_SECONDS,
            get_if_exists=True,
            handle=WorkItemHandle,
        )

    def create_item(self, request: CreateWorkItem) -> WorkItem:
        """Store a new item with the project's next number; the number is used up with it or not at all."""
        now = self.clock.now()
        project, number = take_number(self._project, now)
        item = new_item(request, project.workflow, item_id=new_id("item"), number=number, now=now)

        def change(db: Database) -> None:
            PROJECTS.update(db, project)
            item_storage.insert(db, item)

        self._services.write(change)
        self._project = project
        self._services.changed(item.id)
        return item


class ProjectHandle(Handle):
    show: Method[[], Project]
    item: Method[[str], WorkItemHandle]
    create_item: Method[[CreateWorkItem], WorkItem]


def _load(db: Database, project_id: str) -> tuple[Project, list[str]]:
    return PROJECTS.get(db, project_id), run_storage.items_with_living_runs(db, project_id)
