"""Taking an action: all that it does to a work item, in one pure step from case to case, or a refusal and nothing.

The order of a step is always the same: what keeps it from being taken, its artifact, its run, its gates, the stage, the
event that tells of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from whisk.clock import Instant
from whisk.errors import RefusedError
from whisk.values import Record, check_text
from whisk.work import run as runs
from whisk.work.artifact import Artifact, decide, new_artifact
from whisk.work.attachment import MetadataValue
from whisk.work.availability import action_to, check_action, find_action
from whisk.work.case import (
    AUTO_PROVISION,
    DISMISSED,
    PHASE,
    WORKING_DIR,
    Case,
    Stamp,
    execution_run,
    find_artifact,
    find_run,
    is_dismissed,
    move,
    newest_artifact,
    phase_of,
    put,
    report,
)
from whisk.work.definition import ActionDefinition, ArtifactRequirement, RunEffect
from whisk.work.gate import new_workflow_gate
from whisk.work.person import check_actor, is_person
from whisk.work.prompt_template import find_template, render, with_feedback
from whisk.work.run import MESSAGE_LIMIT, Run, StartRun, check_preset, new_run
from whisk.work.workflow_event import event_of

_DRAFT = ArtifactRequirement(kind="plan", status="draft")
_APPROVED = ArtifactRequirement(kind="plan", status="approved")


class Press(Record, frozen=True):
    """Somebody presses a button: which action, in whose name, and what the action works with.

    `run_id` and `artifact_id` choose among the item's; `body` and `title` are those of an artifact that is made; the
    last four are for a run that is made.
    """

    action: str
    actor: str | None = None
    reason: str = ""
    run_id: str = ""
    artifact_id: str = ""
    title: str = ""
    body: str = ""
    session_id: str = ""
    pty_id: str = ""
    agent_profile_id: str = ""
    system_prompt: str = ""


class Taken(NamedTuple):
    """The case after the action, the action, and the run and the artifact that it was about."""

    case: Case
    run: Run | None = None
    artifact: Artifact | None = None
    action: ActionDefinition | None = None


def press(case: Case, wanted: Press, stamp: Stamp) -> Taken:
    """Take an action. Raises refusals: see `check_action`, and `NotFoundError` for an action that does not exist."""
    return take(case, find_action(case, wanted.action), wanted, stamp)


def move_to(case: Case, stage_id: str, actor: str | None, stamp: Stamp) -> Taken:
    """Take the one action that leads from the item's stage to `stage_id`, with everything that it does.

    Raises `RefusedError` when there is not exactly one, and when it needs a choice or a text that a move has not.
    """
    action = action_to(case, stage_id)
    check_action(case, action, actor)
    if action.updates_artifact is not None:
        raise RefusedError(
            f"{action.id} needs an artifact to be chosen: {_hint(action)}", action=action.id, workItem=case.item.id
        )
    return take(case, action, Press(action=action.id, actor=actor), stamp)


def take(case: Case, action: ActionDefinition, wanted: Press, stamp: Stamp) -> Taken:
    check_action(case, action, wanted.actor)
    check_actor(wanted.actor)
    reason = check_text(wanted.reason.strip(), "reason", limit=MESSAGE_LIMIT)
    if action.creates_artifact is not None and not wanted.body:
        wanted, reason = msgspec.structs.replace(wanted, body=wanted.reason), ""
    taken = _artifact(case, action, wanted, stamp)
    taken = _run(taken, action, wanted, stamp)
    after = _gates(taken.case, action, wanted, taken.run, stamp)
    after = _dismiss(after, action, wanted.actor, stamp)
    after = move(after, action, wanted.actor, reason, stamp.now)
    if _already_there(case, after):
        return Taken(case, taken.run, taken.artifact, action)
    run_id = taken.run.id if taken.run is not None else wanted.run_id or None
    kind = event_of(action)
    message = reason or (action.id if kind == "action_taken" else "")
    after = report(after, kind, stamp, actor=wanted.actor, run_id=run_id, message=message)
    return Taken(after, taken.run, taken.artifact, action)


def _already_there(before: Case, after: Case) -> bool:
    """The same plan handed in twice changes nothing; it is one event."""
    return all(getattr(before, name) == getattr(after, name) for name in ("item", "artifacts", "gates", "runs"))


def _artifact(case: Case, action: ActionDefinition, wanted: Press, stamp: Stamp) -> Taken:
    if action.updates_artifact is not None:
        if not wanted.artifact_id:
            raise RefusedError(f"{action.id} needs an artifact to be chosen: {_hint(action)}", action=action.id)
        chosen = find_artifact(case, wanted.artifact_id)
        if chosen.kind != action.updates_artifact.kind:
            raise RefusedError(f"artifact {chosen.id} is a {chosen.kind}, not a {action.updates_artifact.kind}")
        decided = decide(chosen, action.updates_artifact.status, wanted.actor, stamp.now)
        return Taken(msgspec.structs.replace(case, artifacts=put(case.artifacts, decided)), None, decided)
    if action.creates_artifact is None:
        return Taken(case)
    if not wanted.body.strip():
        raise RefusedError(f"{action.id} needs a text: {_hint(action)}", action=action.id, workItem=case.item.id)
    usual = execution_run(case) if action.resumes_run else None
    run = find_run(case, wanted.run_id) if wanted.run_id else usual
    made = new_artifact(
        action.creates_artifact,
        artifact_id=stamp.new_id("art"),
        project_id=case.project.id,
        work_item_id=case.item.id,
        run_id=run.id if run is not None else None,
        title=wanted.title,
        body=wanted.body,
        actor=wanted.actor,
        now=stamp.now,
    )
    last = newest_artifact(case, _DRAFT)
    if (made.kind, made.status) == ("plan", "draft") and last is not None and last.body == made.body:
        return Taken(case, None, last)
    return Taken(msgspec.structs.replace(case, artifacts=(*case.artifacts, made)), None, made)


def _run(taken: Taken, action: ActionDefinition, wanted: Press, stamp: Stamp) -> Taken:
    """The run that the action makes, resumes, or has done with."""
    case, artifact = taken.case, taken.artifact
    change: Callable[[Run], Run]
    if action.creates_run is not None:
        made = _new_run(case, action.creates_run, wanted, stamp)
        return Taken(msgspec.structs.replace(case, runs=(*case.runs, made)), made, artifact)
    if action.resumes_run:
        run = find_run(case, wanted.run_id) if wanted.run_id else execution_run(case)
        assert run is not None, "an action that resumes is available only when there is a run"
        text = artifact.body or "" if artifact is not None else wanted.reason
        prompt = with_feedback(run.prompt_snapshot, text)
        change = lambda run: runs.reopen(run, wanted.actor, prompt, stamp.now)  # noqa: E731 (one of three)
    elif action.completes_run:
        run = find_run(case, wanted.run_id) if wanted.run_id else execution_run(case)
        if run is None:
            raise RefusedError("execution run required", action=action.id, workItem=case.item.id)
        change = lambda run: _complete(run, wanted.actor, wanted.reason, stamp)  # noqa: E731
    elif artifact is not None:
        # Handing in or deciding about a text is the end of the run that it comes from.
        source = artifact.run_id or wanted.run_id
        run = find_run(case, source) if source else None
        change = lambda run: _complete(run, wanted.actor, f"{artifact.kind} {artifact.id}", stamp)  # noqa: E731
    else:
        return taken
    if run is None:
        return taken
    changed = change(run)
    return Taken(msgspec.structs.replace(case, runs=put(case.runs, changed)), changed, artifact)


def _complete(run: Run, actor: str | None, message: str, stamp: Stamp) -> Run:
    """Done, unless it has ended before. How it ended stays as it was; a program may build on success only."""
    if not run.ended:
        return runs.complete(run, actor, message, stamp.now)
    if run.status != "completed" and not is_person(actor):
        raise RefusedError(f"work item run {run.id} is already {run.status}", run=run.id, status=run.status)
    return run


def _new_run(case: Case, effect: RunEffect, wanted: Press, stamp: Stamp) -> Run:
    template = find_template(effect.prompt_template_id)
    plan = newest_artifact(case, _APPROVED)
    run = new_run(
        StartRun(
            work_item_id=case.item.id,
            session_id=wanted.session_id,
            pty_id=wanted.pty_id,
            agent_profile_id=wanted.agent_profile_id,
            system_prompt=wanted.system_prompt,
            actor=wanted.actor,
        ),
        run_id=stamp.new_id("run"),
        project_id=case.project.id,
        preset=check_preset(effect.preset),
        template_id=template.id,
        prompt=render(template, case.project, case.item, plan=plan.body or "" if plan is not None else ""),
        now=stamp.now,
    )
    facts = {
        PHASE: MetadataValue(type="string", text=effect.phase),
        WORKING_DIR: MetadataValue(type="string", text=effect.working_dir),
        AUTO_PROVISION: MetadataValue(type="bool", flag=effect.auto_provision_worktree),
    }
    return msgspec.structs.replace(run, metadata=facts)


def _gates(case: Case, action: ActionDefinition, wanted: Press, run: Run | None, stamp: Stamp) -> Case:
    """Each gate of the action, pending. One that still waits for its decision is not opened twice."""
    gates = case.gates
    for gate_id in action.creates_gates:
        if any(gate.name == gate_id and gate.phase and gate.status == "pending" for gate in gates):
            continue
        definition = next(each for each in case.definition.gates if each.id == gate_id)
        gate = new_workflow_gate(
            definition,
            gate_id=stamp.new_id("gate"),
            project_id=case.project.id,
            work_item_id=case.item.id,
            run_id=run.id if run is not None else None,
            actor=wanted.actor,
            # In a list, which is ordered by time, they stand in the order of the definition.
            now=Instant(int(stamp.now) + len(gates)),
        )
        gates = (*gates, gate)
    return msgspec.structs.replace(case, gates=gates)


def _dismiss(case: Case, action: ActionDefinition, actor: str | None, stamp: Stamp) -> Case:
    """Have done with the agents that a person's decision leaves nothing to do: planners when the plan is approved, all
    when the work is. Only those in sessions that were made for them; what a person has opened is the person's.

    An agent's own step never does this: the terminal it stands in stays open, so that it sees what became of the step,
    and is there for what people say of its work.
    """
    if not is_person(actor):
        return case
    if action.requires_passing_blocking_gates or action.to == case.definition.stages[-1]:
        done_with = case.runs
    elif action.updates_artifact is not None:
        done_with = tuple(run for run in case.runs if phase_of(run) == "planning")
    else:
        return case
    runs_after = case.runs
    for run in done_with:
        if run.owns_session and run.exit_code is None and not is_dismissed(run):
            ended = run if run.ended else runs.complete(run, actor, action.id, stamp.now)
            marked = {**ended.metadata, DISMISSED: MetadataValue(type="bool", flag=True)}
            runs_after = put(runs_after, msgspec.structs.replace(ended, metadata=marked))
    return msgspec.structs.replace(case, runs=runs_after)


def _hint(action: ActionDefinition) -> str:
    """The command that takes the action with what it needs."""
    named = {
        "submit_draft_plan": "whisk workflow submit-plan -body <text>",
        "approve_plan": "whisk workflow approve-plan -artifact <id>",
        "submit_review_feedback": "whisk workflow feedback -body <text>",
    }
    wants = "-artifact <id>" if action.updates_artifact is not None else "-reason <text>"
    return named.get(action.id, f"whisk workflow run-action {action.id} {wants}")
