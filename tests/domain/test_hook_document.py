"""Whisk's hooks in other people's settings: every byte that is not whisk's stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whisk.errors import InvalidError
from whisk.hooks.install.hook_document import Trace, install, is_ours, placed, remove
from whisk.hooks.install.json_text import parse

COMMAND = "/home/u/.config/whisk/bin/whisk-hook-helper agent-bridge hook -provider claude"
OURS = {"type": "command", "command": COMMAND, "timeout": 600}
WANTED = {name: {"hooks": [OURS]} for name in ("PreToolUse", "Stop", "Notification")}
THEIRS = {"type": "command", "command": "/opt/whisk-hook-helper-fan/run agent-bridge hook"}

# Without brackets, since the space inside of empty ones is changed by text below.
words = st.text(st.characters(exclude_characters="[{", exclude_categories=["Cs"]))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
handlers = st.fixed_dictionaries({"type": st.just("command"), "command": words}, optional={"timeout": leaves})
groups = st.fixed_dictionaries({"hooks": st.lists(handlers, max_size=3)}, optional={"matcher": words}) | values
events = st.sampled_from(["PreToolUse", "Stop", "Notification", "SessionStart", "Setup"])
hooks = st.dictionaries(events, st.lists(groups, max_size=3), max_size=4)
documents = st.dictionaries(words.filter(lambda key: key != "hooks"), values, max_size=4)


@st.composite
def written(draw: Any) -> str:
    """A settings file as some person or program wrote it."""
    document = draw(documents)
    items = list(document.items())
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ("hooks", draw(hooks)))
    indent = draw(st.sampled_from([None, 0, 2, 4, "\t", " "]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    text = json.dumps(dict(items), indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    text = draw(st.sampled_from(["", " ", "\n\n"])) + text + draw(st.sampled_from(["", "\n", "\n\n \n"]))
    if draw(st.booleans()):
        text = text.replace("{}", "{ }").replace("[]", "[\n\n]")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text


def foreign(text: str) -> list[Any]:
    return [each[0:1] + each[3:] for each in placed(text) if not each.ours]


@given(written())
@settings(max_examples=120, deadline=None)
def test_install_then_remove_leaves_every_byte_as_it_was(text: str) -> None:
    installed, trace = install(text, WANTED)
    assert remove(installed, trace) == text


@given(written())
@settings(max_examples=80, deadline=None)
def test_installing_twice_is_installing_once_and_disturbs_nobody(text: str) -> None:
    once, trace = install(text, WANTED)
    assert install(once, WANTED, trace) == (once, trace)
    assert foreign(once) == foreign(text)
    assert [each.handler for each in placed(once) if each.ours] == [OURS] * 3
    before, after = json.loads(text.lstrip("\ufeff")), json.loads(once.lstrip("\ufeff"))
    assert list(after)[: len(before)] == list(before)
    assert {k: v for k, v in after.items() if k != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}


@pytest.mark.parametrize("text", [None, "", "\n", " \r\n", "\ufeff"])
def test_a_file_with_nothing_in_it_or_none_at_all_comes_back_so(text: str | None) -> None:
    installed, trace = install(text, WANTED)
    assert json.loads(installed.lstrip("\ufeff")) == {"hooks": {k: [v] for k, v in WANTED.items()}}
    assert remove(installed, trace) == text


def test_what_is_added_looks_like_the_rest_of_the_file() -> None:
    text = '{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n'
    installed, _ = install(text, {"Stop": WANTED["Stop"]})
    assert '\r\n\t\t\t{\r\n\t\t\t\t"hooks": [' in installed
    assert "\n" not in installed.replace("\r\n", "")
    assert install('{"a":1}', {"Stop": WANTED["Stop"]})[0].count("\n") == 0


def test_a_changed_group_is_renewed_in_its_place() -> None:
    """The place counts: Codex trusts a hook by its position."""
    text = json.dumps(
        {"hooks": {"Stop": [{"hooks": [THEIRS]}, {"hooks": [OURS | {"timeout": 5}]}, {"hooks": [THEIRS]}]}}
    )
    installed, _ = install(text, {"Stop": WANTED["Stop"]})
    assert [each.ours for each in placed(installed)] == [False, True, False]
    assert placed(installed)[1].handler == OURS


def test_hooks_of_ours_that_should_not_be_there_go_and_the_others_in_their_group_stay() -> None:
    before = {"hooks": {"Stop": [{"matcher": "x", "hooks": [OURS, THEIRS]}, {"hooks": [OURS]}, {"hooks": [OURS]}],
                        "Gone": [{"hooks": [OURS]}]}}  # fmt: skip
    installed, _ = install(json.dumps(before), {"Stop": WANTED["Stop"]})
    assert json.loads(installed) == {"hooks": {"Stop": [{"matcher": "x", "hooks": [THEIRS]}, {"hooks": [OURS]}]}}
    assert json.loads(remove(installed) or "") == {"hooks": {"Stop": [{"matcher": "x", "hooks": [THEIRS]}]}}


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        (COMMAND, True),
        ("'/home/my name/whisk-hook-helper' agent-bridge hook -provider codex", True),
        ("whisk-hook-helper agent-bridge hook", True),
        (THEIRS["command"], False),
        ("echo whisk-hook-helper agent-bridge hook", False),
        ("/x/whisk-hook-helper --version", False),
        ("/x/not-whisk-hook-helper agent-bridge hook", False),
        ("whisk-hook-helper 'agent-bridge hook", False),
        ("", False),
    ],
)
def test_a_hook_is_ours_by_what_it_runs_and_not_by_a_likeness(command: str, ours: bool) -> None:
    assert is_ours({"type": "command", "command": command}) is ours


@pytest.mark.parametrize("handler", [None, [], "x", {}, {"command": 5}])
def test_what_is_no_hook_is_not_ours(handler: object) -> None:
    assert not is_ours(handler)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  // note\n  "a": 1\n}', "line 2: a comment"),
        ('{"a": 1 /* x */}', "a comment"),
        ('{\n"a": 1,\n}', "line 2: a comma stands before a closing bracket"),
        ('{"a": [1,]}', "a comma stands before"),
        ('{"a" 1}', '"1" where a colon should be'),
        ('{"a": 1', "the end of the file where a comma"),
        ('{"a": "x\ny"}', "a broken string"),
        ("{a: 1}", "a key in quotes"),
        ('{"a": NaN}', "where a value should be"),
        ('{"a": 01}', "where a value should be"),
        ("{} {}", "where the end of the file should be"),
        ("[1]", "begins no JSON object"),
        ('{"hooks": []}', '"hooks" at line 1 is no object'),
        ('{"hooks": null}', '"hooks" at line 1 is no object'),
        ('{"hooks": {"Stop": {}}}', '"hooks.Stop" at line 1 is no list'),
        ('{"hooks": {},\n"hooks": {}}', '"hooks" stands there twice, at lines 1 and 2'),
        ('{"hooks": {"Stop": [], "Stop": []}}', '"Stop" stands there twice'),
        ("[" * 500, "nested more than"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InvalidError, match=said.replace("*", r"\*")):
        install(text, WANTED)


def test_equal_keys_elsewhere_are_not_our_business() -> None:
    text = '{"a": 1, "a": 2, "hooks": {"Other": 1, "Other": 2}}'
    installed, trace = install(text, WANTED)
    assert installed.startswith('{"a": 1, "a": 2, "hooks": {"Other": 1, "Other": 2, "PreToolUse": [')
    assert remove(installed, trace) == text


def test_removal_without_a_trace_leaves_no_empty_shells() -> None:
    installed, _ = install('{"model": "opus"}', WANTED)
    assert remove(installed, Trace()) == '{"model": "opus"}'


def test_removal_keeps_what_was_added_meanwhile() -> None:
    installed, trace = install(None, WANTED)
    document = json.loads(installed) | {"model": "opus"}
    assert json.loads(remove(json.dumps(document), trace) or "") == {"model": "opus"}


@given(values)
@settings(max_examples=60, deadline=None)
def test_the_reader_agrees_with_json(value: Any) -> None:
    text = json.dumps(value)
    node = parse(text)
    assert (node.start, node.end) == (0, len(text))
