"""What an attacker or bad luck could make of a decision: no answer that nobody gave, and no call that was let run."""

from __future__ import annotations

import json

import pytest

from tests.bridge_house import DEADLINE, Build, House
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.bridges.bridge import BridgeCredentials
from whisk.bridges.hook import HookOutcome
from whisk.bridges.policy import PolicyDraft
from whisk.bridges.resolution import Resolution
from whisk.errors import GoneError, RefusedError
from whisk.storage import bridge as bridge_storage


def rule(house: House, effect: str, text: str) -> str:
    return get(house.bridges.add_policy.remote(PolicyDraft(effect=effect, rule=text))).id  # type: ignore[arg-type]


def held(house: House, bridge: BridgeCredentials) -> HookOutcome:
    """A call that an asking rule holds before it runs."""
    asked = house.call(bridge, "PreToolUse-Bash")
    assert asked.result == "approval_created"
    return asked


def permission(output: str) -> str:
    return str(json.loads(output)["hookSpecificOutput"]["permissionDecision"])


def break_disk(house: House, table: str, what: str) -> None:
    """From now on the database itself refuses."""
    get(
        house.journal.write.remote(
            lambda db: db.execute_sql(
                f"CREATE TRIGGER broken BEFORE {what} ON {table} BEGIN SELECT RAISE(ABORT, 'disk full'); END"
            )
        )
    )


def mend_disk(house: House) -> None:
    get(house.journal.write.remote(lambda db: db.execute_sql("DROP TRIGGER broken")))


def test_a_release_is_used_up_by_its_own_permission_request_and_lets_no_later_call_pass(build: Build) -> None:
    house = build()
    bridge = house.register()
    rule(house, "ask", "Bash")
    get(house.actor(held(house, bridge)).release.remote(Resolution()))
    # The window may have answered without a permission request; the same call again is a new question.
    held(house, bridge)
    assert house.call(bridge, "PermissionRequest-Bash").result == "approval_created"


@pytest.mark.parametrize(("provider", "told"), [("claude", "ask"), ("codex", "deny")])
@pytest.mark.parametrize("end", ["Stop", "terminal", "hook"])
def test_a_call_held_by_a_rule_does_not_run_because_the_wait_was_called_off(
    build: Build, provider: str, told: str, end: str
) -> None:
    house = build(detach_grace=0.0)
    bridge = house.register(provider)
    rule(house, "ask", "Bash")
    asked = house.call(bridge, "PreToolUse-Bash", relay="mine")
    output = house.wait_for(asked)
    match end:
        case "Stop":
            house.call(bridge, "Stop", session_id=house.stored(asked).provider_session)
        case "terminal":
            get(house.bridges.close_pty.remote("pty_1"))
        case _:
            house.actor(asked).detach.tell("hook")
    house.until_state(asked, "withdrawn")
    if end == "hook":
        again = house.call(bridge, "PreToolUse-Bash", relay="mine", again=True)
        assert permission(again.output) == told
    else:
        assert permission(get(output, timeout=DEADLINE)) == told


def test_a_held_call_whose_hook_comes_back_late_after_a_restart_does_not_run(build: Build, system: ActorSystem) -> None:
    house = build()
    bridge = house.register()
    rule(house, "ask", "Bash")
    asked = house.call(bridge, "PreToolUse-Bash", relay="mine")
    for name in ("bridges", "journal"):
        get(system.stop(name), timeout=DEADLINE)
    house.store.close()
    later = build(orphan_grace=0.0)
    later.until_state(asked, "orphaned")
    assert permission(later.call(bridge, "PreToolUse-Bash", relay="mine", again=True).output) == "ask"


def test_codex_cannot_be_made_to_ask_before_a_tool_so_a_held_call_is_not_released(build: Build) -> None:
    house = build()
    bridge = house.register("codex")
    rule(house, "ask", "Bash")
    asked = held(house, bridge)
    with pytest.raises(RefusedError, match="allow or deny"):
        get(house.actor(asked).release.remote(Resolution()))
    assert house.stored(asked).state == "pending"


@pytest.mark.parametrize("closed", [False, True])
def test_a_second_call_under_the_same_relay_id_does_not_get_the_answer_of_the_first(build: Build, closed: bool) -> None:
    house = build()
    bridge = house.register()
    first = house.call(bridge, "PermissionRequest-Bash", relay="same")
    if closed:
        get(house.actor(first).resolve.remote(Resolution(answer="allow")))
    second = house.call(
        bridge, "PermissionRequest-Bash", relay="same", again=True, tool_input={"command": "rm -rf /"}
    )  # fmt: skip
    assert (second.result, second.output) == ("approval_created", "")
    assert second.request_id != first.request_id


def test_a_denying_rule_holds_for_every_call_under_one_relay_id(build: Build) -> None:
    house = build()
    bridge = house.register()
    rule(house, "deny", "Bash")
    for command in ("rm a", "rm b", "rm b"):
        outcome = house.call(bridge, "PreToolUse-Bash", relay="same", tool_input={"command": command})
        assert permission(outcome.output) == "deny"


@pytest.mark.parametrize(("effect", "told"), [("deny", "deny"), ("ask", "ask")])
def test_a_rule_holds_while_the_disk_refuses_its_record(build: Build, effect: str, told: str) -> None:
    house = build()
    bridge = house.register()
    rule(house, effect, "Bash")
    break_disk(house, "bridge_request", "INSERT")
    outcome = house.call(bridge, "PreToolUse-Bash")
    assert (permission(outcome.output), outcome.request_id) == (told, "")
    assert house.store.read(bridge_storage.list_requests) == []


def test_after_the_hook_was_told_that_nobody_answered_no_answer_is_taken(build: Build) -> None:
    house = build(limit=0.05)
    rule(house, "ask", "Bash")
    asked = held(house, house.register())
    output = house.wait_for(asked)
    break_disk(house, "bridge_request", "UPDATE")
    assert permission(get(output, timeout=DEADLINE)) == "ask"
    mend_disk(house)
    with pytest.raises(GoneError, match="nobody answered"):
        get(house.actor(asked).resolve.remote(Resolution(answer="allow")))
    assert house.until_state(asked, "timed_out").closing.by == "limit"  # type: ignore[union-attr]


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_call_nested_too_deeply_to_be_read_is_denied_where_a_rule_could_touch_it(build: Build, effect: str) -> None:
    house = build()
    bridge = house.register()
    deep: object = "x"
    for _ in range(150):
        deep = [deep]
    call = {"tool_name": "mcp__files__write", "tool_input": {"path": "/etc/passwd", "more": deep}}
    assert house.call(bridge, "PreToolUse-Bash", **call).result == "unreadable"
    allowing, touching = rule(house, "allow", "*"), rule(house, effect, "mcp__files__*")
    assert house.call(bridge, "PreToolUse-Bash", **(call | {"tool_name": "Other"})).result == "unreadable"
    outcome = house.call(bridge, "PreToolUse-Bash", **call)
    assert permission(outcome.output) == "deny"
    assert touching in outcome.output
    assert allowing not in outcome.output
