"""A project: it is changed here, numbers its work items, and keeps those alive that have something alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peewee import Database

from whisk.actors.actor import Actor
from whisk.actors.handle import Handle, Method
from whisk.actors.project_end import end_project
from whisk.actors.work_item import IDLE_SECONDS, WorkItemActor, WorkItemHandle
from whisk.actors.work_services import WorkServices
from whisk.errors import NotFoundError
from whisk.ids import new_id
from whisk.storage import definition as definition_storage
from whisk.storage import item as item_storage
from whisk.storage import item_link as link_storage
from whisk.storage import run as run_storage
from whisk.storage.project import PROJECTS
from whisk.work.item import CreateWorkItem, WorkItem, new_item
from whisk.work.item_link import AddItemLink, ItemLink
from whisk.work.project import Project, take_number
from whisk.work.project_change import (
    AttachToProject,
    DeleteProject,
    SetDefinition,
    UpdateAttachment,
    UpdateProject,
    attach,
    delete_attachment,
    set_workflow,
    update_attachment,
    update_project,
)


class ProjectActor(Actor):
    """Named `project:<id>`. The project must be in storage before the actor starts."""

    def __init__(self, project_id: str, services: WorkServices) -> None:
        super().__init__()
        self._id = project_id
        self._services = services

    def on_start(self) -> None:
        try:
            self._project, living = self._services.store.read(lambda db: _load(db, self._id))
        except NotFoundError:
            # Asked for while it was being deleted.
            self.end()
            return
        for item_id in living:
            self.item(item_id)

    def describe(self) -> dict[str, Any]:
        return {"slug": self._project.slug, "workItems": self._project.next_work_item_number - 1}

    def show(self) -> Project:
        return self._project

    def update(self, request: UpdateProject) -> Project:
        agents = {profile.id for profile in self._services.profiles()}
        return self._change(lambda project: update_project(project, request, agents, self.clock.now()))

    def set_definition(self, request: SetDefinition) -> Project:
        """New work items get this workflow definition. Raises `NotFoundError` for one that is not there."""
        record = self._services.store.read(lambda db: definition_storage.get_record(db, request.id, request.version))
        # Looked up again where it is written: a definition that nobody uses may be deleted meanwhile.
        return self._change(
            lambda project: set_workflow(project, record, self.clock.now()),
            lambda db: definition_storage.get_record(db, request.id, request.version),
        )

    def attach(self, request: AttachToProject) -> Project:
        id = new_id("att")
        return self._change(lambda project: attach(project, request, attachment_id=id, now=self.clock.now()))

    def update_attachment(self, attachment_id: str, request: UpdateAttachment) -> Project:
        return self._change(lambda project: update_attachment(project, attachment_id, request, self.clock.now()))

    def delete_attachment(self, attachment_id: str) -> Project:
        return self._change(lambda project: delete_attachment(project, attachment_id, self.clock.now()))

    def delete(self, request: DeleteProject) -> Project:
        """Forget the project and all that is about it; returns it as it was last. What is queued after it is refused.

        Sessions and terminals stay.
        """
        self.log.info("project deleted", project=self._id, root=self._project.root_dir, by=request.actor)
        end_project(self.system, self._services, self._project, request, self.clock.now())
        self.end()
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

    def add_link(self, request: AddItemLink) -> ItemLink:
        """Link two of this project's items. Raises refusals: of different projects, a link there is, a circle."""
        link_id, now = new_id("link"), self.clock.now()
        link = self._services.write(lambda db: link_storage.add(db, self._id, request, link_id, now))
        self._services.changed(link.id)
        return link

    def delete_link(self, link_id: str) -> ItemLink:
        link = self._services.write(lambda db: link_storage.delete(db, link_id))
        self._services.changed(link_id)
        return link

    def _change(
        self, change: Callable[[Project], Project], check: Callable[[Database], object] = lambda db: None
    ) -> Project:
        """Store the changed project, show and announce it; a change that returns the same record stores nothing."""
        changed = change(self._project)
        if changed is not self._project:

            def write(db: Database) -> None:
                check(db)
                PROJECTS.update(db, changed)

            self._services.write(write)
            self._project = changed
            self._services.changed(self._id)
        return changed


class ProjectHandle(Handle):
    show: Method[[], Project]
    update: Method[[UpdateProject], Project]
    set_definition: Method[[SetDefinition], Project]
    attach: Method[[AttachToProject], Project]
    update_attachment: Method[[str, UpdateAttachment], Project]
    delete_attachment: Method[[str], Project]
    delete: Method[[DeleteProject], Project]
    item: Method[[str], WorkItemHandle]
    create_item: Method[[CreateWorkItem], WorkItem]
    add_link: Method[[AddItemLink], ItemLink]
    delete_link: Method[[str], ItemLink]


def _load(db: Database, project_id: str) -> tuple[Project, list[str]]:
    return PROJECTS.get(db, project_id), run_storage.items_with_living_runs(db, project_id)
