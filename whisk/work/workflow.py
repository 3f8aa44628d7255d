"""The stages of a project, and what each of them usually runs: a workflow definition as its project shows it.

A stage's kind says what it is for; its preset and prompt template are what a run in that stage gets when nothing else
is asked for.
"""

from __future__ import annotations

from typing import Literal

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.values import Record
from whisk.work.definition import BUILTIN_RECORD, Definition, DefinitionRecord, RunEffect
from whisk.work.stage_graph import side_stages

StageKind = Literal["backlog", "planning", "ready", "active", "execution", "blocked", "review", "done", "archived"]

TEMPLATE_ID = "default"
TEMPLATE_NAME = "Plan, execute, review"


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
    """`definition_id`, `definition_version` and `definition_hash` name the definition that new work items get."""

    id: str
    template_id: str
    name: str
    stages: tuple[WorkflowStage, ...]
    transition_rules: tuple[TransitionRule, ...]
    definition_id: str = ""
    definition_version: int = 0
    definition_hash: str = ""


class WorkflowTemplate(Record, frozen=True):
    """What a new project starts with. There is one, `default`: the built-in definition."""

    id: str
    name: str
    source: Literal["builtin", "file"]
    stages: tuple[WorkflowStage, ...]
    transition_rules: tuple[TransitionRule, ...]
    created_at: Instant
    updated_at: Instant


# Stages of these names are what they are called, in any definition.
_WELL_KNOWN = {
    stage.id: stage
    for stage in (
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
}
_KIND_OF_PHASE: dict[str, StageKind] = {"planning": "planning", "execution": "execution", "review": "review"}


def project_workflow(record: DefinitionRecord) -> ProjectWorkflow:
    """The stages of a definition.

    One whose name the built-in definition has is as it is there. Of the others, the first is the backlog and the last
    is where work is done; side stages are for blocked work; a stage that a run is created for is of that run's phase;
    the rest are active. What a stage usually runs is what the action that leads to it creates.
    """
    definition = record.definition
    aside = side_stages(definition.actions)
    return ProjectWorkflow(
        id=definition.id,
        template_id=TEMPLATE_ID,
        name=TEMPLATE_NAME if record.source == "builtin" else definition.id,
        stages=tuple(_stage(definition, stage, stage in aside) for stage in definition.stages),
        transition_rules=(),
        definition_id=definition.id,
        definition_version=definition.version,
        definition_hash=record.content_hash,
    )


def _stage(definition: Definition, id: str, aside: bool) -> WorkflowStage:
    if id in _WELL_KNOWN:
        return _WELL_KNOWN[id]
    runs = [action.creates_run for action in definition.actions if action.to == id and action.creates_run]
    run = runs[0] if runs else None
    return WorkflowStage(
        id=id,
        name=id.replace("_", " ").replace("-", " ").capitalize(),
        kind=_kind(definition, id, aside, run),
        default_run_preset=run.preset if run else None,
        default_prompt_template_id=run.prompt_template_id if run else None,
        provision_worktree=run is not None and run.auto_provision_worktree,
    )


def _kind(definition: Definition, id: str, aside: bool, run: RunEffect | None) -> StageKind:
    if id == definition.stages[0]:
        return "backlog"
    if id == definition.stages[-1]:
        return "done"
    if aside:
        return "blocked"
    return _KIND_OF_PHASE.get(run.phase, "active") if run is not None else "active"


def builtin_workflow() -> ProjectWorkflow:
    return project_workflow(BUILTIN_RECORD)


DEFAULT_TEMPLATE = WorkflowTemplate(
    id=TEMPLATE_ID,
    name=TEMPLATE_NAME,
    source="builtin",
    stages=builtin_workflow().stages,
    transition_rules=(),
    created_at=Instant(0),
    updated_at=Instant(0),
)


def find_stage(workflow: ProjectWorkflow, stage_id: str) -> WorkflowStage:
    """The stage of that id; raises `InvalidError` that names those there are."""
    for stage in workflow.stages:
        if stage.id == stage_id:
            return stage
    known = [stage.id for stage in workflow.stages]
    raise InvalidError(f"workflow stage {stage_id} not found", field="stageId", known=known)
