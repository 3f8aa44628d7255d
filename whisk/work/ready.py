"""Which work items can be begun now, and what the others wait for. One pass over items and links, however many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from whisk.values import Record
from whisk.work.definition import DefinitionRecord
from whisk.work.dependency import edges_of, find_cycles
from whisk.work.item import WorkItem
from whisk.work.workflow import ProjectWorkflow, project_workflow

# Where work waits to be begun, and where it has come to its end.
_BEFORE = frozenset({"backlog", "ready"})
_AFTER = frozenset({"done", "archived"})
_AT_WORK = frozenset({"queued", "running", "awaiting_input"})


class ItemState(NamedTuple):
    """As much of an item as it takes to judge it. `kind` is that of its stage."""

    id: str
    number: int
    kind: str
    run_state: str


@dataclass(frozen=True)
class Readiness:
    """Ids of items, each list in the order of the items. `blockers` and `dependents` are of every item that has any."""

    ready: list[str]
    blocked: dict[str, list[str]]
    blockers: dict[str, list[str]]
    dependents: dict[str, list[str]]
    parents: dict[str, str]
    cycles: list[list[str]]


class ReadyBlockerInfo(Record, frozen=True):
    id: str
    number: int | None = None
    title: str | None = None
    stage_id: str | None = None
    run_state: str | None = None


class ReadyWorkItem(Record, frozen=True):
    """`dependency_count` items have to be done before it, `dependent_count` wait for it."""

    work_item: WorkItem
    reason: str
    dependency_count: int
    dependent_count: int
    resolved_blockers: tuple[str, ...] = ()
    parent_work_item_id: str | None = None


class BlockedWorkItem(Record, frozen=True):
    work_item: WorkItem
    blocked_by: tuple[ReadyBlockerInfo, ...]
    blocked_by_count: int


class ReadyWorkSummary(Record, frozen=True):
    total_ready: int
    total_blocked: int
    cycle_count: int


class ReadyWork(Record, frozen=True):
    """The lists may be cut to a limit; the summary counts all."""

    wire_name: ClassVar[str] = "ReadyWorkExplanation"

    ready: tuple[ReadyWorkItem, ...]
    blocked: tuple[BlockedWorkItem, ...]
    summary: ReadyWorkSummary
    cycles: tuple[tuple[str, ...], ...] = ()


def stage_kinds(workflow: ProjectWorkflow, definitions: Iterable[DefinitionRecord]) -> dict[str, str]:
    """The kind of every stage that an item of the project may be in.

    The project's own workflow says so; for an item that is pinned to another definition, what a project would show of
    that.
    """
    kinds: dict[str, str] = {}
    for shown in (*map(project_workflow, definitions), workflow):
        kinds.update((stage.id, stage.kind) for stage in shown.stages)
    return kinds


def judge(
    states: Sequence[ItemState], blocks: Sequence[tuple[str, str]], parents: Iterable[tuple[str, str]]
) -> Readiness:
    """`blocks` and `parents` are the links of those types, source and target. Linear in items and links.

    An item can be begun when it waits in a stage for that, no run of it lives, and every item that blocks it is done.
    """
    after = {state.id for state in states if state.kind in _AFTER}
    known = {state.id for state in states}
    blockers = edges_of((target, source) for source, target in blocks if source in known)
    ready, blocked = [], {}
    for state in states:
        if state.kind not in _BEFORE or state.run_state in _AT_WORK:
            continue
        waits_for = [each for each in blockers.get(state.id, ()) if each not in after]
        if waits_for:
            blocked[state.id] = waits_for
        else:
            ready.append(state.id)
    return Readiness(
        ready=ready,
        blocked=blocked,
        blockers=blockers,
        dependents=edges_of(blocks),
        parents={child: parent for parent, child in parents},
        cycles=find_cycles(edges_of(blocks)),
    )


def explain(found: Readiness, items: Mapping[str, WorkItem], limit: int | None = None) -> ReadyWork:
    """The answer, with the items in it; `items` holds those that `needed` has named."""
    return ReadyWork(
        ready=tuple(_ready(found, items[id]) for id in found.ready[:limit]),
        blocked=tuple(_blocked(found, id, items) for id in list(found.blocked)[:limit]),
        summary=ReadyWorkSummary(
            total_ready=len(found.ready), total_blocked=len(found.blocked), cycle_count=len(found.cycles)
        ),
        cycles=tuple(tuple(cycle) for cycle in found.cycles),
    )


def needed(found: Readiness, limit: int | None = None) -> set[str]:
    """The items that are shown whole in the answer, and those that they wait for."""
    shown = list(found.blocked)[:limit]
    return {*found.ready[:limit], *shown, *(blocker for id in shown for blocker in found.blocked[id])}


def _ready(found: Readiness, item: WorkItem) -> ReadyWorkItem:
    resolved = tuple(found.blockers.get(item.id, ()))
    return ReadyWorkItem(
        work_item=item,
        reason="everything that it waited for is done" if resolved else "it waits for nothing",
        dependency_count=len(resolved),
        dependent_count=len(found.dependents.get(item.id, ())),
        resolved_blockers=resolved,
        parent_work_item_id=found.parents.get(item.id),
    )


def _blocked(found: Readiness, id: str, items: Mapping[str, WorkItem]) -> BlockedWorkItem:
    waits_for = found.blocked[id]
    return BlockedWorkItem(
        work_item=items[id],
        blocked_by=tuple(_blocker(items[each]) for each in waits_for),
        blocked_by_count=len(waits_for),
    )


def _blocker(item: WorkItem) -> ReadyBlockerInfo:
    return ReadyBlockerInfo(
        id=item.id, number=item.number, title=item.title, stage_id=item.stage_id, run_state=item.run_state
    )
