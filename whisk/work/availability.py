"""Which actions a work item has now, which of them is the natural next one, and why another is not to be had."""

from __future__ import annotations

from typing import ClassVar, Literal

from whisk.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from whisk.values import Record
from whisk.work.case import Case, execution_run, newest_artifact, open_gates, target_of
from whisk.work.definition import BUILTIN, PREVIOUS_STAGE, ActionDefinition, ArtifactRequirement, identity
from whisk.work.person import need_person
from whisk.work.run import Run
from whisk.work.workflow_event import event_of

InputKind = Literal["none", "run", "artifact", "artifact_selection", "gate"]


class WorkflowActionAvailability(Record, frozen=True):
    """An action that leaves the item's stage. `input_kind` says what it works on besides the item itself."""

    wire_name: ClassVar[str] = "WorkflowActionAvailability"

    action: ActionDefinition
    enabled: bool
    recommended: bool
    input_kind: InputKind
    reason: str | None = None


def list_actions(case: Case) -> list[WorkflowActionAvailability]:
    """The actions from the item's stage, in the order of the definition. At most one of them is recommended."""
    here = [action for action in case.definition.actions if case.item.stage_id in action.from_stages]
    reasons = {action.id: reason_against(case, action) for action in here}
    best = _recommended(case, [action for action in here if not reasons[action.id]])
    return [
        WorkflowActionAvailability(
            action=action,
            enabled=not reasons[action.id],
            recommended=action is best,
            input_kind=input_kind(action),
            reason=reasons[action.id] or None,
        )
        for action in here
    ]


def reason_against(case: Case, action: ActionDefinition) -> str:
    """Why an action cannot be taken from the item's stage; empty when it can."""
    for wanted in action.requires:
        if newest_artifact(case, wanted) is None:
            return _required(wanted)
    if action.requires_passing_blocking_gates and open_gates(case):
        return "blocking gates must pass or be overridden"
    if action.resumes_run and execution_run(case) is None:
        return "execution run required"
    if target_of(case, action) is None:
        return "no stage to go back to"
    return ""


def check_action(case: Case, action: ActionDefinition, actor: str | None) -> None:
    """Raise what keeps `actor` from taking `action` now.

    `RefusedError` for a program where a person is needed, a wrong stage, a missing requirement; `ConflictError` for a
    decision that somebody has taken already.
    """
    if action.requires_human:
        need_person(actor, f"workflow action {action.id}")
    item = case.item
    if item.stage_id not in action.from_stages:
        if action.requires_human and item.stage_id == action.to:
            last = next((event for event in reversed(item.history) if event.type == "stage_moved"), None)
            by = last.actor if last is not None else None
            raise ConflictError(
                f"workflow action {action.id} was taken already" + (f" by {by}" if by else ""),
                workItem=item.id,
                stage=item.stage_id,
                by=by,
            )
        raise RefusedError(
            f"workflow action {action.id} is not available in stage {item.stage_id};"
            f" it leads from {' or '.join(action.from_stages)}",
            workItem=item.id,
            stage=item.stage_id,
            available=[each.id for each in case.definition.actions if item.stage_id in each.from_stages],
        )
    if reason := reason_against(case, action):
        gates = [gate.id for gate in open_gates(case)] if action.requires_passing_blocking_gates else None
        raise RefusedError(reason, workItem=item.id, action=action.id, **({"gates": gates} if gates else {}))


def find_action(case: Case, action_id: str) -> ActionDefinition:
    """The action of that id. Where a workflow has its own names, the built-in ones mean the action that does the same,
    from the item's stage if there are several. Raises `NotFoundError` that names those there are.
    """
    definition = case.definition
    for action in definition.actions:
        if action.id == action_id:
            return action
    meant = next((event_of(action) for action in BUILTIN.actions if action.id == action_id), None)
    same = [action for action in definition.actions if meant is not None and event_of(action) == meant]
    if same:
        return next((action for action in same if case.item.stage_id in action.from_stages), same[0])
    known = [action.id for action in definition.actions]
    name = identity(definition.id, definition.version)
    raise NotFoundError(f"workflow {name} has no action {action_id}", id=action_id, known=known)


def action_to(case: Case, stage_id: str) -> ActionDefinition:
    """The one enabled action from the item's stage to `stage_id`. Raises `RefusedError` for none or several."""
    here = case.item.stage_id
    if stage_id not in case.definition.stages:
        known = list(case.definition.stages)
        raise InvalidError(f"workflow stage {stage_id} not found", field="stageId", known=known)
    ways = [
        action
        for action in case.definition.actions
        if here in action.from_stages and target_of(case, action) == stage_id != here
    ]
    if not ways:
        raise RefusedError(
            f"workflow action from {here} to {stage_id} not found", workItem=case.item.id, stage=here, target=stage_id
        )
    enabled = [action for action in ways if not reason_against(case, action)]
    if len(enabled) > 1:
        names = [action.id for action in enabled]
        raise RefusedError(
            f"ambiguous workflow action from {here} to {stage_id}: {', '.join(names)}; run one of them by its name",
            workItem=case.item.id,
            actions=names,
        )
    return (enabled or ways)[0]


def completion_of(case: Case, run: Run) -> ActionDefinition | None:
    """The one action by which the item moves on when `run` is done. None when the workflow lets no program take it now,
    or when the run is not the item's execution.
    """
    execution = execution_run(case)
    if execution is None or execution.id != run.id:
        return None
    ways = [
        action
        for action in case.definition.actions
        if event_of(action) == "execution_completed"
        and case.item.stage_id in action.from_stages
        and not action.requires_human
        and not reason_against(case, action)
    ]
    return ways[0] if len(ways) == 1 else None


def executing_stages(case: Case) -> set[str]:
    """The stages in which execution goes on: those that the actions lead to which start it."""
    return {action.to for action in case.definition.actions if event_of(action) == "execution_started"}


def input_kind(action: ActionDefinition) -> InputKind:
    if action.updates_artifact is not None:
        return "artifact_selection"
    if action.creates_artifact is not None:
        return "artifact"
    if action.creates_run is not None or action.completes_run:
        return "run"
    return "gate" if action.requires_passing_blocking_gates else "none"


def _required(wanted: ArtifactRequirement) -> str:
    return f"{wanted.kind} draft required" if wanted.status == "draft" else f"approved {wanted.kind} required"


def _recommended(case: Case, enabled: list[ActionDefinition]) -> ActionDefinition | None:
    """Forward before staying, staying before going back to where a side stage was entered.

    Back to an earlier stage is natural only when somebody has judged the work and failed it.
    """
    order = {stage: position for position, stage in enumerate(case.definition.stages)}
    here = order.get(case.item.stage_id, -1)
    failed = any(gate.status == "failed" for gate in open_gates(case))

    def rank(action: ActionDefinition) -> int | None:
        if action.side_stage:
            return None
        if action.to == PREVIOUS_STAGE:
            return 2
        there = order.get(action.to, -1)
        if there == here:
            return 1
        return 0 if there > here else 3 if failed else None

    ranked = [(place, action) for action in enabled if (place := rank(action)) is not None]
    return min(ranked, key=lambda each: each[0])[1] if ranked else None
