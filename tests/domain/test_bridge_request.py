"""The life of one request: how it ends, who is named, and what an agent's later events prove."""

from __future__ import annotations

import msgspec
import pytest

from tests.captured import NOW, load, request
from whisk.bridges.evidence import effects
from whisk.bridges.prompt import approval_of, prompt_of
from whisk.bridges.request import BridgeRequest, State, answered, close, ended, taken, timed_out
from whisk.bridges.resolution import Resolution, resolve
from whisk.bridges.setting import PromptSettings
from whisk.errors import ConflictError, GoneError, InvalidError
from whisk.hooks.event import HookEvent
from whisk.values import decode, encode, to_builtins


def resolved(found: BridgeRequest, **said: object) -> BridgeRequest:
    answer = resolve(found.ask, Resolution(**said))  # type: ignore[arg-type]
    return close(found, answered(found, answer, NOW, "ada"))


def proofs(found: BridgeRequest, event: HookEvent) -> list[tuple[str, str]]:
    return [(effect.proof, effect.reason) for effect in effects([found], event)]


def test_a_request_survives_storage_with_text_that_is_no_unicode() -> None:
    questions = [{"question": "a\ud83d?\0", "options": []}]
    found = request("claude", "PreToolUse-AskUserQuestion", tool_input={"questions": questions})
    again = decode(encode(found), BridgeRequest)
    assert again == found
    assert "\\ud83d?\\u0000" in resolved(again, answer="x").closing.output  # type: ignore[union-attr]


def test_an_answered_request_names_who_and_when_and_the_exact_output() -> None:
    found = resolved(request("claude", "PreToolUse-AskUserQuestion-single"), answer="Yes")
    assert found.closing is not None
    assert (found.state, found.closing.by, found.closing.at) == ("answered", "ada", NOW)
    assert '"answers":{"Proceed?":"Yes"}' in found.closing.output


@pytest.mark.parametrize(
    ("name", "said", "state"),
    [
        ("PermissionRequest-Bash", {"answer": "allow"}, "answered"),
        ("PermissionRequest-Bash", {"answer": "deny"}, "denied"),
        ("Elicitation-form", {"answer": "decline"}, "denied"),
        ("Elicitation-form", {"answer": "cancel"}, "denied"),
        ("Elicitation-form", {"content": {"name": "x"}}, "answered"),
        ("PreToolUse-AskUserQuestion-single", {"action": "deny"}, "denied"),
    ],
)
def test_refusals_are_told_from_answers(name: str, said: dict[str, object], state: State) -> None:
    assert resolved(request("claude", name), **said).state == state


def test_the_loser_is_told_who_won() -> None:
    found = resolved(request("claude", "PermissionRequest-Bash"), answer="deny", reason="no")
    with pytest.raises(ConflictError, match="denied by ada") as refusal:
        close(found, ended("released", NOW, "bob", "later"))
    assert refusal.value.details["by"] == "ada"
    assert refusal.value.details["outcome"] == "denied"


@pytest.mark.parametrize("state", ["timed_out", "withdrawn", "orphaned"])
def test_a_request_that_is_past_is_gone(state: State) -> None:
    found = close(request("claude", "PermissionRequest-Bash"), ended(state, NOW, "agent", "hook_gone"))
    assert isinstance(taken(found), GoneError)


def test_a_time_out_is_no_persons_denial() -> None:
    found = request("claude", "PermissionRequest-Bash")
    closed = close(found, timed_out(found, None, found.expires_at))
    assert closed.closing is not None
    assert (closed.state, closed.closing.by, closed.closing.output) == ("timed_out", "limit", "")
    assert closed.closing.reason == "nobody answered within 590 s"
    assert prompt_of(closed).status == "timed_out"


def test_a_native_answer_closes_the_waiting_request() -> None:
    asked = request("claude", "PermissionRequest-Bash")
    assert proofs(asked, load("claude", "PostToolUseFailure-Bash")) == [("withdrawn", "answered_elsewhere")]
    assert proofs(asked, load("claude", "Stop")) == [("withdrawn", "answered_elsewhere")]
    assert proofs(asked, load("claude", "SessionEnd-clear")) == [("withdrawn", "session_ended")]
    question = request("claude", "PermissionRequest-AskUserQuestion")
    assert proofs(question, load("claude", "PostToolUse-AskUserQuestion")) == [("withdrawn", "answered_elsewhere")]


def test_codex_reports_a_call_without_the_justification_of_its_request() -> None:
    asked = request("codex", "PermissionRequest-Bash")
    command = {"command": "touch /home/dev/project/esc.txt"}
    assert proofs(asked, load("codex", "PostToolUse-Bash", tool_input=command)) == [("withdrawn", "answered_elsewhere")]
    assert proofs(asked, load("codex", "Interrupt")) == [("withdrawn", "interrupted")]


def test_other_calls_sessions_and_agents_close_nothing() -> None:
    asked = request("claude", "PermissionRequest-Bash")
    assert proofs(asked, load("claude", "PostToolUse-Read")) == []
    assert proofs(asked, load("claude", "PostToolUseFailure-Bash", session_id="another")) == []
    assert proofs(asked, load("claude", "Stop", session_id="another")) == []
    assert proofs(asked, load("claude", "SubagentStop")) == []
    assert proofs(asked, load("claude", "Notification-permission_prompt")) == []
    assert proofs(request("claude", "PermissionRequest-Bash", agent_id="sub"), load("claude", "Stop")) == []
    assert proofs(asked, load("claude", "PostToolUse-Bash", session_id="")) == []


def test_a_prompt_typed_while_codex_is_busy_ends_nothing() -> None:
    assert proofs(request("codex", "PermissionRequest-Bash"), load("codex", "UserPromptSubmit")) == []
    asked = request("claude", "PermissionRequest-Bash")
    assert proofs(asked, load("claude", "UserPromptSubmit")) == [("withdrawn", "answered_elsewhere")]


def test_a_call_is_recognised_by_its_id_where_there_is_one() -> None:
    asked = request("claude", "PreToolUse-Bash")
    same = load("claude", "PostToolUseFailure-Bash", tool_use_id=asked.tool_use_id, tool_input={})
    assert proofs(asked, same) == [("withdrawn", "answered_elsewhere")]
    assert proofs(asked, load("claude", "PostToolUseFailure-Bash", tool_use_id="toolu_other")) == []


def test_an_answer_is_applied_when_the_agents_event_shows_it() -> None:
    allowed = resolved(request("claude", "PermissionRequest-Bash"), answer="allow")
    assert proofs(allowed, load("claude", "PostToolUseFailure-Bash")) == [("applied", "")]
    question = resolved(request("claude", "PermissionRequest-AskUserQuestion"), answers=["Red", "Cheese, Olives"])
    assert proofs(question, load("claude", "PostToolUse-AskUserQuestion")) == [("applied", "")]
    form = resolved(request("claude", "Elicitation-form"), content={"name": "dev", "ok": True})
    assert proofs(form, load("claude", "ElicitationResult-accept")) == [("applied", "")]


def test_an_edited_call_is_recognised_by_its_new_input() -> None:
    edited = resolved(request("claude", "PermissionRequest-Bash"), updated_input={"command": "ls"})
    assert proofs(edited, load("claude", "PostToolUse-Bash", tool_input={"command": "ls"})) == [("applied", "")]


def test_a_denial_is_applied_when_the_agent_goes_on_to_something_else() -> None:
    denied = resolved(request("claude", "PermissionRequest-Bash"), answer="deny")
    assert proofs(denied, load("claude", "Notification-idle_prompt")) == []
    assert proofs(denied, load("claude", "PreToolUse-Read")) == [("applied", "")]
    assert proofs(denied, load("claude", "Stop")) == [("applied", "")]


def test_an_answer_that_the_agent_did_not_follow_is_overruled() -> None:
    denied = resolved(request("claude", "PermissionRequest-Bash"), answer="deny")
    assert proofs(denied, load("claude", "PostToolUseFailure-Bash")) == [("overruled", "the agent did otherwise")]
    blue = resolved(request("claude", "PermissionRequest-AskUserQuestion"), answers=["Blue", "Cheese"])
    assert proofs(blue, load("claude", "PostToolUse-AskUserQuestion")) == [("overruled", "the agent did otherwise")]
    form = resolved(request("claude", "Elicitation-form"), content={"name": "dev"})
    assert proofs(form, load("claude", "ElicitationResult-cancel")) == [("overruled", "the agent did otherwise")]


def test_one_report_concerns_one_of_two_equal_calls_the_allowed_one_first() -> None:
    denied = resolved(request("claude", "PermissionRequest-Bash"), answer="deny")
    waiting = request("claude", "PermissionRequest-Bash")
    allowed = resolved(request("claude", "PermissionRequest-Bash"), answer="allow")
    done = load("claude", "PostToolUseFailure-Bash")
    assert [(e.request_id, e.proof) for e in effects([denied, waiting, allowed], done)] == [(allowed.id, "applied")]
    assert [(e.request_id, e.proof) for e in effects([denied, waiting], done)] == [(waiting.id, "withdrawn")]
    later = msgspec.structs.replace(waiting, created_at=NOW.plus(1))
    assert [(e.request_id, e.proof) for e in effects([allowed, later], done)] == [(later.id, "withdrawn")]
    settled = msgspec.structs.replace(allowed, applied_at=NOW)
    assert [(e.request_id, e.proof) for e in effects([settled], done)] == []


def test_a_prompt_has_the_first_question_where_old_clients_look_and_all_of_them_beside() -> None:
    shown = to_builtins(prompt_of(request("claude", "PreToolUse-AskUserQuestion")))
    assert next(iter(shown)) == "id"
    assert (shown["kind"], shown["status"], shown["outcome"]) == ("question", "pending", "pending")
    assert (shown["message"], shown["toolName"]) == ("Which color?", "AskUserQuestion")
    assert list(shown["options"]) == [
        {"label": "Red", "value": "Red", "description": "A warm color"},
        {"label": "Blue", "value": "Blue", "description": "A cold color"},
    ]
    assert [question["multiSelect"] for question in shown["questions"]] == [False, True]
    assert list(shown["allowed"]) == ["answer", "deny"]
    assert shown["expiresAt"] > shown["createdAt"]


def test_an_approval_says_what_would_run_and_how_it_was_decided() -> None:
    found = resolved(request("claude", "PermissionRequest-Bash"), answer="deny", reason="too risky")
    assert prompt_of(found).message == "Bash: echo out; echo err >&2; exit 3"
    shown = to_builtins(approval_of(found))
    assert (shown["status"], shown["outcome"], shown["answeredBy"]) == ("resolved", "denied", "ada")
    assert shown["decision"] == {"action": "deny", "reason": "too risky"}


def test_a_limit_that_would_outlast_the_agents_hook_is_refused() -> None:
    assert PromptSettings().wait("claude") == 590.0
    assert PromptSettings(limit=25.0).wait("codex") == 25.0
    assert PromptSettings(limit=9999.0, after="never").wait("claude") == 590.0
    assert PromptSettings(limit=3600.0, hook_limits={"claude": 86400.0, "codex": 4000.0}).wait("claude") == 3600.0
    with pytest.raises(InvalidError, match="outlast"):
        PromptSettings(limit=595.0)
    with pytest.raises(InvalidError, match="outlast codex"):
        PromptSettings(limit=3600.0, hook_limits={"claude": 86400.0})
    with pytest.raises(InvalidError, match="leaves no time"):
        PromptSettings(hook_limits={"claude": 5.0})
    with pytest.raises(InvalidError, match="needs a default answer"):
        PromptSettings(after="default")
