"""A project: a root directory, a workflow, and the numbers of its work items."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.values import Record, check_text
from whisk.work.attachment import Attachment, MetadataValue
from whisk.work.item import WorkItem
from whisk.work.run import Run, check_preset
from whisk.work.session import Session, check_directory
from whisk.work.workflow import TEMPLATE_ID, ProjectWorkflow, builtin_workflow

NAME_LIMIT = 512
TEXT_LIMIT = 65_536
AutoRun = Literal["never", "plan", "all"]


class GateConfig(Record, frozen=True):
    id: str
    name: str
    kind: str
    blocking: bool
    command: str | None = None
    skill: str | None = None
    phase: str | None = None


class ProjectPreferences(Record, frozen=True):
    """`default_phase_agents` maps a run's preset to the agent profile that it gets.

    `use_interactive_agent_shell`: agents of runs are started by the person's login shell, so that they find what its
    start files set. `complete_runs_on_stop`: an agent's Stop hook completes its run.
    """

    auto_run: AutoRun
    auto_worktree: bool
    use_interactive_agent_shell: bool | None = None
    complete_runs_on_stop: bool | None = None
    default_phase_agents: dict[str, str] = {}
    gates: tuple[GateConfig, ...] = ()


class Project(Record, frozen=True):
    id: str
    name: str
    slug: str
    root_dir: str
    workflow: ProjectWorkflow
    preferences: ProjectPreferences
    attachments: tuple[Attachment, ...]
    next_work_item_number: int
    created_at: Instant
    updated_at: Instant
    description: str | None = None
    metadata: dict[str, MetadataValue] = {}


class CreateProject(Record, frozen=True):
    """`workflow_id` names a workflow template; there is one, `default`."""

    wire_name: ClassVar[str] = "CreateProjectRequest"

    root_dir: str
    name: str = ""
    description: str = ""
    slug: str = ""
    workflow_id: str = ""
    preferences: ProjectPreferences | None = None


class ProjectDetail(Record, frozen=True):
    project: Project
    work_items: tuple[WorkItem, ...]
    sessions: tuple[Session, ...]
    runs: tuple[Run, ...]


def new_project(request: CreateProject, *, project_id: str, now: Instant) -> Project:
    """Raises `InvalidError` for a root that is not absolute, a name without letters or digits, unusable text."""
    root = check_directory(request.root_dir, "rootDir")
    name = check_text(request.name.strip() or posixpath.basename(root), "project name", limit=NAME_LIMIT, empty=False)
    if request.workflow_id not in ("", TEMPLATE_ID):
        raise InvalidError(f"workflow template {request.workflow_id} not found", field="workflowId")
    return Project(
        id=project_id,
        name=name,
        slug=slugify(check_text(request.slug, "slug", limit=NAME_LIMIT) or name) or "project",
        root_dir=root,
        workflow=builtin_workflow(),
        preferences=request.preferences or ProjectPreferences(auto_run="never", auto_worktree=False),
        attachments=(),
        next_work_item_number=1,
        created_at=now,
        updated_at=now,
        description=check_text(request.description, "description", limit=TEXT_LIMIT) or None,
    )


def check_agents(given: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """The agent profiles by preset, as they are stored; blank ones are kept. `known` are the ids of the profiles.

    Raises `InvalidError` for an unknown preset or profile.
    """
    agents: dict[str, str] = {check_preset(preset): agent.strip() for preset, agent in given.items()}
    for agent in filter(None, agents.values()):
        if agent not in known:
            raise InvalidError(f'unknown agent profile "{agent}"', field="defaultPhaseAgents", known=sorted(known))
    return agents


def take_number(project: Project, now: Instant) -> tuple[Project, int]:
    """The project with its next number used, and that number."""
    number = project.next_work_item_number
    return msgspec.structs.replace(project, next_work_item_number=number + 1, updated_at=now), number


def slugify(text: str) -> str:
    """`My App_v2.1` → `my-app-v2-1`: for branch names and folders."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9-]", "", re.sub(r"[\s._]", "-", text.lower()))).strip("-")
