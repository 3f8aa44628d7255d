"""Workflow definitions as text: each fault is found and its place named."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whisk.errors import InvalidError
from whisk.values import encode
from whisk.work.definition import BUILTIN, Definition, content_hash
from whisk.work.validation import FAULTS_SHOWN, SIZE_LIMIT, ValidationReport, check_definition, read_definition

Document = dict[str, Any]
Change = Callable[[Document], object]


def builtin() -> Document:
    made: Document = json.loads(encode(BUILTIN))
    return made


def check(document: object) -> ValidationReport:
    checked = check_definition(json.dumps(document).encode())
    assert checked.report.valid == (checked.definition is not None) == (not checked.report.errors)
    return checked.report


def small(*actions: Document, stages: tuple[str, ...] = ("todo", "doing", "done")) -> Document:
    """A definition of these actions; without any, the shortest way through."""
    way = [
        {"id": "start", "from": ["todo"], "to": "doing"},
        {"id": "finish", "from": ["doing"], "to": "done"},
    ]
    return {**builtin(), "id": "small", "stages": list(stages), "gates": [], "actions": [*way, *actions]}


def action(id: str, from_: str | list[str], to: str, **fields: Any) -> Document:
    return {"id": id, "from": [from_] if isinstance(from_, str) else from_, "to": to, **fields}


def places(document: Document) -> list[str]:
    return [error.path for error in check(document).errors]


def test_the_builtin_definition_is_valid() -> None:
    assert check(builtin()) == ValidationReport(valid=True, identity="plan-execute-review@1")
    assert read_definition(encode(BUILTIN)) == BUILTIN


def test_null_means_an_empty_array_or_nothing() -> None:
    document = {**small(), "gates": None}
    document["actions"][0] |= {"createsRun": None, "requires": None, "createsGates": None}
    assert read_definition(json.dumps(document).encode()).gates == ()
    assert set(places({**document, "actions": None})) == {"stages[0]", "stages[1]", "stages[2]"}


@pytest.mark.parametrize(
    ("change", "path", "part"),
    [
        (lambda d: d.pop("questions"), "questions", "is missing"),
        (lambda d: d.update(version="1"), "version", "must be a whole number, not text"),
        (lambda d: d.update(version=True), "version", "must be a whole number, not true"),
        (lambda d: d.update(version=1.5), "version", "must be a whole number, not the number 1.5"),
        (lambda d: d.update(version=0), "version", "0 is not between 1 and"),
        (lambda d: d.update(version=2**31), "version", "is not between 1 and"),
        (lambda d: d.update(stage=[]), "stage", "unknown field; did you mean stages?"),
        (lambda d: d.update({"a b": 1}), "['a b']", "unknown field; there are id, version"),
        (lambda d: d.update(id=""), "id", "an id has 1 to 64 letters"),
        (lambda d: d.update(id="a/b"), "id", "'a/b': an id has"),
        (lambda d: d.update(id="x\n"), "id", "'x\\n': an id has"),
        (lambda d: d.update(id="x" * 65), "id", "an id has 1 to 64"),
        (lambda d: d.update(stages="backlog"), "stages", "must be an array, not text"),
        (lambda d: d["stages"].insert(3, " "), "stages[3]", "' ': an id has"),
        (lambda d: d["stages"].insert(3, None), "stages[3]", "must be text, not null"),
        (lambda d: d["stages"].insert(3, "planning"), "stages[3]", "planning is stages[1] already"),
        (lambda d: d["stages"].insert(3, "qa"), "stages[3]", "no actions lead from backlog, the first stage, to qa"),
        (lambda d: d["actions"].append(dict(d["actions"][0])), "actions[9].id", "start_planning is actions[0].id"),
        (lambda d: d["actions"].append([]), "actions[9]", "must be an object, not an array"),
        (lambda d: d["actions"][0].update(to="nowhere"), "actions[0].to", "unknown stage 'nowhere'; there are backlog"),
        (lambda d: d["actions"][0].update({"from": ["x"]}), "actions[0].from[0]", "unknown stage 'x'"),
        (lambda d: d["actions"][0].update({"from": []}), "actions[0].from", "names no stage"),
        (lambda d: d["actions"][0].update({"from": ["backlog"] * 2}), "actions[0].from", "names 'backlog' 2 times"),
        (lambda d: d["actions"][0].update(form=["x"]), "actions[0].form", "did you mean from?"),
        (lambda d: d["actions"][0].update(to="$previousStage"), "actions[0].from[0]", "backlog is no side stage"),
        (lambda d: d["actions"][0]["createsRun"].update(preset="boss"), "actions[0].createsRun.preset", "'boss'"),
        (
            lambda d: d["actions"][0]["createsRun"].update(phase="x"),
            "actions[0].createsRun.phase",
            "there are planning",
        ),
        (
            lambda d: d["actions"][0]["createsRun"].update(promptTemplateId="x"),
            "actions[0].createsRun.promptTemplateId",
            "there are plan, implement, review",
        ),
        (
            lambda d: d["actions"][0]["createsRun"].update(workingDir="/"),
            "actions[0].createsRun.workingDir",
            "'/' is none of 'projectRoot', 'worktree'",
        ),
        (
            lambda d: d["actions"][2]["requires"][0].update(kind="poem"),
            "actions[2].requires[0].kind",
            "'poem' is none of",
        ),
        (lambda d: d["actions"][2].update(requires=d["actions"][2]["requires"] * 2), "actions[2].requires", "2 times"),
        (lambda d: d["actions"][4].update(createsGates=["qa"]), "actions[4].createsGates[0]", "unknown gate 'qa'"),
        (
            lambda d: d["actions"][1].update(updatesArtifact={"kind": "plan", "status": "draft"}),
            "actions[1].updatesArtifact",
            "not both",
        ),
        (lambda d: d["actions"][0].update(resumesRun="existing_execution"), "actions[0].resumesRun", "not both"),
        (lambda d: d["gates"].append(dict(d["gates"][0])), "gates[1].id", "review is gates[0].id already"),
        (lambda d: d["gates"][0].update(phase="moon"), "gates[0].phase", "'moon' is no stage, and none of the phases"),
        (lambda d: d["questions"].update(setsRunState="dead"), "questions.setsRunState", "'dead' is none of"),
    ],
)
def test_one_fault_is_named_with_its_place(change: Change, path: str, part: str) -> None:
    document = builtin()
    change(document)
    errors = check(document).errors
    assert path in [error.path for error in errors]
    assert part in next(error.message for error in errors if error.path == path)


def test_a_fault_of_a_name_that_is_used_elsewhere_is_told_once_where_it_is() -> None:
    document = builtin()
    document["actions"][4]["completesRuns"] = True
    document["actions"][0]["to"] = "limbo"
    document["version"] = None
    assert places(document) == ["version", "actions[4].completesRuns", "actions[0].to"]
    assert check(document).identity == ""


def test_a_name_that_is_written_twice_is_a_fault() -> None:
    text = encode(BUILTIN).replace(b'"to":"planning"', b'"to":"ready","to":"planning"', 1)
    (error,) = check_definition(text).report.errors
    assert (error.path, error.message) == ("actions[0].to", "stands here more than once")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"nil", b"\xff", b'{"id": "\\ud800"}', b"[" * 100_000, b'{"a": NaN}', b"{} {}", b"1" * 5000]
)
def test_what_is_no_json_object_is_one_fault_of_the_whole(data: bytes) -> None:
    (error,) = check_definition(data).report.errors
    assert error.path == ""
    assert error.message
    encode(error)


def test_what_is_too_large_is_not_read() -> None:
    (error,) = check_definition(b" " * (SIZE_LIMIT + 1)).report.errors
    assert "too many" in error.message
    many = {**small(), "stages": [f"s{number}" for number in range(65)]}
    assert [(e.path, e.message) for e in check(many).errors] == [("stages", "65 are too many; there may be 64")]


def test_a_flood_of_faults_is_cut_off_and_counted() -> None:
    document = {**builtin(), **{f"x{number}": 1 for number in range(150)}}
    errors = check(document).errors
    assert (len(errors), errors[-1].message) == (FAULTS_SHOWN + 1, "and 50 more faults")


@pytest.mark.parametrize("stages", [[], None, ["todo"]])
def test_there_must_be_a_first_and_a_last_stage(stages: Any) -> None:
    assert places({**small(), "stages": stages, "actions": []}) == ["stages"]


def test_a_stage_that_nothing_leaves_is_a_fault_unless_it_is_the_last() -> None:
    dead = small(action("drop", "doing", "dropped"), stages=("todo", "doing", "dropped", "done"))
    assert [(e.path, e.message) for e in check(dead).errors] == [
        ("stages[2]", "no action leaves dropped, which is not the last stage")
    ]
    dead["actions"].append(action("again", "dropped", "dropped", requiresHuman=True))
    assert places(dead) == ["stages[2]"]


def test_a_circle_without_a_way_to_the_last_stage_is_a_fault() -> None:
    trap = small(
        action("fall", "doing", "pit"),
        action("dig", "pit", "cave", requiresHuman=True),
        action("climb", "cave", "pit", requiresHuman=True),
        stages=("todo", "doing", "pit", "cave", "done"),
    )
    assert [(e.path, e.message) for e in check(trap).errors] == [
        ("stages[2]", "done, the last stage, cannot be reached from pit: only pit, cave"),
        ("stages[3]", "done, the last stage, cannot be reached from cave: only pit, cave"),
    ]


@pytest.mark.parametrize(
    ("extra", "circle"),
    [
        (action("stay", "doing", "doing"), "doing → doing"),
        (action("back", "doing", "todo"), "todo → doing → todo"),
        (action("reopen", "done", "todo"), "todo → doing → done → todo"),
    ],
)
def test_a_circle_in_which_nothing_happens_is_a_fault(extra: Document, circle: str) -> None:
    (error,) = check(small(extra)).errors
    assert error.path == "actions[2].to"
    assert circle in error.message
    for effect in (
        {"requiresHuman": True},
        {"completesRun": True},
        {"createsArtifact": {"kind": "feedback", "status": "draft"}},
    ):
        assert check(small({**extra, **effect})).valid, effect


def test_a_circle_whose_only_check_is_a_gate_is_a_fault() -> None:
    # A gate that has passed stays passed.
    assert places(small(action("back", "doing", "todo", requiresPassingBlockingGates=True))) == ["actions[2].to"]


def test_what_an_action_needs_must_be_made_before_it() -> None:
    need = {"requires": [{"kind": "plan", "status": "approved"}]}
    never = small()
    never["actions"][1] |= need
    (error,) = check(never).errors
    assert (error.path, error.message) == (
        "actions[1].requires[0]",
        "needs an approved plan artifact, and no action that may come before makes one",
    )
    too_late = small(action("plan", "done", "todo", createsArtifact={"kind": "plan", "status": "approved"}))
    too_late["actions"][1] |= need
    assert places(too_late) == ["actions[1].requires[0]"]
    in_time = small(action("plan", "doing", "doing", createsArtifact={"kind": "plan", "status": "approved"}))
    in_time["actions"][1] |= need
    assert check(in_time).valid


def test_what_is_updated_or_resumed_must_be_there() -> None:
    assert places(small(action("edit", "doing", "doing", updatesArtifact={"kind": "plan", "status": "draft"}))) == [
        "actions[2].updatesArtifact"
    ]
    assert places(small(action("again", "doing", "doing", resumesRun="existing_execution"))) == [
        "actions[2].resumesRun"
    ]


WAIT = action("wait", "doing", "aside", sideStage=True)
BACK = action("back", "aside", "$previousStage")
DEEPER = action("deeper", "aside", "deep", sideStage=True)
ASIDE = ("todo", "doing", "aside", "done")


def test_work_goes_aside_and_comes_back() -> None:
    assert check(small(WAIT, BACK, stages=ASIDE)).valid
    assert check(small(WAIT, action("give_up", "aside", "done"), stages=ASIDE)).valid


@pytest.mark.parametrize(
    ("actions", "stages", "path"),
    [
        ([WAIT], ASIDE, "stages[2]"),
        ([BACK], ("todo", "doing", "aside", "done"), "actions[2].from[0]"),
        ([WAIT, {**BACK, "from": ["aside", "doing"]}], ASIDE, "actions[3].from[1]"),
        ([WAIT, BACK, action("sneak", "todo", "aside")], ASIDE, "actions[4].to"),
        ([{**WAIT, "to": "$previousStage"}], ("todo", "doing", "done"), "actions[2].to"),
        ([{**WAIT, "to": "done"}], ("todo", "doing", "done"), "actions[2].to"),
        (
            [WAIT, BACK, action("deeper", "aside", "deep", sideStage=True)],
            (*ASIDE[:3], "deep", "done"),
            "actions[4].from[0]",
        ),
        ([{**WAIT, "from": ["doing", "aside"]}, BACK], ASIDE, "actions[2].from[1]"),
    ],
    ids=[
        "no way back",
        "never left",
        "not aside",
        "sneaked in",
        "aside to back",
        "aside is last",
        "aside twice",
        "itself",
    ],
)
def test_a_way_aside_that_would_be_lost_is_a_fault(actions: list[Document], stages: tuple[str, ...], path: str) -> None:
    assert path in places(small(*actions, stages=stages))


def test_questions_that_move_work_aside_need_somewhere_to_move_it() -> None:
    document = small()
    document["questions"] = {**document["questions"], "moveToBlocked": True}
    assert places(document) == ["questions.moveToBlocked"]


def test_a_refusal_names_the_first_fault_and_holds_all_of_them() -> None:
    document = {**builtin(), "version": 0, "extra": 1}
    with pytest.raises(InvalidError, match=r"extra: unknown field; there are .* \(and 1 more\)") as refused:
        read_definition(json.dumps(document).encode())
    assert [each["path"] for each in refused.value.details["errors"]] == ["extra", "version"]
    with pytest.raises(InvalidError, match="not a valid workflow definition: not JSON"):
        read_definition(b"{")


def test_the_hash_goes_by_what_is_meant() -> None:
    document = builtin()
    shuffled = dict(reversed(document.items()))
    shuffled["actions"] = [{**each, "requiresHuman": each.get("requiresHuman", False)} for each in document["actions"]]
    assert content_hash(read_definition(json.dumps(shuffled, indent=4).encode())) == content_hash(BUILTIN)
    other = msgspec.structs.replace(BUILTIN, version=2)
    assert content_hash(other) != content_hash(BUILTIN)


@st.composite
def definitions(draw: st.DrawFn) -> Document:
    """Valid ones: a way from first to last, with effects, steps back that a person takes, and perhaps a way aside."""
    stages = [f"s{number}" for number in range(draw(st.integers(2, 6)))]
    actions: list[Document] = []
    for number, (source, target) in enumerate(pairwise(stages)):
        effects = {
            "requiresHuman": True,
            "completesRun": True,
            "requiresPassingBlockingGates": True,
            "createsGates": ["g"],
            "createsArtifact": {"kind": "plan", "status": "draft"},
            "createsRun": {
                "phase": "execution",
                "preset": "writer",
                "promptTemplateId": "implement",
                "workingDir": draw(st.sampled_from(["projectRoot", "worktree"])),
            },
        }
        chosen = draw(st.sets(st.sampled_from(sorted(effects))))
        if any("createsArtifact" in each for each in actions) and draw(st.booleans()):
            chosen.discard("createsArtifact")
            effects |= {
                "requires": [{"kind": "plan", "status": "draft"}],
                "updatesArtifact": {"kind": "plan", "status": "approved"},
            }
            chosen |= {"requires", "updatesArtifact"}
        actions.append(action(f"a{number}", source, target, **{name: effects[name] for name in sorted(chosen)}))
    for number in range(draw(st.integers(0, 3))):
        source, target = draw(st.sampled_from(stages)), draw(st.sampled_from(stages))
        actions.append(action(f"b{number}", source, target, requiresHuman=True))
    if len(stages) > 2 and draw(st.booleans()):
        away = draw(st.lists(st.sampled_from(stages), min_size=1, unique=True))
        actions += [action("wait", away, "aside", sideStage=True), action("back", "aside", "$previousStage")]
        stages.insert(1, "aside")
    return {
        "id": draw(st.from_regex(r"\A[a-z][a-z0-9-]{0,20}\Z")),
        "version": draw(st.integers(1, 99)),
        "stages": stages,
        "actions": actions,
        "questions": builtin()["questions"],
        "gates": [{"id": "g", "phase": draw(st.sampled_from(["review", stages[-1]])), "blocking": draw(st.booleans())}],
    }


@settings(max_examples=50, deadline=None)
@given(definitions())
def test_valid_definitions_come_back_as_they_were(document: Document) -> None:
    read = read_definition(json.dumps(document).encode())
    assert json.loads(encode(read)) == document
    assert msgspec.json.decode(encode(read), type=Definition) == read


def spots(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(spot for name, each in children for spot in spots(each, (*way, name)))]


def holder(document: Any, way: tuple[Any, ...]) -> Any:
    for step in way:
        document = document[step]
    return document


JUNK = st.sampled_from([None, True, -1, 1.5, "", "zzz", "s0", "$previousStage", [], {}, ["s0"], [None], {"a": 1}, "\0"])


@settings(max_examples=50, deadline=None)
@given(definitions(), st.data())
def test_one_change_is_refused_with_a_place_or_leaves_it_valid(document: Document, data: st.DataObject) -> None:
    way = data.draw(st.sampled_from(spots(document)[1:]))
    inside = holder(document, way[:-1])
    match data.draw(st.sampled_from(["replace", "remove", "repeat", "rename"])):
        case "repeat" if isinstance(inside, list):
            inside.append(inside[way[-1]])
        case "rename" if isinstance(inside, dict):
            inside[f"{way[-1]}s"] = inside.pop(way[-1])
        case "remove":
            del inside[way[-1]]
        case _:
            inside[way[-1]] = data.draw(JUNK)
    text = json.dumps(document).encode()
    report = check(document)
    if report.valid:
        assert check_definition(encode(read_definition(text))).report == report
    else:
        assert all(error.path and error.message for error in report.errors)


@settings(max_examples=50, deadline=None)
@given(definitions(), st.data())
def test_a_field_that_nobody_knows_is_always_found(document: Document, data: st.DataObject) -> None:
    objects = [way for way in spots(document) if isinstance(holder(document, way), dict)]
    way = data.draw(st.sampled_from(objects))
    holder(document, way)["oops"] = 1
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in (*way, "oops")).lstrip(".")
    assert place in places(document)


@settings(max_examples=50, deadline=None)
@given(st.recursive(JUNK, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_no_document_is_too_strange_to_be_judged(value: Any) -> None:
    encode(check(value))
    encode(check({**builtin(), "stages": value}))
    encode(check({**builtin(), "actions": [value]}))
