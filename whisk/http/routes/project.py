"""Projects."""

from __future__ import annotations

from peewee import Database

from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage import item as item_storage
from whisk.storage import project as project_storage
from whisk.storage import run as run_storage
from whisk.storage import session as session_storage
from whisk.work.project import CreateProject, Project, ProjectDetail


def list_projects(api: Api, _request: Request[None, None]) -> list[Project]:
    return api.store.read(project_storage.select)


def create_project(api: Api, request: Request[CreateProject, None]) -> Project:
    return api.work.create_project(request.body)


def show_project(api: Api, request: Request[None, None]) -> ProjectDetail:
    return api.store.read(lambda db: _detail(db, request.path["project_id"]))


def _detail(db: Database, project_id: str) -> ProjectDetail:
    return ProjectDetail(
        project=project_storage.PROJECTS.get(db, project_id),
        work_items=tuple(item_storage.select(db, project_id)),
        sessions=tuple(session_storage.select(db, project_id)),
        runs=tuple(run_storage.select(db, project_id=project_id)),
    )


ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/projects", list_projects, "List projects", reply=list[Project], operation="listProjects"),
    Route(
        "POST",
        "/v1/projects",
        create_project,
        "Create a project",
        body=CreateProject,
        reply=Project,
        status=201,
        operation="createProject",
    ),
    Route(
        "GET",
        "/v1/projects/{project_id}/detail",
        show_project,
        "Show a project with its work items, sessions and runs",
        reply=ProjectDetail,
        operation="getProjectDetail",
    ),
)
