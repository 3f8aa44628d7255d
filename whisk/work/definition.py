"""A workflow definition: the stages that an item goes through, and the actions that move it.

A definition is data, written by people or built in; `plan-execute-review` is the built-in one. An item is pinned to the
id and version it was created with, so a later version never changes what an item may do.
"""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

import msgspec

from whisk.clock import Instant
from whisk.values import Record

ArtifactKind = Literal["plan", "feedback", "gate_report"]
ArtifactStatus = Literal["draft", "approved"]
WorkingDir = Literal["projectRoot", "worktree"]
DefinitionSource = Literal["builtin", "file", "imported"]

PREVIOUS_STAGE = "$previousStage"
"""As the target of an action: back to the stage from which the item went to a side stage."""
EXISTING_EXECUTION = "existing_execution"
"""As `resumes_run`: the newest run of the item that executes goes on."""


class ArtifactRequirement(Record, frozen=True):
    """The item must have an artifact of this kind in this status."""

    wire_name: ClassVar[str] = "WorkflowArtifactRequirement"

    kind: ArtifactKind
    status: ArtifactStatus


class ArtifactEffect(Record, frozen=True):
    """The artifact that an action creates, or what it makes of the one that is selected."""

    wire_name: ClassVar[str] = "WorkflowArtifactEffect"

    kind: ArtifactKind
    status: ArtifactStatus


class RunEffect(Record, frozen=True):
    """The run that an action creates. `phase` says what it is for (`planning`, `execution`, `review`)."""

    wire_name: ClassVar[str] = "WorkflowRunEffect"

    phase: str
    preset: str
    prompt_template_id: str
    working_dir: WorkingDir
    auto_provision_worktree: bool = False


class ActionDefinition(Record, frozen=True):
    """One move: from which stages, to which, what it needs and what it does on the way.

    `side_stage` remembers the stage that is left, for a later action to `$previousStage`.
    """

    wire_name: ClassVar[str] = "WorkflowActionDefinition"

    id: str
    from_stages: tuple[str, ...] = msgspec.field(name="from")
    to: str
    requires: tuple[ArtifactRequirement, ...] = ()
    creates_artifact: ArtifactEffect | None = None
    updates_artifact: ArtifactEffect | None = None
    creates_run: RunEffect | None = None
    completes_run: bool = False
    creates_gates: tuple[str, ...] = ()
    resumes_run: Literal["", "existing_execution"] = ""
    requires_passing_blocking_gates: bool = False
    requires_human: bool = False
    side_stage: bool = False


class GateDefinition(Record, frozen=True):
    wire_name: ClassVar[str] = "WorkflowGateDefinition"

    id: str
    phase: str
    blocking: bool


class QuestionPolicy(Record, frozen=True):
    """What asking a question of an item does to the run that asks, and whether it sends the item to `blocked`."""

    wire_name: ClassVar[str] = "WorkflowQuestionPolicy"

    enabled: bool
    move_to_blocked: bool
    sets_run_state: Literal["", "awaiting_input", "running"]
    answer_clears_awaiting_input_when_no_open_questions_remain: bool


class Definition(Record, frozen=True):
    wire_name: ClassVar[str] = "WorkflowDefinition"

    id: str
    version: int
    stages: tuple[str, ...]
    actions: tuple[ActionDefinition, ...]
    questions: QuestionPolicy
    gates: tuple[GateDefinition, ...]


class DefinitionRecord(Record, frozen=True):
    """A definition as it is kept. `content_hash` is the SHA-256 of its canonical JSON, in hex."""

    wire_name: ClassVar[str] = "WorkflowDefinitionRecord"

    id: str
    version: int
    source: DefinitionSource
    content_hash: str
    definition: Definition
    created_at: Instant
    updated_at: Instant
    source_path: str | None = None


def identity(id: str, version: int) -> str:
    """`plan-execute-review@1`: how a definition is named in sentences and reports."""
    return f"{id}@{version}"


def content_hash(definition: Definition) -> str:
    """Equal for two texts that mean the same: the order of fields, and a default written out, make no difference."""
    return hashlib.sha256(msgspec.json.encode(definition, order="sorted")).hexdigest()


_PLAN_DRAFT = ArtifactRequirement(kind="plan", status="draft")
_PLAN_APPROVED = ArtifactRequirement(kind="plan", status="approved")

BUILTIN = Definition(
    id="plan-execute-review",
    version=1,
    stages=("backlog", "planning", "ready", "execution", "review", "blocked", "done"),
    actions=(
        ActionDefinition(
            id="start_planning",
            from_stages=("backlog",),
            to="planning",
            creates_run=RunEffect(
                phase="planning", preset="reader", prompt_template_id="plan", working_dir="projectRoot"
            ),
        ),
        ActionDefinition(
            id="submit_draft_plan",
            from_stages=("planning",),
            to="planning",
            creates_artifact=ArtifactEffect(kind="plan", status="draft"),
        ),
        ActionDefinition(
            id="approve_plan",
            from_stages=("planning",),
            to="ready",
            requires=(_PLAN_DRAFT,),
            updates_artifact=ArtifactEffect(kind="plan", status="approved"),
            requires_human=True,
        ),
        ActionDefinition(
            id="start_execution",
            from_stages=("ready",),
            to="execution",
            requires=(_PLAN_APPROVED,),
            creates_run=RunEffect(
                phase="execution",
                preset="writer",
                prompt_template_id="implement",
                working_dir="worktree",
                auto_provision_worktree=True,
            ),
        ),
        ActionDefinition(
            id="complete_execution",
            from_stages=("execution",),
            to="review",
            completes_run=True,
            creates_gates=("review",),
        ),
        ActionDefinition(
            id="submit_review_feedback",
            from_stages=("review",),
            to="execution",
            creates_artifact=ArtifactEffect(kind="feedback", status="approved"),
            resumes_run="existing_execution",
        ),
        ActionDefinition(
            id="approve_done",
            from_stages=("review",),
            to="done",
            requires_passing_blocking_gates=True,
            requires_human=True,
        ),
        ActionDefinition(
            id="report_blocked", from_stages=("planning", "execution", "review"), to="blocked", side_stage=True
        ),
        ActionDefinition(id="unblock", from_stages=("blocked",), to=PREVIOUS_STAGE),
    ),
    questions=QuestionPolicy(
        enabled=True,
        move_to_blocked=False,
        sets_run_state="awaiting_input",
        answer_clears_awaiting_input_when_no_open_questions_remain=True,
    ),
    gates=(GateDefinition(id="review", phase="review", blocking=True),),
)
BUILTIN_RECORD = DefinitionRecord(
    id=BUILTIN.id,
    version=BUILTIN.version,
    source="builtin",
    content_hash=content_hash(BUILTIN),
    definition=BUILTIN,
    created_at=Instant(0),
    updated_at=Instant(0),
)
