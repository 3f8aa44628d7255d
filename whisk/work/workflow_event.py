"""What has happened to a work item on its way, one line each, written together with what it reports."""

from __future__ import annotations

from typing import ClassVar, Literal

from whisk.clock import Instant
from whisk.values import Record, check_text
from whisk.work.definition import PREVIOUS_STAGE, ActionDefinition
from whisk.work.person import check_actor
from whisk.work.run import MESSAGE_LIMIT, Run, RunStatus

EventType = Literal[
    "planning_started", "draft_plan_submitted", "plan_approved", "execution_started", "question_asked",
    "question_answered", "blocked", "unblocked", "execution_completed", "review_feedback_added", "gate_completed",
    "run_failed", "run_cancelled", "run_lost", "done_approved", "action_taken",
]  # fmt: skip

_PURPOSES = {"plan": "planning", "implement": "execution"}


class WorkflowEvent(Record, frozen=True):
    wire_name: ClassVar[str] = "WorkflowEvent"

    id: str
    project_id: str
    type: EventType
    at: Instant
    work_item_id: str | None = None
    run_id: str | None = None
    actor: str | None = None
    message: str | None = None


def new_event(
    kind: EventType,
    *,
    event_id: str,
    project_id: str,
    work_item_id: str,
    now: Instant,
    run_id: str | None = None,
    actor: str | None = None,
    message: str = "",
) -> WorkflowEvent:
    return WorkflowEvent(
        id=event_id,
        project_id=project_id,
        type=kind,
        at=now,
        work_item_id=work_item_id,
        run_id=run_id,
        actor=check_actor(actor),
        message=check_text(message, "message", limit=MESSAGE_LIMIT) or None,
    )


def event_of(action: ActionDefinition) -> EventType:
    """The event that taking `action` is, going by what it does: people may give their actions other names."""
    made, changed, run = action.creates_artifact, action.updates_artifact, action.creates_run
    if action.side_stage:
        return "blocked"
    if action.to == PREVIOUS_STAGE:
        return "unblocked"
    if made is not None and made.kind == "feedback":
        return "review_feedback_added"
    if made is not None and made.kind == "plan" and made.status == "draft":
        return "draft_plan_submitted"
    if changed is not None and changed.kind == "plan" and changed.status == "approved":
        return "plan_approved"
    if run is not None and "planning" in (run.phase, _PURPOSES.get(run.prompt_template_id)):
        return "planning_started"
    if run is not None and "execution" in (run.phase, _PURPOSES.get(run.prompt_template_id)):
        return "execution_started"
    if action.completes_run:
        return "execution_completed"
    return "done_approved" if action.requires_passing_blocking_gates else "action_taken"


def event_of_run(before: Run, after: Run) -> EventType | None:
    """The event that the end of a run is, when it ended otherwise than well."""
    return _ENDS.get(after.status) if after.ended and not before.ended else None


_ENDS: dict[RunStatus, EventType] = {"failed": "run_failed", "cancelled": "run_cancelled", "lost": "run_lost"}
