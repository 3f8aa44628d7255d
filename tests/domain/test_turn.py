"""What the hooks of an agent tell about its turn, and what they do not."""

from __future__ import annotations

import pytest

from whisk.clock import Instant
from whisk.hooks.turn import Decision, Turn, TurnReport, turn_of, turn_state

NOW = Instant(1_800_000_000_000_000_000)


def report(second: int, name: str, session: str = "s", **fields: str) -> TurnReport:
    return TurnReport(name=name, at=NOW.plus(second), provider="claude", session=session, **fields)  # type: ignore[arg-type]


def turn(*reports: TurnReport, decision: Decision | None = None) -> Turn | None:
    """As the log is read: given oldest first here, looked at newest first."""
    return turn_of(reversed(reports), lambda at: decision if decision is not None and decision.at > at else None)


def state(*reports: TurnReport, decision: Decision | None = None) -> str | None:
    found = turn(*reports, decision=decision)
    return None if found is None else found.state


def decided(second: int, state: str, reason: str = "", *, asks: bool = False) -> Decision:
    return Decision(at=NOW.plus(second), state=state, reason=reason, asks=asks)


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("SessionStart", {"source": "startup"}, "idle"),
        ("SessionStart", {"source": "clear"}, "idle"),
        ("SessionStart", {"source": "compact"}, None),
        ("UserPromptSubmit", {}, "working"),
        ("PreToolUse", {}, "working"),
        ("PermissionRequest", {"result": "prompt_created"}, "waiting"),
        ("PermissionRequest", {"result": "released_before"}, "waiting"),
        ("PermissionRequest", {"result": "denied_by_rule"}, "working"),
        ("Elicitation", {}, "waiting"),
        ("PostToolUse", {}, "working"),
        ("Stop", {}, "idle"),
        ("StopFailure", {}, "idle"),
        ("Interrupt", {}, "idle"),
        ("SessionEnd", {}, "ended"),
        ("PreCompact", {"source": "auto"}, "working"),
        ("PostCompact", {"source": "manual"}, "idle"),
        ("PostCompact", {"source": "auto"}, None),
        ("Notification", {"notification": "idle_prompt"}, "idle"),
        ("Notification", {"notification": "permission_prompt"}, "waiting"),
        ("Notification", {"notification": "auth_success"}, None),
        ("Notification", {}, None),
        ("SubagentStop", {}, None),
        ("MessageDisplay", {}, None),
        ("", {}, None),
    ],
)
def test_what_an_event_tells(name: str, fields: dict[str, str], expected: str | None) -> None:
    assert turn_state(report(0, name, **fields)) == expected


def test_nobody_knows_before_the_first_event_that_tells() -> None:
    assert turn() is None
    assert turn(report(1, "Notification"), report(2, "SubagentStop")) is None


def test_the_last_event_that_tells_counts_and_says_since_when() -> None:
    found = turn(report(1, "UserPromptSubmit"), report(2, "Stop"), report(3, "Notification"))
    assert found == Turn(state="idle", at=NOW.plus(2), provider="claude")


def test_idleness_begins_with_the_end_of_the_turn_and_not_with_a_reminder() -> None:
    reminder = report(62, "Notification", notification="idle_prompt")
    found = turn(report(0, "Stop"), report(1, "PreToolUse"), report(2, "Stop"), report(3, "SubagentStop"), reminder)
    assert found == Turn(state="idle", at=NOW.plus(2), provider="claude")


def test_compacting_in_the_middle_of_a_turn_is_no_idleness() -> None:
    compact = [report(2, "PreCompact", source="auto"), report(3, "SessionStart", source="compact")]
    assert state(report(1, "PostToolUse"), *compact, report(4, "PostCompact", source="auto")) == "working"


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (decided(2, "answered"), "working"),
        (decided(2, "denied"), "working"),
        (decided(2, "timed_out"), "working"),
        (decided(2, "timed_out", asks=True), "waiting"),
        (decided(2, "answered", asks=True), "waiting"),
        (decided(2, "released", asks=True), "waiting"),
        (decided(2, "withdrawn", "hook_gone", asks=True), None),
        (decided(2, "orphaned", asks=True), None),
        (decided(2, "withdrawn", "answered_elsewhere", asks=True), "waiting"),
        (decided(0, "answered"), "waiting"),
    ],
)
def test_what_a_decision_leaves_the_agent_doing(decision: Decision, expected: str | None) -> None:
    assert state(report(1, "PermissionRequest", result="approval_created"), decision=decision) == expected


def test_an_event_after_the_decision_counts_more() -> None:
    asked = report(1, "PermissionRequest", result="approval_created")
    assert state(asked, report(3, "Stop"), decision=decided(2, "answered")) == "idle"


def test_events_that_come_in_another_order_mislead_only_until_the_next() -> None:
    late = [report(1, "PermissionRequest"), report(2, "PreToolUse")]
    assert state(*late) == "working"
    late.append(report(7, "Notification", notification="permission_prompt"))
    assert state(*late) == "waiting"
    assert state(*late, report(9, "PostToolUse")) == "working"


def test_a_dialog_that_was_noticed_before_the_answer_is_over_with_it() -> None:
    noticed = report(7, "Notification", notification="permission_prompt")
    assert state(report(1, "PermissionRequest"), noticed) == "waiting"
    assert state(report(1, "PermissionRequest"), noticed, decision=decided(9, "answered")) == "working"


def test_an_agent_started_by_a_tool_of_another_leaves_that_one_at_work() -> None:
    outer = [report(1, "UserPromptSubmit", "outer"), report(2, "PreToolUse", "outer")]
    inner = [report(3, "SessionStart", "inner"), report(4, "UserPromptSubmit", "inner"), report(5, "Stop", "inner")]
    assert state(*outer, *inner, report(6, "SessionEnd", "inner")) == "working"
    assert state(*outer, *inner, report(6, "SessionEnd", "inner"), report(7, "SessionEnd", "outer")) == "ended"


def test_a_session_that_broke_off_between_turns_does_not_come_back_to_life() -> None:
    broken = [report(1, "UserPromptSubmit", "old"), report(2, "Stop", "old")]
    assert state(*broken, report(3, "SessionStart", "new"), report(4, "SessionEnd", "new")) == "ended"


def test_clearing_begins_anew() -> None:
    cleared = [report(1, "Stop", "a"), report(2, "SessionEnd", "a"), report(3, "SessionStart", "b", source="clear")]
    assert state(*cleared) == "idle"
