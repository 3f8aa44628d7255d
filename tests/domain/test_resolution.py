"""From what a person typed to exactly the answer that the agent gets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.captured import ask
from whisk.bridges.choice import split_labels
from whisk.bridges.resolution import Resolution, released, resolve, unanswered
from whisk.errors import InvalidError, TooLargeError
from whisk.hooks.answer import Accepted, Allowed, Answered, AskedInstead, Denied, Refused

LABELS = ("a", "a", "Yes, always", "Yes", "always", "x,y")


def question(*labels: str, multi: bool = True) -> Any:
    asked = {"question": "Which?", "header": "h", "multiSelect": multi, "options": [{"label": one} for one in labels]}
    return ask("claude", "PreToolUse-AskUserQuestion", tool_input={"questions": [asked]})


def texts(found: Any, **said: Any) -> tuple[str, ...]:
    answer = resolve(found, Resolution(**said))
    assert isinstance(answer, Answered)
    return answer.texts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Yes, always", ["Yes, always"]),
        ("Yes, always, Yes", ["Yes, always", "Yes"]),
        ("always,Yes ,  x,y", ["always", "Yes", "x,y"]),
        ("a, a", ["a", "a"]),
        ("a, a, a", None),
        ("Yes, never", None),
        ("Yes,", None),
        ("", None),
    ],
)
def test_labels_that_hold_commas_are_matched_whole(text: str, parts: list[str] | None) -> None:
    assert split_labels(text, LABELS) == parts


def test_splitting_hostile_text_takes_no_exponential_time() -> None:
    labels = tuple("a" * n for n in range(1, 30)) + tuple(", ".join(["a"] * n) for n in range(2, 30))
    assert split_labels(", ".join(["a"] * 400) + ", b", labels) is None


@pytest.mark.parametrize("count", [2000, 500_000])
def test_text_of_any_length_is_read_or_is_free_text(count: int) -> None:
    assert split_labels(", ".join(["a"] * count), ("a", "b")) is None
    assert split_labels(" " * count + "a" + " " * count, ("a", "b")) == ["a"]
    assert texts(question("a", "b"), answer=", ".join(["a"] * count)) == (", ".join(["a"] * count),)


def test_as_many_labels_as_an_agent_offers_are_read() -> None:
    labels = tuple(f"option {number}" for number in range(3000))
    assert split_labels(",".join(labels), labels) == list(labels)


def test_one_answer_per_question_in_order() -> None:
    found = ask("claude", "PreToolUse-AskUserQuestion")
    assert texts(found, answers=["Blue", "Olives,Cheese"]) == ("Blue", "Olives, Cheese")
    assert texts(found, answers=[2, [1, "Olives"]]) == ("Blue", "Cheese, Olives")
    assert texts(found, answers={"Which toppings?": ["Olives"], "Which color?": "Red"}) == ("Red", "Olives")


def test_claude_takes_free_text_word_for_word() -> None:
    assert texts(question("a", "b"), answer="Cheese,  and more") == ("Cheese,  and more",)
    assert texts(question("a", "b", multi=False), answer="a, b") == ("a, b",)


def test_options_of_equal_label_are_told_apart_by_number_and_given_by_label() -> None:
    assert texts(question(*LABELS), answers=[[1, 3]]) == ("a, Yes, always",)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "answer required"),
        ({"answer": "  "}, "answer required"),
        ({"answer": "Blue"}, "2 questions were asked but 1"),
        ({"answers": ["Blue", "Cheese", "more"]}, "2 questions were asked but 3"),
        ({"answers": ["Blue", ""]}, "not an option"),
        ({"answers": [3, "Cheese"]}, '"3" is not an option; choose from: Red; Blue'),
        ({"answers": [0, "Cheese"]}, "not an option"),
        ({"answers": [["Red", "Blue"], "Cheese"]}, "only one answer"),
        ({"answers": {"Which color?": "Red"}}, "no answer to: Which toppings"),
        ({"answers": {"Which colour?": "Red"}}, "no such question: Which colour"),
        ({"answers": {"Which color?": {"a": 1}, "Which toppings?": "Cheese"}}, "not an answer to 'Which color"),
        ({"action": "allow"}, "not an option here"),
        ({"answers": ["Blue\0", "Cheese"]}, "NUL"),
    ],
)
def test_what_does_not_answer_every_question_is_refused_with_what_would(said: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        resolve(ask("claude", "PreToolUse-AskUserQuestion"), Resolution(**said))


def test_an_answer_out_of_all_proportion_is_refused() -> None:
    with pytest.raises(TooLargeError):
        resolve(question("a"), Resolution(answer="x" * (4 * 1024 * 1024 + 1)))


def test_a_question_can_be_denied_with_a_reason() -> None:
    answer = resolve(ask("claude", "PreToolUse-AskUserQuestion"), Resolution(action="deny", reason="not now"))
    assert isinstance(answer, Denied)
    assert answer.message == "not now"


def test_an_approval_is_allowed_denied_or_edited() -> None:
    found = ask("claude", "PermissionRequest-Bash")
    assert resolve(found, Resolution(answer="Allow")) == Allowed(ask=found)
    assert resolve(found, Resolution(action="deny", reason="no")) == Denied(ask=found, message="no")
    edited = resolve(found, Resolution(updated_input={"command": "ls"}))
    assert edited == Allowed(ask=found, updated_input={"command": "ls"})


@pytest.mark.parametrize("word", ["yes", "ask", "answer"])
def test_another_word_than_the_choices_of_an_approval_is_refused_with_them(word: str) -> None:
    with pytest.raises(InvalidError, match="choose from: allow, deny, edit"):
        resolve(ask("claude", "PermissionRequest-Bash"), Resolution(answer=word))


def test_a_form_is_filled_in_field_by_field_or_exactly() -> None:
    found = ask("claude", "Elicitation-form")
    filled = Accepted(ask=found, content={"name": "dev", "size": "M", "ok": True})
    assert resolve(found, Resolution(answers=["dev", "M", "yes"])) == filled
    assert resolve(found, Resolution(answers={"name": "dev", "ok": True, "size": "M"})) == filled
    assert resolve(found, Resolution(content={"name": "dev"})) == Accepted(ask=found, content={"name": "dev"})


@pytest.mark.parametrize(
    ("said", "action"),
    [
        ({"answer": "decline"}, "decline"),
        ({"action": "deny"}, "decline"),
        ({"action": "decline"}, "decline"),
        ({"answer": "cancel"}, "cancel"),
    ],
)
def test_a_form_can_be_declined_or_cancelled(said: dict[str, Any], action: str) -> None:
    found = ask("claude", "Elicitation-form")
    assert resolve(found, Resolution(**said)) == Refused(ask=found, action=action)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [{"action": "accept"}, {"answer": "accept"}, {"content": {}}])
def test_a_form_with_required_fields_is_not_accepted_without_them(said: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="requires name"):
        resolve(ask("claude", "Elicitation-form"), Resolution(**said))


def test_the_only_text_field_of_a_form_takes_the_word_decline_as_text() -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}}
    found = ask("claude", "Elicitation-form", requested_schema=schema)
    assert resolve(found, Resolution(answer="decline")) == Accepted(ask=found, content={"word": "decline"})


def test_a_link_is_accepted_without_content() -> None:
    found = ask("claude", "Elicitation-form", mode="url", url="https://x.example", requested_schema=None)
    assert resolve(found, Resolution(answer="accept")) == Accepted(ask=found)


def test_nobody_answering_is_never_said_to_be_a_person() -> None:
    for name in ("PermissionRequest-Bash", "PreToolUse-AskUserQuestion", "PreToolUse-Bash"):
        answer = unanswered(ask("claude", name), "deny", "", 25.0)
        assert isinstance(answer, Denied)
        assert answer.message == "Nobody answered within 25 s, and whisk is set to deny then. No person refused this."
    form = ask("claude", "Elicitation-form")
    assert unanswered(form, "deny", "", 25.0) == Refused(ask=form, action="cancel")


def test_nobody_answering_leaves_the_decision_to_the_agents_own_window() -> None:
    assert unanswered(ask("claude", "PermissionRequest-Bash"), "ask", "", 25.0) is None
    assert unanswered(ask("claude", "PreToolUse-AskUserQuestion"), "ask", "", 25.0) is None


def test_a_call_held_by_a_rule_does_not_run_because_nobody_came() -> None:
    assert isinstance(unanswered(ask("claude", "PreToolUse-Bash"), "ask", "", 25.0), AskedInstead)
    assert isinstance(unanswered(ask("codex", "PreToolUse-Bash"), "ask", "", 25.0), Denied)
    assert isinstance(released(ask("claude", "PreToolUse-Bash")), AskedInstead)


def test_the_default_answer_is_given_where_it_fits() -> None:
    found = ask("claude", "PreToolUse-AskUserQuestion")
    assert unanswered(found, "default", "@first", 5.0) == Answered(ask=found, texts=("Red", "Cheese"))
    assert unanswered(found, "default", "whatever", 5.0) == Answered(ask=found, texts=("whatever", "whatever"))
    approval = ask("claude", "PermissionRequest-Bash")
    assert unanswered(approval, "default", "allow", 5.0) == Allowed(ask=approval)
    assert unanswered(approval, "default", "@first", 5.0) is None
    assert unanswered(ask("claude", "Elicitation-form"), "default", "@first", 5.0) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("PermissionRequest-Bash", {"answer": "deny", "updated_input": {"command": "ls"}}),
        ("PermissionRequest-Bash", {"answer": "deny", "action": "allow"}),
        ("PermissionRequest-Bash", {"answers": ["deny"], "action": "allow"}),
        ("PermissionRequest-Bash", {"content": {"name": "x"}, "action": "allow"}),
        ("Elicitation-form", {"action": "decline", "content": {"name": "x"}}),
        ("Elicitation-form", {"action": "cancel", "answers": {"name": "x"}}),
        ("Elicitation-form", {"action": "deny", "answers": ["x"]}),
        ("Elicitation-form", {"answer": "decline", "content": {"name": "x"}}),
        ("Elicitation-form", {"content": {"name": "x"}, "answers": {"name": "y"}}),
        ("PreToolUse-AskUserQuestion-single", {"answer": "Yes", "answers": ["No"]}),
        ("PreToolUse-AskUserQuestion-single", {"answer": "Yes", "action": "deny"}),
        ("PreToolUse-AskUserQuestion-single", {"answer": "Yes", "updated_input": {}}),
    ],
)
def test_what_says_two_things_at_once_is_refused(name: str, said: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="not both"):
        resolve(ask("claude", name), Resolution(**said))


@pytest.mark.parametrize("word", ["allow", "deny", "accept", "decline", "cancel"])
def test_a_default_that_is_the_word_of_another_kind_of_prompt_is_no_answer_to_a_question(word: str) -> None:
    assert unanswered(ask("claude", "PreToolUse-AskUserQuestion"), "default", word, 5.0) is None
