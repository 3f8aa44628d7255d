"""A work item: what is to be done, in which stage it is, and what its latest run is doing."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.values import Record, check_text
from whisk.work.attachment import Attachment, MetadataValue
from whisk.work.person import check_actor
from whisk.work.workflow import ProjectWorkflow, find_stage

TITLE_LIMIT = 512
BODY_LIMIT = 65_536

RunState = Literal["idle", "queued", "running", "awaiting_input", "completed", "failed", "cancelled", "lost"]

HistoryType = Literal[
    "created", "updated", "stage_moved", "attachment_added", "worktree_bound", "deleted", "run_event_appended"
]


class HistoryEvent(Record, frozen=True):
    """One step in an item's life. The id counts the steps, so it needs no source of chance."""

    id: str
    type: HistoryType
    at: Instant
    actor: str | None = None
    message: str | None = None
    stage_id: str | None = None
    attachment_id: str | None = None
    branch: str | None = None
    worktree_path: str | None = None


class WorktreeBinding(Record, frozen=True):
    branch: str
    base: str
    worktree_path: str
    created_at: Instant


class WorkItem(Record, frozen=True):
    """`run_state` follows the latest event of any of the item's runs; it is written by the runs, not by the item."""

    id: str
    project_id: str
    workflow_id: str
    workflow_version: int
    number: int
    title: str
    body_markdown: str
    stage_id: str
    run_state: RunState
    attachments: tuple[Attachment, ...]
    history: tuple[HistoryEvent, ...]
    created_at: Instant
    updated_at: Instant
    previous_stage_id: str | None = None
    worktree: WorktreeBinding | None = None
    metadata: dict[str, MetadataValue] = {}


class CreateWorkItem(Record, frozen=True):
    """The stage defaults to the workflow's first."""

    wire_name: ClassVar[str] = "CreateWorkItemRequest"

    project_id: str
    title: str
    workflow_id: str = ""
    body_markdown: str = ""
    stage_id: str = ""
    actor: str | None = None


def new_item(
    request: CreateWorkItem, workflow: ProjectWorkflow, *, item_id: str, number: int, now: Instant
) -> WorkItem:
    """Pinned to the workflow that the project has now. Raises `InvalidError`, or `TooLargeError` for a long text."""
    title = check_text(request.title.strip(), "work item title", limit=TITLE_LIMIT, empty=False)
    stage = find_stage(workflow, request.stage_id) if request.stage_id else workflow.stages[0]
    if stage.provision_worktree:
        raise InvalidError(f"stage {stage.id} requires worktree", field="stageId")
    if request.workflow_id not in ("", workflow.id):
        raise InvalidError(f"workflow {request.workflow_id} is not the project's", field="workflowId")
    created = HistoryEvent(
        id=f"{item_id}.1", type="created", at=now, actor=check_actor(request.actor), stage_id=stage.id
    )
    return WorkItem(
        id=item_id,
        project_id=request.project_id,
        workflow_id=workflow.definition_id or workflow.id,
        workflow_version=workflow.definition_version,
        number=number,
        title=title,
        body_markdown=check_text(request.body_markdown, "body", limit=BODY_LIMIT),
        stage_id=stage.id,
        run_state="idle",
        attachments=(),
        history=(created,),
        created_at=now,
        updated_at=now,
    )


def with_run_state(item: WorkItem, state: RunState) -> WorkItem:
    return msgspec.structs.replace(item, run_state=state)
