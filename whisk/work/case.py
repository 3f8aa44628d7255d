"""A case: everything that a step of a work item may look at or change, as it is at one moment.

Steps are pure functions from case to case. Whoever stores the outcome compares it with the case before: what is new
is inserted, what is another object is updated, and `events` are those of the step itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError, NotFoundError
from whisk.values import Record
from whisk.work.artifact import Artifact
from whisk.work.definition import PREVIOUS_STAGE, ActionDefinition, ArtifactRequirement, Definition
from whisk.work.gate import GateReport
from whisk.work.item import HistoryEvent, WorkItem
from whisk.work.person import check_actor
from whisk.work.project import Project
from whisk.work.question import Question
from whisk.work.run import Run
from whisk.work.workflow_event import EventType, WorkflowEvent, new_event

PHASE = "whisk.workflow/phase"
WORKING_DIR = "whisk.workflow/working_dir"
AUTO_PROVISION = "whisk.workflow/auto_provision_worktree"
DISMISSED = "whisk.workflow/dismissed"
_PHASES = {"plan": "planning", "implement": "execution", "review": "review"}

K = TypeVar("K", bound=Artifact | GateReport | Run | Question)


class Stamp(NamedTuple):
    """When a step happens, and where it gets new ids from (`new_id("run")`)."""

    now: Instant
    new_id: Callable[[str], str]


class Case(Record, frozen=True):
    """`artifacts`, `gates` and `runs` are all of the item's, oldest first; `questions` only the open ones."""

    project: Project
    item: WorkItem
    definition: Definition
    artifacts: tuple[Artifact, ...] = ()
    gates: tuple[GateReport, ...] = ()
    runs: tuple[Run, ...] = ()
    questions: tuple[Question, ...] = ()
    events: tuple[WorkflowEvent, ...] = ()


def phase_of(run: Run) -> str:
    """What a run is for: what its action says, else what its prompt template is usually for; `""` for neither."""
    said = run.metadata.get(PHASE)
    return said.text or "" if said is not None else _PHASES.get(run.prompt_template_id, "")


def is_dismissed(run: Run) -> bool:
    """Whether the session that was made for the run is to be closed: a decision has left its agent nothing to do."""
    said = run.metadata.get(DISMISSED)
    return said is not None and said.flag is True


def find_run(case: Case, run_id: str) -> Run:
    """Raises `InvalidError` for a run that is not the item's."""
    for run in case.runs:
        if run.id == run_id:
            return run
    raise InvalidError(f"work item run {run_id} does not belong to work item {case.item.id}", field="runId")


def find_artifact(case: Case, artifact_id: str) -> Artifact:
    for artifact in case.artifacts:
        if artifact.id == artifact_id:
            return artifact
    raise NotFoundError(f"work item {case.item.id} has no artifact {artifact_id}", id=artifact_id)


def execution_run(case: Case) -> Run | None:
    """The newest run that executes: the one that an action means which names none."""
    return next((run for run in reversed(case.runs) if phase_of(run) == "execution" or run.preset == "writer"), None)


def newest_artifact(case: Case, wanted: ArtifactRequirement) -> Artifact | None:
    fitting = (each for each in reversed(case.artifacts) if (each.kind, each.status) == (wanted.kind, wanted.status))
    return next(fitting, None)


def open_gates(case: Case) -> tuple[GateReport, ...]:
    """The blocking gates that keep the item from being done.

    Of the gates that the workflow makes under one name the newest counts: each round of work is judged anew. One that
    mail has asked for is a matter of its own, and counts until it is passed.
    """
    newest = {gate.name: gate.id for gate in case.gates if gate.phase}
    counting = (gate for gate in case.gates if not gate.phase or newest[gate.name] == gate.id)
    return tuple(gate for gate in counting if gate.blocking and gate.status not in ("passed", "overridden"))


def target_of(case: Case, action: ActionDefinition) -> str | None:
    """The stage that an action leads to; None for "back" when there is no way back."""
    return case.item.previous_stage_id if action.to == PREVIOUS_STAGE else action.to


def put(known: tuple[K, ...], record: K) -> tuple[K, ...]:
    """With `record` in the place of the one of its id, or at the end."""
    if any(each.id == record.id for each in known):
        return tuple(record if each.id == record.id else each for each in known)
    return (*known, record)


def report(
    case: Case, kind: EventType, stamp: Stamp, *, actor: str | None, run_id: str | None = None, message: str = ""
) -> Case:
    """With one more event of this step."""
    event = new_event(
        kind,
        event_id=stamp.new_id("wev"),
        project_id=case.project.id,
        work_item_id=case.item.id,
        # Lists are ordered by time; what one step reports keeps its order in them.
        now=Instant(int(stamp.now) + len(case.events)),
        run_id=run_id,
        actor=actor,
        message=message,
    )
    return msgspec.structs.replace(case, events=(*case.events, event))


def move(case: Case, action: ActionDefinition, actor: str | None, message: str, now: Instant) -> Case:
    """The item in the stage that `action` leads to, with its move in its history; a side stage remembers the way."""
    item, target = case.item, target_of(case, action)
    assert target is not None, "an action that leads nowhere is not available"
    previous = item.stage_id if action.side_stage else None
    if target == item.stage_id:
        return case
    moved = HistoryEvent(
        id=f"{item.id}.{len(item.history) + 1}",
        type="stage_moved",
        at=now,
        actor=check_actor(actor),
        message=message or None,
        stage_id=target,
    )
    changed = msgspec.structs.replace(
        item, stage_id=target, previous_stage_id=previous, history=(*item.history, moved), updated_at=now
    )
    return msgspec.structs.replace(case, item=changed)
