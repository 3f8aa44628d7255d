"""The named steps of a work item as the wire has them; each is one press of a button with what it takes.

Ids that stand in the path too may be repeated in the body, where nobody looks at them.
"""

from __future__ import annotations

from typing import ClassVar

from whisk.values import Record


class StartPlanning(Record, frozen=True):
    wire_name: ClassVar[str] = "StartPlanningRequest"

    session_id: str = ""
    pty_id: str = ""
    launch: bool = False
    agent_profile_id: str = ""
    system_prompt: str = ""
    actor: str | None = None
    work_item_id: str = ""


class StartExecution(Record, frozen=True):
    wire_name: ClassVar[str] = "StartExecutionRequest"

    session_id: str = ""
    pty_id: str = ""
    launch: bool = False
    agent_profile_id: str = ""
    system_prompt: str = ""
    worktree_override_path: str = ""
    actor: str | None = None
    work_item_id: str = ""


class QueueExecution(Record, frozen=True):
    wire_name: ClassVar[str] = "QueueExecutionRequest"

    actor: str | None = None
    work_item_id: str = ""


class LaunchExecution(Record, frozen=True):
    wire_name: ClassVar[str] = "LaunchExecutionRequest"

    agent_profile_id: str = ""
    system_prompt: str = ""
    worktree_override_path: str = ""
    actor: str | None = None
    work_item_id: str = ""


class SubmitDraftPlan(Record, frozen=True):
    wire_name: ClassVar[str] = "SubmitDraftPlanRequest"

    body: str
    title: str = ""
    run_id: str = ""
    actor: str | None = None
    work_item_id: str = ""


class ApprovePlan(Record, frozen=True):
    wire_name: ClassVar[str] = "ApprovePlanRequest"

    artifact_id: str
    actor: str | None = None
    work_item_id: str = ""


class CompleteExecution(Record, frozen=True):
    """Without a run it is the item's newest one that executes."""

    wire_name: ClassVar[str] = "CompleteExecutionRequest"

    run_id: str = ""
    message: str = ""
    actor: str | None = None
    work_item_id: str = ""


class SubmitReviewFeedback(Record, frozen=True):
    wire_name: ClassVar[str] = "SubmitReviewFeedbackRequest"

    body: str
    run_id: str = ""
    actor: str | None = None
    work_item_id: str = ""


class ApproveDone(Record, frozen=True):
    wire_name: ClassVar[str] = "ApproveDoneRequest"

    reason: str = ""
    actor: str | None = None
    work_item_id: str = ""


class MoveWorkItem(Record, frozen=True):
    wire_name: ClassVar[str] = "MoveWorkItemRequest"

    stage_id: str
    actor: str | None = None
    id: str = ""


class RunAction(Record, frozen=True):
    """`title` and `body` are for an action that makes an artifact; `reason` is its body where that is absent."""

    wire_name: ClassVar[str] = "RunWorkItemWorkflowActionRequest"

    run_id: str = ""
    artifact_id: str = ""
    reason: str = ""
    title: str = ""
    body: str = ""
    actor: str | None = None
    work_item_id: str = ""
    action_id: str = ""
