"""The stages that work goes through, and what each of them usually runs.

Every project has the built-in definition `plan-execute-review`. A stage's kind says what it is for; its preset and
prompt template are what a run in that stage gets when nothing else is asked for.
"""

from __future__ import annotations

from typing import Literal

from whisk.errors import InvalidError
from whisk.values import Record

StageKind = Literal["backlog", "planning", "ready", "active", "execution", "blocked", "review", "done", "archived"]

DEFINITION_ID = "plan-execute-review"
DEFINITION_VERSION = 1
TEMPLATE_ID = "default"


class WorkflowStage(Record, frozen=True):
    """`provision_worktree`: work enters this stage only with a worktree of its own."""

    id: str
    name: str
    kind: StageKind
    default_run_preset: str | None = None
    default_prompt_template_id: str | None = None
    provision_worktree: bool = False
    wip_limit: int | None = None


class TransitionRule(Record, frozen=True):
    from_stage_id: str
    to_stage_id: str
    requires_approval: bool = False
    requires_checks: bool = False
    requires_no_running_runs: bool = False


class ProjectWorkflow(Record, frozen=True):
    id: str
    template_id: str
    name: str
    stages: tuple[WorkflowStage, ...]
    transition_rules: tuple[TransitionRule, ...]
    definition_id: str = ""
    definition_version: int = 0


class QuestionPolicy(Record, frozen=True):
    """What asking a question of a work item does to the run that asks."""

    enabled: bool = True
    sets_run_state: Literal["", "awaiting_input", "running"] = "awaiting_input"
    answer_clears_awaiting_input: bool = True


BUILTIN_STAGES = (
    WorkflowStage(id="backlog", name="Backlog", kind="backlog"),
    WorkflowStage(
        id="planning",
        name="Planning",
        kind="planning",
        default_run_preset="reader",
        default_prompt_template_id="plan",
    ),
    WorkflowStage(id="ready", name="Ready", kind="ready"),
    WorkflowStage(
        id="execution",
        name="Execution",
        kind="execution",
        default_run_preset="writer",
        default_prompt_template_id="implement",
        provision_worktree=True,
    ),
    WorkflowStage(
        id="review",
        name="Review",
        kind="review",
        default_run_preset="reviewer",
        default_prompt_template_id="review",
    ),
    WorkflowStage(id="blocked", name="Blocked", kind="blocked"),
    WorkflowStage(id="done", name="Done", kind="done"),
)
BUILTIN_QUESTIONS = QuestionPolicy()


def builtin_workflow() -> ProjectWorkflow:
    return ProjectWorkflow(
        id=DEFINITION_ID,
        template_id=TEMPLATE_ID,
        name="Plan, execute, review",
        stages=BUILTIN_STAGES,
        transition_rules=(),
        definition_id=DEFINITION_ID,
        definition_version=DEFINITION_VERSION,
    )


def find_stage(workflow: ProjectWorkflow, stage_id: str) -> WorkflowStage:
    """The stage of that id; raises `InvalidError` that names those there are."""
    for stage in workflow.stages:
        if stage.id == stage_id:
            return stage
    known = [stage.id for stage in workflow.stages]
    raise InvalidError(f"workflow stage {stage_id} not found", field="stageId", known=known)
