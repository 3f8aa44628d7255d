"""The stages of a definition as a graph: what can be reached, what can never be left, what goes round for nothing.

A cycle by itself is no fault: review sends work back to execution. Refused are

- stages that no sequence of actions reaches from the first one, and actions whose needs nothing before them can meet;
- stages from which the last one cannot be reached, one by one or in a circle;
- a circle in which nothing ever happens: no action of it creates, updates or completes anything, goes to a side stage
  or needs a person. Programs could follow it for ever, and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from whisk.work.definition import PREVIOUS_STAGE, ActionDefinition, Definition
from whisk.work.shape import Fault


class _Edge(NamedTuple):
    action: int
    source: str
    target: str


def side_stages(actions: Iterable[ActionDefinition]) -> frozenset[str]:
    """Where work waits aside: the targets of the actions with `sideStage`."""
    return frozenset(action.to for action in actions if action.side_stage)


def graph_faults(definition: Definition) -> list[Fault]:
    """The stages and actions that are named must exist; see `whisk.work.validation`."""
    edges = list(_edges(definition))
    return [*_reach_faults(definition, edges), *_need_faults(definition), *_idle_faults(definition, edges)]


def _edges(definition: Definition) -> Iterator[_Edge]:
    back: dict[str, list[str]] = {}
    for action in definition.actions:
        if action.side_stage:
            back.setdefault(action.to, []).extend(action.from_stages)
    for number, action in enumerate(definition.actions):
        for source in action.from_stages:
            targets = back.get(source, []) if action.to == PREVIOUS_STAGE else [action.to]
            yield from (_Edge(number, source, target) for target in targets)


def _reach_faults(definition: Definition, edges: list[_Edge]) -> list[Fault]:
    first, last = definition.stages[0], definition.stages[-1]
    ahead: dict[str, set[str]] = {}
    behind: dict[str, set[str]] = {}
    for edge in edges:
        ahead.setdefault(edge.source, set()).add(edge.target)
        behind.setdefault(edge.target, set()).add(edge.source)
    reached, finishing = _closure(first, ahead), _closure(last, behind)
    found = []
    for number, stage in enumerate(definition.stages):
        place = f"stages[{number}]"
        if stage not in reached:
            found.append(Fault(place, f"no actions lead from {first}, the first stage, to {stage}"))
        if stage not in finishing and not ahead.get(stage, set()) - {stage}:
            found.append(Fault(place, f"no action leaves {stage}, which is not the last stage"))
        elif stage not in finishing:
            circle = ", ".join(each for each in definition.stages if each in _closure(stage, ahead))
            found.append(Fault(place, f"{last}, the last stage, cannot be reached from {stage}: only {circle}"))
    return found


def _closure(start: str, steps: dict[str, set[str]]) -> set[str]:
    seen, rest = {start}, [start]
    while rest:
        new = steps.get(rest.pop(), set()) - seen
        seen |= new
        rest.extend(new)
    return seen


def _need_faults(definition: Definition) -> list[Fault]:
    """Follow every action that can be taken, until there is no new one; what is still held back never comes."""
    stages, have, taken = {definition.stages[0]}, set[str](), set[int]()
    while True:
        ready = [
            (number, action)
            for number, action in enumerate(definition.actions)
            if number not in taken and stages.intersection(action.from_stages)
        ]
        able = [(number, action) for number, action in ready if not any(need not in have for _, need in _needs(action))]
        if not able:
            break
        for number, action in able:
            taken.add(number)
            stages.add(action.to)
            have.update(_gives(action))
    return [
        Fault(f"actions[{number}].{field}", f"needs {need}, and no action that may come before makes one")
        for number, action in ready
        for field, need in _needs(action)
        if need not in have
    ]


def _needs(action: ActionDefinition) -> Iterator[tuple[str, str]]:
    """Field and thing. A thing is its description, which is all that is asked of it here."""
    for number, each in enumerate(action.requires):
        yield f"requires[{number}]", f"{_article(each.status)} {each.status} {each.kind} artifact"
    if action.updates_artifact is not None:
        yield "updatesArtifact", f"a {action.updates_artifact.kind} artifact"
    if action.resumes_run:
        yield "resumesRun", "an execution run"


def _gives(action: ActionDefinition) -> Iterator[str]:
    for effect in (action.creates_artifact, action.updates_artifact):
        if effect is not None:
            yield f"{_article(effect.status)} {effect.status} {effect.kind} artifact"
            yield f"a {effect.kind} artifact"
    if action.creates_run is not None:
        yield f"an {action.creates_run.phase} run"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _idle(action: ActionDefinition) -> bool:
    """Taking it changes the stage and nothing else, and a program may take it."""
    effects = (
        *(action.creates_artifact, action.updates_artifact, action.creates_run, action.resumes_run),
        *(action.completes_run, action.creates_gates, action.requires_human, action.side_stage),
    )
    return not any(effects)


def _idle_faults(definition: Definition, edges: list[_Edge]) -> list[Fault]:
    steps: dict[str, list[_Edge]] = {}
    for edge in edges:
        if _idle(definition.actions[edge.action]):
            steps.setdefault(edge.source, []).append(edge)
    found: dict[int, Fault] = {}
    done: set[str] = set()

    def visit(stage: str, way: list[str]) -> None:
        for edge in steps.get(stage, ()):
            if edge.target in way:
                circle = " → ".join([*way[way.index(edge.target) :], edge.target])
                message = f"goes round and nothing happens: {circle}; let an action of it do something or need a person"
                found.setdefault(edge.action, Fault(f"actions[{edge.action}].to", message))
            elif edge.target not in done:
                visit(edge.target, [*way, edge.target])
        done.add(stage)

    for stage in definition.stages:
        if stage not in done:
            visit(stage, [stage])
    return list(found.values())
