"""Answers out: the exact documents that the real binaries honour, and nothing else can be made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.captured import FILES, ask, load
from whisk.errors import InvalidError, RefusedError, WhiskError
from whisk.hooks.answer import (
    SHAPES,
    Accepted,
    Allowed,
    Answer,
    Answered,
    ApprovalAsk,
    Ask,
    AskedInstead,
    Denied,
    ElicitationAsk,
    QuestionAsk,
    Refused,
)
from whisk.hooks.event import Elicitation, HookKind, Question
from whisk.hooks.payload import read_payload
from whisk.hooks.provider import find_provider, write_answer


def said(answer: Answer) -> dict[str, Any]:
    output = write_answer(answer)
    assert b": " not in output.replace(b": no", b"")  # compact separators
    document: dict[str, Any] = json.loads(output)
    assert list(document) == ["hookSpecificOutput"]
    assert document["hookSpecificOutput"]["hookEventName"] == answer.ask.event
    return document["hookSpecificOutput"]


def test_a_question_is_answered_before_its_tool_with_every_question_echoed() -> None:
    found = ask("claude", "PreToolUse-AskUserQuestion")
    sent = load("claude", "PreToolUse-AskUserQuestion").payload.data["tool_input"]
    assert said(Answered(ask=found, texts=("Blue", "Cheese, Olives"))) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {
            "questions": sent["questions"],
            "answers": {"Which color?": "Blue", "Which toppings?": "Cheese, Olives"},
        },
    }


def test_the_answer_is_written_byte_for_byte() -> None:
    found = ask("claude", "PreToolUse-AskUserQuestion-single")
    output = write_answer(Answered(ask=found, texts=("Yes",)))
    assert output == (
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"questions":'
        b'[{"question":"Proceed?","header":"Go","options":[{"label":"Yes","description":"Go on"},{"label":"No",'
        b'"description":"Stop"}],"multiSelect":false}],"answers":{"Proceed?":"Yes"}}}}'
    )


def test_a_question_is_answered_at_its_permission_request_too() -> None:
    found = ask("claude", "PermissionRequest-AskUserQuestion")
    decision = said(Answered(ask=found, texts=("something else", "Olives")))["decision"]
    assert decision["behavior"] == "allow"
    assert decision["updatedInput"]["answers"] == {"Which color?": "something else", "Which toppings?": "Olives"}
    assert len(decision["updatedInput"]["questions"]) == 2


def test_text_that_is_no_unicode_comes_back_exactly_as_the_key_of_its_answer() -> None:
    questions = [{"question": "a\ud83db?", "header": "h", "options": [], "multiSelect": False}]
    found = ask("claude", "PreToolUse-AskUserQuestion", tool_input={"questions": questions, "other": 1})
    document = said(Answered(ask=found, texts=("é",)))
    assert document["updatedInput"] == {"questions": questions, "other": 1, "answers": {"a\ud83db?": "é"}}


def test_a_call_is_denied_allowed_edited_or_sent_to_the_window_before_it_runs() -> None:
    found = ask("claude", "PreToolUse-Bash")
    assert said(Denied(ask=found, message="no")) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "no",
    }
    assert said(Allowed(ask=found)) == {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    edited = said(Allowed(ask=found, updated_input={"command": "ls"}))
    assert (edited["permissionDecision"], edited["updatedInput"]) == ("allow", {"command": "ls"})
    assert said(AskedInstead(ask=found, reason="look"))["permissionDecision"] == "ask"


def test_a_permission_request_takes_a_decision_with_a_behavior() -> None:
    found = ask("claude", "PermissionRequest-Bash")
    assert said(Allowed(ask=found))["decision"] == {"behavior": "allow"}
    assert said(Denied(ask=found, message="no"))["decision"] == {"behavior": "deny", "message": "no"}
    edited = said(Allowed(ask=found, updated_input={"command": "ls"}))
    assert edited["decision"] == {"behavior": "allow", "updatedInput": {"command": "ls"}}


def test_an_elicitation_carries_the_action_and_the_older_names_beside_it() -> None:
    found = ask("claude", "Elicitation-form", elicitation_id="el_1")
    assert said(Accepted(ask=found, content={"name": "dev", "ok": True})) == {
        "hookEventName": "Elicitation",
        "action": "accept",
        "content": {"name": "dev", "ok": True},
        "decision": "accept",
        "elicitationId": "el_1",
    }
    assert said(Refused(ask=found, action="decline"))["action"] == "decline"
    without_id = said(Refused(ask=ask("claude", "Elicitation-form"), action="cancel"))
    assert without_id == {"hookEventName": "Elicitation", "action": "cancel", "decision": "cancel"}


def test_codex_is_told_only_what_its_strict_parser_takes() -> None:
    before = ask("codex", "PreToolUse-Bash")
    assert said(Denied(ask=before, message="no")) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "no",
    }
    assert write_answer(Allowed(ask=before)) == b""
    asked = ask("codex", "PermissionRequest-Bash")
    assert said(Allowed(ask=asked)) == {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    assert said(Denied(ask=asked, message="no"))["decision"] == {"behavior": "deny", "message": "no"}


def test_a_question_of_codex_passes() -> None:
    event = load("codex", "PreToolUse-request_user_input")
    assert event.kind is HookKind.QUESTION_ASKED
    assert find_provider("codex").ask_of(event) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Allowed(ask=ask("codex", "PermissionRequest-Bash"), updated_input={"command": "ls"}),
        lambda: Allowed(ask=ask("codex", "PreToolUse-Bash"), updated_input={"command": "ls"}),
        lambda: AskedInstead(ask=ask("codex", "PreToolUse-Bash"), reason="r"),
        lambda: AskedInstead(ask=ask("codex", "PermissionRequest-Bash"), reason="r"),
        lambda: AskedInstead(ask=ask("claude", "PermissionRequest-Bash"), reason="r"),
        lambda: ApprovalAsk(provider="claude", event="Stop", tool="Bash", exact="{}"),
        lambda: ApprovalAsk(provider="claude", event="Elicitation", tool="Bash", exact="{}"),
        lambda: QuestionAsk(provider="codex", event="PreToolUse", questions=(Question(text="q"),), exact="{}"),
        lambda: ElicitationAsk(provider="codex", event="Elicitation", form=Elicitation()),
        lambda: ElicitationAsk(provider="claude", event="ElicitationResult", form=Elicitation()),
    ],
)
def test_an_answer_that_its_event_does_not_allow_cannot_be_made(make: Any) -> None:
    with pytest.raises(RefusedError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Answered(ask=ask("claude", "PreToolUse-AskUserQuestion"), texts=("Blue",)),
        lambda: Answered(ask=ask("claude", "PreToolUse-AskUserQuestion"), texts=("Blue", " ")),
        lambda: Denied(ask=ask("claude", "PreToolUse-Bash"), message=" "),
        lambda: Accepted(ask=ask("claude", "Elicitation-form"), content={}),
        lambda: Accepted(ask=ask("claude", "Elicitation-form"), content={"name": "x", "size": "XL"}),
        lambda: Accepted(ask=ask("claude", "Elicitation-form", mode="url"), content={"name": "x"}),
    ],
)
def test_an_answer_that_is_incomplete_or_does_not_fit_cannot_be_made(make: Any) -> None:
    with pytest.raises(InvalidError):
        make()


def test_two_questions_with_one_text_take_one_answer_and_refuse_two() -> None:
    question = {"question": "Again?", "header": "h", "options": [{"label": "a"}, {"label": "b"}]}
    found = ask("claude", "PreToolUse-AskUserQuestion", tool_input={"questions": [question, question]})
    assert said(Answered(ask=found, texts=("a", "a")))["updatedInput"]["answers"] == {"Again?": "a"}
    with pytest.raises(InvalidError, match="same text"):
        Answered(ask=found, texts=("a", "b"))


def _every_answer(found: Ask) -> list[Answer]:
    """Every answer that can be made for an ask, found by trying them all."""
    attempts: list[Any] = [
        lambda: Answered(ask=found, texts=tuple("free text" for _ in found.questions)),  # type: ignore[union-attr]
        lambda: Allowed(ask=found),  # type: ignore[arg-type]
        lambda: Allowed(ask=found, updated_input={"command": "true"}),  # type: ignore[arg-type]
        lambda: Denied(ask=found, message="no"),  # type: ignore[arg-type]
        lambda: AskedInstead(ask=found, reason="why"),  # type: ignore[arg-type]
        lambda: Accepted(ask=found, content={"name": "n"}),  # type: ignore[arg-type]
        lambda: Refused(ask=found, action="decline"),  # type: ignore[arg-type]
        lambda: Refused(ask=found, action="cancel"),  # type: ignore[arg-type]
    ]
    made: list[Answer] = []
    for attempt in attempts:
        try:
            made.append(attempt())
        except (WhiskError, AttributeError):
            continue
    return made


# The keys that each event's document may have; Codex drops a document with any other.
DOCUMENTS = {
    "PreToolUse": {"permissionDecision", "permissionDecisionReason", "updatedInput"},
    "PermissionRequest": {"decision"},
    "Elicitation": {"action", "content", "decision", "elicitationId"},
}


@pytest.mark.parametrize(("provider", "path"), FILES, ids=[f"{name}-{path.stem}" for name, path in FILES])
def test_every_captured_payload_is_answered_in_every_allowed_way_and_no_other(provider: str, path: Any) -> None:
    found = find_provider(provider)
    event = found.read(read_payload(path.read_bytes()), "")
    waits = found.ask_of(event)
    decides = event.name in ("PreToolUse", "PermissionRequest", "Elicitation")
    if not decides or (provider == "codex" and event.kind is HookKind.QUESTION_ASKED):
        assert waits is None
        return
    assert waits is not None
    made = _every_answer(waits)
    assert len(made) == len(waits.shapes)
    for answer in made:
        output = write_answer(answer)
        if not output:
            assert (provider, event.name) == ("codex", "PreToolUse")
            continue
        assert set(said(answer)) - {"hookEventName"} <= DOCUMENTS[event.name]


def test_the_table_of_shapes_names_only_events_that_the_providers_send() -> None:
    for provider, event, _ in SHAPES:
        assert event in find_provider(provider).events
