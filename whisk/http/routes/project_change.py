"""One project: changed, given a workflow definition, deleted."""

from __future__ import annotations

from peewee import Database

from whisk.actors.future import get
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage import definition as definition_storage
from whisk.storage import item as item_storage
from whisk.storage.project import PROJECTS
from whisk.work.migration_plan import MigrationPlan, PlanMigration, plan_migration
from whisk.work.project import Project
from whisk.work.project_change import DeleteProject, SetDefinition, UpdateProject

# Everybody who works for the project ends first, which may take its time.
_DELETE_SECONDS = 30.0


def update_project(api: Api, request: Request[UpdateProject, None]) -> Project:
    return get(api.work.project(request.path["project_id"]).update.remote(request.body))


def delete_project(api: Api, request: Request[DeleteProject, None]) -> Project:
    """With its work items and all that is about them. Sessions and terminals stay; the project is as it was last."""
    delete = api.work.project(request.path["project_id"]).delete.options(timeout=_DELETE_SECONDS)
    return get(delete.remote(request.body), timeout=_DELETE_SECONDS)


def set_definition(api: Api, request: Request[SetDefinition, None]) -> Project:
    """Work items that there are stay with the definition they were made with."""
    return get(api.work.project(request.path["project_id"]).set_definition.remote(request.body))


def plan(api: Api, request: Request[PlanMigration, None]) -> MigrationPlan:
    """A report on the work items that there are; nothing changes."""
    return api.store.read(lambda db: _plan(db, request.path["project_id"], request.body))


def _plan(db: Database, project_id: str, wanted: PlanMigration) -> MigrationPlan:
    project = PROJECTS.get(db, project_id)
    target = definition_storage.get(db, wanted.id, wanted.version)
    return plan_migration(project, target, item_storage.select(db, project_id))


_ONE = "/v1/projects/{project_id}"

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        f"{_ONE}/update",
        update_project,
        "Change a project's names and preferences",
        body=UpdateProject,
        reply=Project,
        operation="updateProject",
    ),
    Route(
        "POST",
        f"{_ONE}/delete",
        delete_project,
        "Delete a project with its work items",
        body=DeleteProject,
        reply=Project,
        operation="deleteProject",
    ),
    Route(
        "POST",
        f"{_ONE}/workflow-definition",
        set_definition,
        "Choose the workflow definition of a project's new work items",
        body=SetDefinition,
        reply=Project,
        operation="setProjectWorkflowDefinition",
    ),
    Route(
        "POST",
        f"{_ONE}/workflow-migration-plan",
        plan,
        "Compare a project's work items with another workflow definition",
        body=PlanMigration,
        reply=MigrationPlan,
        operation="planProjectWorkflowMigration",
    ),
)
