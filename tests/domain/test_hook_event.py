"""Every payload captured from the real binaries, read into the one vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.captured import FILES, load
from whisk.hooks.event import HookKind
from whisk.hooks.payload import read_payload
from whisk.hooks.provider import find_provider

K = HookKind
# What the first word of a payload's file name, its event, means.
KINDS = {
    "claude": {
        "PreToolUse": K.TOOL_STARTING,
        "PermissionRequest": K.PERMISSION_ASKED,
        "Elicitation": K.ELICITATION_ASKED,
        "ElicitationResult": K.ELICITATION_ANSWERED,
        "PostToolUse": K.TOOL_FINISHED,
        "PostToolUseFailure": K.TOOL_FAILED,
        "Notification": K.NOTIFICATION,
        "UserPromptSubmit": K.PROMPT_SUBMITTED,
        "SessionStart": K.SESSION_STARTED,
        "SessionEnd": K.SESSION_ENDED,
        "Stop": K.TURN_ENDED,
        "StopFailure": K.TURN_FAILED,
        "SubagentStart": K.SUBAGENT_STARTED,
        "SubagentStop": K.SUBAGENT_ENDED,
        "PreCompact": K.COMPACTION_STARTED,
        "PostCompact": K.COMPACTION_ENDED,
        "ConfigChange": K.OTHER,
        "MessageDisplay": K.OTHER,
        "PostToolBatch": K.OTHER,
        "Setup": K.OTHER,
    },
    "codex": {
        "PreToolUse": K.TOOL_STARTING,
        "PermissionRequest": K.PERMISSION_ASKED,
        "PostToolUse": K.TOOL_FINISHED,
        "PreCompact": K.COMPACTION_STARTED,
        "PostCompact": K.COMPACTION_ENDED,
        "SessionStart": K.SESSION_STARTED,
        "SessionEnd": K.SESSION_ENDED,
        "UserPromptSubmit": K.PROMPT_SUBMITTED,
        "Stop": K.TURN_ENDED,
        "Interrupt": K.TURN_INTERRUPTED,
        "PreModelRequest": K.MODEL_OBSERVED,
        "PostModelRequest": K.MODEL_OBSERVED,
    },
}


@pytest.mark.parametrize(("provider", "path"), FILES, ids=[f"{name}-{path.stem}" for name, path in FILES])
def test_every_captured_payload_is_read_into_its_kind(provider: str, path: Path) -> None:
    raw = path.read_bytes()
    sent = json.loads(raw)
    event = find_provider(provider).read(read_payload(raw), "")
    expected = KINDS[provider][path.stem.partition("-")[0]]
    if sent.get("tool_name") in ("AskUserQuestion", "request_user_input") and expected in (
        K.TOOL_STARTING,
        K.PERMISSION_ASKED,
    ):
        expected = K.QUESTION_ASKED
    assert event.kind is expected
    assert event.payload.data == sent
    assert event.name == sent["hook_event_name"]
    assert event.session == sent["session_id"]
    assert event.cwd == sent["cwd"]
    assert event.model == sent.get("model", "")
    assert event.agent == sent.get("agent_id", "")
    if "tool_name" in sent:
        assert event.tool is not None
        assert (event.tool.name, event.tool.input) == (sent["tool_name"], sent["tool_input"])
        assert event.tool.use_id == sent.get("tool_use_id")


def test_both_questions_are_read_with_options_and_multi_select() -> None:
    first, second = load("claude", "PreToolUse-AskUserQuestion").questions
    assert (first.text, first.header, first.multi_select) == ("Which color?", "Color", False)
    assert [(option.label, option.description) for option in first.options][1] == ("Blue", "A cold color")
    assert (second.text, second.multi_select) == ("Which toppings?", True)


def test_an_elicitation_keeps_its_form() -> None:
    found = load("claude", "Elicitation-form").elicitation
    assert found is not None
    assert (found.server, found.message, found.mode) == ("elicit", "Who are you?", "form")
    assert list(found.schema["properties"]) == ["name", "size", "ok"]


def test_a_stop_that_goes_on_says_so() -> None:
    assert load("claude", "Stop-active").continuing
    assert not load("claude", "Stop").continuing
    assert load("codex", "Stop-active").continuing


@pytest.mark.parametrize("provider", ["claude", "codex", "somebody"])
def test_an_unknown_event_is_kept_whole_and_waits_for_nothing(provider: str) -> None:
    found = find_provider(provider)
    event = found.read(read_payload(b'{"hook_event_name":"Brandnew","x":{"y":[1]}}'), "")
    assert event.kind is K.UNKNOWN
    assert event.name == "Brandnew"
    assert event.payload.data["x"] == {"y": [1]}
    assert found.ask_of(event) is None


def test_the_event_named_on_the_command_line_wins() -> None:
    event = find_provider("claude").read(read_payload(b'{"hook_event_name":"Stop"}'), "SessionEnd")
    assert event.kind is K.SESSION_ENDED


@pytest.mark.parametrize(
    "questions",
    [None, [], "x", [{"question": 3}], [{"question": "a"}, 7], [{"question": "a", "options": [{"no": "label"}]}]],
)
def test_a_question_that_cannot_be_shown_whole_is_left_to_the_agent(questions: object) -> None:
    event = load("claude", "PreToolUse-AskUserQuestion", tool_input={"questions": questions})
    assert event.kind is K.QUESTION_ASKED
    assert find_provider("claude").ask_of(event) is None
