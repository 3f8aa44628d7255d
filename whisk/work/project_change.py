"""What is changed about a project: its names, its preferences, its workflow, what is attached to it.

Each change is a pure function from record to record; one that changes nothing returns the very same record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import msgspec

from whisk.clock import Instant
from whisk.errors import NotFoundError, TooLargeError
from whisk.matters.audit import Surface
from whisk.values import Record, check_text
from whisk.work.attachment import Attachment, MetadataValue, new_attachment
from whisk.work.definition import DefinitionRecord
from whisk.work.project import NAME_LIMIT, TEXT_LIMIT, Project, ProjectPreferences, check_agents, slugify
from whisk.work.workflow import project_workflow

# A project is one record, read and written whole; it is not a place to keep files in.
ATTACHMENTS_LIMIT = 100


class UpdateProject(Record, frozen=True):
    """Only what is given changes.

    `default_phase_agents` is merged into what there is; a preset with a blank value is taken out. A blank slug is made
    anew from the name; a blank description is taken away.
    """

    wire_name: ClassVar[str] = "UpdateProjectRequest"

    name: str | None = None
    description: str | None = None
    slug: str | None = None
    use_interactive_agent_shell: bool | None = None
    complete_runs_on_stop: bool | None = None
    default_phase_agents: dict[str, str] | None = None


class DeleteProject(Record, frozen=True):
    wire_name: ClassVar[str] = "DeleteProjectRequest"

    actor: str | None = None
    surface: Surface = ""


class AttachToProject(Record, frozen=True):
    """`project_id` may be left out: the path names the project."""

    wire_name: ClassVar[str] = "AddProjectAttachmentRequest"

    kind: str
    project_id: str = ""
    scope: str = ""
    title: str = ""
    path: str = ""
    url: str = ""
    note: str = ""
    provider: str = ""
    target: str = ""
    include_in_context: bool = False
    meta: dict[str, MetadataValue] | None = None


class UpdateAttachment(Record, frozen=True):
    """Only what is given changes; a blank text is taken away. `meta` takes the place of all that there was."""

    wire_name: ClassVar[str] = "UpdateProjectAttachmentRequest"

    project_id: str
    title: str | None = None
    path: str | None = None
    url: str | None = None
    note: str | None = None
    provider: str | None = None
    target: str | None = None
    include_in_context: bool | None = None
    meta: dict[str, MetadataValue] | None = None


class DeleteAttachment(Record, frozen=True):
    wire_name: ClassVar[str] = "DeleteProjectAttachmentRequest"

    project_id: str


class SetDefinition(Record, frozen=True):
    """Names a definition by its id and version."""

    wire_name: ClassVar[str] = "SetProjectWorkflowDefinitionRequest"

    id: str
    version: int


def update_project(project: Project, request: UpdateProject, known_agents: Collection[str], now: Instant) -> Project:
    """`known_agents` are the ids of the agent profiles that there are. Raises `InvalidError`, `TooLargeError`."""
    changes: dict[str, Any] = {}
    if request.name is not None:
        changes["name"] = check_text(request.name.strip(), "project name", limit=NAME_LIMIT, empty=False)
    if request.description is not None:
        changes["description"] = check_text(request.description, "description", limit=TEXT_LIMIT) or None
    if request.slug is not None:
        text = check_text(request.slug, "slug", limit=NAME_LIMIT)
        changes["slug"] = slugify(text) or slugify(changes.get("name", project.name)) or "project"
    changes["preferences"] = _preferences(project.preferences, request, known_agents)
    return _with(project, changes, now)


def set_workflow(project: Project, record: DefinitionRecord, now: Instant) -> Project:
    """New work items get this definition from now on; those that there are keep theirs."""
    return _with(project, {"workflow": project_workflow(record)}, now)


def attach(project: Project, request: AttachToProject, *, attachment_id: str, now: Instant) -> Project:
    """Raises `InvalidError` or `TooLargeError`."""
    if len(project.attachments) >= ATTACHMENTS_LIMIT:
        raise TooLargeError(f"a project has at most {ATTACHMENTS_LIMIT} attachments", limit=ATTACHMENTS_LIMIT)
    fields = {name: getattr(request, name) for name in request.__struct_fields__ if name != "project_id"}
    # What lies outside of the project is what a file is attached for when nothing else is said of an absolute path.
    if request.kind == "file" and not request.scope and request.path.startswith("/"):
        fields["scope"] = "external"
    made = new_attachment(attachment_id=attachment_id, now=now, **fields)
    return _with(project, {"attachments": (*project.attachments, made)}, now)


def update_attachment(project: Project, attachment_id: str, request: UpdateAttachment, now: Instant) -> Project:
    """Raises `NotFoundError`, or what `new_attachment` raises for what it would become."""
    old = find_attachment(project, attachment_id)
    given = {
        name: value
        for name in request.__struct_fields__
        if name != "project_id" and (value := getattr(request, name)) is not None
    }
    kept = {name: value for name in _TEXTS if (value := getattr(old, name)) is not None}
    fields: Mapping[str, Any] = {
        "kind": old.kind,
        "scope": old.scope,
        "include_in_context": old.include_in_context,
        "meta": old.meta,
        **kept,
        **given,
    }
    new = new_attachment(attachment_id=old.id, now=old.created_at, **fields)
    return _with(project, {"attachments": tuple(new if each is old else each for each in project.attachments)}, now)


def delete_attachment(project: Project, attachment_id: str, now: Instant) -> Project:
    """Raises `NotFoundError`."""
    gone = find_attachment(project, attachment_id)
    return _with(project, {"attachments": tuple(each for each in project.attachments if each is not gone)}, now)


def find_attachment(project: Project, attachment_id: str) -> Attachment:
    for each in project.attachments:
        if each.id == attachment_id:
            return each
    raise NotFoundError(f"attachment {attachment_id} not found in project {project.id}", id=attachment_id)


_TEXTS = ("title", "path", "url", "note", "provider", "target")


def _preferences(old: ProjectPreferences, request: UpdateProject, known_agents: Collection[str]) -> ProjectPreferences:
    changes: dict[str, Any] = {
        name: value
        for name in ("use_interactive_agent_shell", "complete_runs_on_stop")
        if (value := getattr(request, name)) is not None
    }
    if request.default_phase_agents is not None:
        merged = {**old.default_phase_agents, **check_agents(request.default_phase_agents, known_agents)}
        changes["default_phase_agents"] = {preset: agent for preset, agent in merged.items() if agent}
    return msgspec.structs.replace(old, **changes)


def _with(project: Project, changes: Mapping[str, Any], now: Instant) -> Project:
    changed = msgspec.structs.replace(project, **changes)
    return project if changed == project else msgspec.structs.replace(changed, updated_at=now)
