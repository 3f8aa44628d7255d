from __future__ import annotations

import pytest

from tests.captured import load
from whisk.bridges.work_hook import Presented, ends_turn, leaves_planning, plan_of

PLAN = {"plan": "# Fix the login\n\n1. Test\n"}


@pytest.mark.parametrize("name", ["PreToolUse-ExitPlanMode", "PermissionRequest-ExitPlanMode"])
def test_both_hooks_of_the_call_that_leaves_planning_are_known(name: str) -> None:
    assert leaves_planning(load("claude", name))


@pytest.mark.parametrize("name", ["PreToolUse-Bash", "PostToolUse-ExitPlanMode", "PermissionRequest-Bash", "Stop"])
def test_no_other_event_leaves_planning(name: str) -> None:
    assert not leaves_planning(load("claude", name))


@pytest.mark.parametrize(
    ("tool_input", "presented"),
    [
        (PLAN, Presented(title="Fix the login", body=PLAN["plan"])),
        ({"plan": "1. Test"}, Presented(title="Plan", body="1. Test")),
        ({"plan": "  "}, Presented(title="Plan", body="")),
        ({"plan": 5}, Presented(title="Plan", body="")),
        ({}, Presented(title="Plan", body="")),
    ],
)
def test_a_plan_has_the_title_of_its_first_heading(tool_input: dict[str, object], presented: Presented) -> None:
    assert plan_of(load("claude", "PreToolUse-ExitPlanMode", tool_input=tool_input)) == presented


def test_a_plan_beside_the_tools_input_is_found_too() -> None:
    assert plan_of(load("claude", "PreToolUse-ExitPlanMode", plan="1. Test")).body == "1. Test"


@pytest.mark.parametrize("provider", ["claude", "codex"])
def test_a_stop_is_the_end_of_a_turn(provider: str) -> None:
    assert ends_turn(load(provider, "Stop"))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("Stop", {"stop_hook_active": True}),
        ("Stop", {"background_tasks": [{"id": "b1"}]}),
        ("Stop", {"session_crons": [{"id": "c1"}]}),
        ("Stop", {"agent_id": "sub"}),
        ("StopFailure-rate_limit", {}),
        ("SubagentStop", {}),
        ("SessionEnd-prompt_input_exit", {}),
        ("Notification-idle_prompt", {}),
    ],
)
def test_what_goes_on_by_itself_or_did_not_end_well_is_no_end_of_a_turn(name: str, changes: dict[str, object]) -> None:
    assert not ends_turn(load("claude", name, **changes))
