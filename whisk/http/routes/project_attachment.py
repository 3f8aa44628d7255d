"""What is attached to a project, and what of it agents are told."""

from __future__ import annotations

from whisk.actors.future import get
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage.project import PROJECTS
from whisk.work.project import Project
from whisk.work.project_change import AttachToProject, DeleteAttachment, UpdateAttachment
from whisk.work.project_context import ProjectContext, read_context


def attach(api: Api, request: Request[AttachToProject, None]) -> Project:
    """A file's path is relative to the project's root; an absolute one has the scope `external`."""
    return get(api.work.project(request.path["project_id"]).attach.remote(request.body))


def update_attachment(api: Api, request: Request[UpdateAttachment, None]) -> Project:
    """Its kind and its scope stay."""
    project = api.work.project(request.body.project_id)
    return get(project.update_attachment.remote(request.path["attachment_id"], request.body))


def delete_attachment(api: Api, request: Request[DeleteAttachment, None]) -> Project:
    project = api.work.project(request.body.project_id)
    return get(project.delete_attachment.remote(request.path["attachment_id"]))


def show_context(api: Api, request: Request[None, None]) -> ProjectContext:
    """Notes are in it whole, files and links by name."""
    return read_context(api.store.read(lambda db: PROJECTS.get(db, request.path["project_id"])))


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/projects/{project_id}/attachments",
        attach,
        "Attach a file, a link, a note or an external thing to a project",
        body=AttachToProject,
        reply=Project,
        status=201,
        operation="addProjectAttachment",
    ),
    Route(
        "POST",
        "/v1/project-attachments/{attachment_id}/update",
        update_attachment,
        "Change an attachment of a project",
        body=UpdateAttachment,
        reply=Project,
        operation="updateProjectAttachment",
    ),
    Route(
        "POST",
        "/v1/project-attachments/{attachment_id}/delete",
        delete_attachment,
        "Take an attachment from a project",
        body=DeleteAttachment,
        reply=Project,
        operation="deleteProjectAttachment",
    ),
    Route(
        "GET",
        "/v1/projects/{project_id}/context",
        show_context,
        "Show what a project adds to an agent's context",
        reply=ProjectContext,
        operation="getProjectContext",
    ),
)
