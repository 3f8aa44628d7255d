"""A workflow definition as text: read, or refused with every fault and its place.

First the shape is checked, then what the parts say of each other, then the stages as a graph
(`whisk.work.stage_graph`). What can still be judged is judged when there are faults before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, get_args

from whisk.errors import InvalidError
from whisk.values import Record, convert
from whisk.work.definition import PREVIOUS_STAGE, ActionDefinition, Definition, identity
from whisk.work.prompt_template import BUILTIN_TEMPLATES
from whisk.work.run import RunPreset
from whisk.work.shape import Fault, faults, join, quote, read_json, without_nulls
from whisk.work.stage_graph import graph_faults, side_stages

SIZE_LIMIT = 256 * 1024
VERSION_LIMIT = 2**31 - 1
STAGE_LIMIT = 64
ACTION_LIMIT = 256
GATE_LIMIT = 64
FAULTS_SHOWN = 100
PHASES = ("planning", "execution", "review")
"""What a run can be for. The phase of a gate may be a stage, too."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ID_RULE = "an id has 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or a digit"
_LIMITS = {"stages": STAGE_LIMIT, "actions": ACTION_LIMIT, "gates": GATE_LIMIT}


class ValidationError(Record, frozen=True):
    """One fault of a document, not an exception. `path` is absent where the whole document is meant."""

    wire_name: ClassVar[str] = "WorkflowValidationError"

    message: str
    path: str = ""


class ValidationReport(Record, frozen=True):
    """`identity` is `id@version`, absent where the document does not even say that much."""

    wire_name: ClassVar[str] = "WorkflowValidationReport"

    valid: bool
    identity: str = ""
    errors: tuple[ValidationError, ...] = ()


class Checked(NamedTuple):
    """`definition` is there if, and only if, the report says that it is valid."""

    report: ValidationReport
    definition: Definition | None


def check_definition(data: bytes) -> Checked:
    """Never raises: whatever the bytes are, the report says what is wrong with them."""
    if len(data) > SIZE_LIMIT:
        return _refused("", [Fault("", f"{len(data)} bytes are too many; a definition has at most {SIZE_LIMIT}")])
    try:
        value = read_json(data)
    except InvalidError as error:
        return _refused("", [Fault("", error.message)])
    found = faults(value, Definition)
    if not isinstance(value, dict):
        return _refused("", found)
    found += _part_faults(value, found)
    name = _identity(value)
    if found:
        return _refused(name, found)
    definition = convert({**_EMPTY, **without_nulls(value)}, Definition)
    if found := graph_faults(definition):
        return _refused(name, found)
    return Checked(ValidationReport(valid=True, identity=name), definition)


def read_definition(data: bytes) -> Definition:
    """Raises `InvalidError` with the first fault in the sentence and all of them in `details.errors`."""
    report, definition = check_definition(data)
    if definition is not None:
        return definition
    first = report.errors[0]
    where = f"{first.path}: " if first.path else ""
    more = f" (and {len(report.errors) - 1} more)" if len(report.errors) > 1 else ""
    errors = [{"path": each.path, "message": each.message} for each in report.errors]
    raise InvalidError(f"not a valid workflow definition: {where}{first.message}{more}", errors=errors)


# What null means for the arrays that a definition must have.
_EMPTY: dict[str, Any] = {"stages": [], "actions": [], "gates": []}


def _refused(name: str, found: Sequence[Fault]) -> Checked:
    shown = [ValidationError(path=fault.path, message=fault.message) for fault in found[:FAULTS_SHOWN]]
    if (more := len(found) - FAULTS_SHOWN) > 0:
        shown.append(ValidationError(message=f"and {more} more faults"))
    return Checked(ValidationReport(valid=False, identity=name, errors=tuple(shown)), None)


def _identity(value: dict[str, Any]) -> str:
    match value:
        case {"id": str(id), "version": int(version)} if _ID.fullmatch(id) and version is not True:
            return identity(id, version)
        case _:
            return ""


class _Parts(NamedTuple):
    """What could be read of a document; an action or a gate that is broken is left out, with its number."""

    stages: list[str]
    gates: list[str]
    actions: list[tuple[int, ActionDefinition]]


def _part_faults(value: dict[str, Any], known: list[Fault]) -> list[Fault]:
    """What is wrong beyond the shape; `known` are the faults of the shape."""
    lists = {name: value[name] if isinstance(value.get(name), list) else [] for name in _LIMITS}
    found = [
        Fault(name, f"{len(lists[name])} are too many; there may be {limit}")
        for name, limit in _LIMITS.items()
        if len(lists[name]) > limit
    ]
    if found:
        return found
    broken = {fault.path.partition("]")[0] for fault in known}
    parts = _Parts(
        stages=[each for each in lists["stages"] if isinstance(each, str)],
        gates=[each["id"] for each in lists["gates"] if isinstance(each, dict) and isinstance(each.get("id"), str)],
        actions=[
            (number, convert({"from": [], **without_nulls(each)}, ActionDefinition))
            for number, each in enumerate(lists["actions"])
            if f"actions[{number}" not in broken
        ],
    )
    return [
        *_header_faults(value, parts),
        *_id_faults("stages[{}]", lists["stages"]),
        *_id_faults("actions[{}].id", [_id_of(each) for each in lists["actions"]]),
        *_id_faults("gates[{}].id", [_id_of(each) for each in lists["gates"]]),
        *_gate_faults(lists["gates"], parts),
        *(fault for number, action in parts.actions for fault in _action_faults(f"actions[{number}]", action, parts)),
    ]


def _header_faults(value: dict[str, Any], parts: _Parts) -> Iterator[Fault]:
    if isinstance(id := value.get("id"), str) and not _ID.fullmatch(id):
        yield Fault("id", f"{quote(id)}: {_ID_RULE}")
    version = value.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and not 1 <= version <= VERSION_LIMIT:
        yield Fault("version", f"{quote(version)} is not between 1 and {VERSION_LIMIT}")
    if "stages" in value and isinstance(value["stages"], list | None) and len(value["stages"] or ()) < 2:
        yield Fault("stages", "there must be two at least: where work begins, and where it is done")
    questions = value.get("questions")
    moves = isinstance(questions, dict) and questions.get("moveToBlocked") is True
    if moves and not any(action.side_stage for _, action in parts.actions):
        yield Fault("questions.moveToBlocked", "no action with sideStage says where to move")


def _id_faults(place: str, ids: Iterable[Any]) -> Iterator[Fault]:
    """Ids that are no text have been found by their shape."""
    seen: dict[str, int] = {}
    for number, id in enumerate(ids):
        if not isinstance(id, str):
            continue
        if not _ID.fullmatch(id):
            yield Fault(place.format(number), f"{quote(id)}: {_ID_RULE}")
        elif id in seen:
            yield Fault(place.format(number), f"{id} is {place.format(seen[id])} already")
        seen.setdefault(id, number)


def _id_of(value: Any) -> Any:
    return value.get("id") if isinstance(value, dict) else None


def _gate_faults(gates: list[Any], parts: _Parts) -> Iterator[Fault]:
    for number, gate in enumerate(gates):
        phase = gate.get("phase") if isinstance(gate, dict) else None
        if isinstance(phase, str) and phase not in (*PHASES, *parts.stages):
            known = ", ".join(PHASES)
            yield Fault(f"gates[{number}].phase", f"{quote(phase)} is no stage, and none of the phases {known}")


def _action_faults(place: str, action: ActionDefinition, parts: _Parts) -> Iterator[Fault]:
    if not action.from_stages:
        yield Fault(join(place, "from"), "names no stage: the action could never be taken")
    for number, stage in enumerate(action.from_stages):
        if stage not in parts.stages:
            yield Fault(f"{place}.from[{number}]", _unknown("stage", stage, parts.stages))
    if action.to != PREVIOUS_STAGE and action.to not in parts.stages:
        yield Fault(join(place, "to"), _unknown("stage", action.to, parts.stages))
    for number, gate in enumerate(action.creates_gates):
        if gate not in parts.gates:
            yield Fault(f"{place}.createsGates[{number}]", _unknown("gate", gate, parts.gates))
    needs = [f"{each.kind}/{each.status}" for each in action.requires]
    lists = {"from": action.from_stages, "createsGates": action.creates_gates, "requires": needs}
    for field, values in lists.items():
        for each, times in Counter(values).items():
            if times > 1:
                yield Fault(join(place, field), f"names {quote(each)} {times} times")
    if action.creates_artifact is not None and action.updates_artifact is not None:
        yield Fault(join(place, "updatesArtifact"), "an action creates an artifact or updates one, not both")
    if (effect := action.creates_run) is not None:
        if action.resumes_run:
            yield Fault(join(place, "resumesRun"), "an action creates a run or resumes one, not both")
        choices = {
            "phase": (effect.phase, PHASES),
            "preset": (effect.preset, get_args(RunPreset)),
            "promptTemplateId": (effect.prompt_template_id, [each.id for each in BUILTIN_TEMPLATES]),
        }
        for field, (chosen, known) in choices.items():
            if chosen not in known:
                yield Fault(f"{place}.createsRun.{field}", _unknown(field, chosen, known))
    yield from _side_faults(place, action, parts)


def _side_faults(place: str, action: ActionDefinition, parts: _Parts) -> Iterator[Fault]:
    """One stage is remembered to go back to, so nobody may come to a side stage in a way that loses it."""
    aside = side_stages(each for _, each in parts.actions)
    if action.side_stage:
        if action.to == PREVIOUS_STAGE:
            yield Fault(join(place, "to"), f"sideStage needs a stage to go to, not {PREVIOUS_STAGE}")
        elif parts.stages and action.to in (parts.stages[0], parts.stages[-1]):
            yield Fault(join(place, "to"), f"{action.to} is the first or the last stage, and cannot be a side stage")
        for number, stage in enumerate(action.from_stages):
            if stage in aside:
                yield Fault(f"{place}.from[{number}]", f"{stage} is a side stage itself; the way back would be lost")
    elif action.to in aside:
        yield Fault(join(place, "to"), f"{action.to} is a side stage; only actions with sideStage lead there")
    elif action.to == PREVIOUS_STAGE:
        for number, stage in enumerate(action.from_stages):
            if stage in parts.stages and stage not in aside:
                yield Fault(f"{place}.from[{number}]", f"{stage} is no side stage: there is no way back from it")


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    return f"unknown {what} {quote(name)}; there are {', '.join(known) or 'none'}"
