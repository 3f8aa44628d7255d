"""Blocked hooks as actors over a real database: one answer wins, everything is on disk, nothing is invented."""

from __future__ import annotations

import pytest

from tests.bridge_house import DEADLINE, Build
from tests.captured import raw
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.bridges.bridge import BridgeCredentials
from whisk.bridges.policy import PolicyDraft
from whisk.bridges.request import BridgeRequest
from whisk.bridges.resolution import Resolution
from whisk.errors import (
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    UnauthorizedError,
    WhiskError,
)
from whisk.hooks.entry import HookContext
from whisk.hooks.payload import read_payload
from whisk.hooks.provider import find_provider
from whisk.storage import bridge as bridge_storage
from whisk.storage import hook_event as hook_storage
from whisk.storage.hook_event import HookLogQuery


def test_a_question_waits_until_a_person_answers_and_is_on_disk_before_the_agent_hears(build: Build) -> None:
    house = build()
    asked = house.call(house.register(), "PreToolUse-AskUserQuestion-single")
    assert (asked.result, asked.output) == ("prompt_created", "")
    assert house.stored(asked).state == "pending"
    output = house.wait_for(asked)
    resolved = get(house.actor(asked).resolve.remote(Resolution(answer="No", actor="ada")))
    assert house.stored(asked) == resolved
    assert '"answers":{"Proceed?":"No"}' in get(output)
    assert (resolved.state, resolved.closing.by) == ("answered", "ada")  # type: ignore[union-attr]
    assert ("agent_prompts.changed", asked.request_id) in house.announced


def test_an_approval_is_announced_as_both_lists_show_it(build: Build) -> None:
    house = build()
    asked = house.call(house.register(), "PermissionRequest-Bash")
    assert asked.result == "approval_created"
    assert {kind for kind, id in house.announced if id == asked.request_id} == {
        "agent_prompts.changed",
        "agent_bridge_approvals.changed",
    }


@pytest.mark.parametrize("group", [1, 500])
def test_of_allow_and_deny_at_once_exactly_one_wins(build: Build, group: int) -> None:
    house = build(group=group)
    bridge = house.register()
    for number in range(60):
        asked = house.call(bridge, "PermissionRequest-Bash")
        output = house.wait_for(asked)
        words = ("allow", "deny") if number % 2 else ("deny", "allow")
        actor = house.actor(asked)
        replies = [actor.resolve.remote(Resolution(answer=word, actor=word)) for word in words]
        outcomes: list[BridgeRequest | WhiskError] = []
        for reply in replies:
            try:
                outcomes.append(get(reply))
            except WhiskError as error:
                outcomes.append(error)
        (winner,) = [each for each in outcomes if isinstance(each, BridgeRequest)]
        (loser,) = [each for each in outcomes if isinstance(each, WhiskError)]
        assert isinstance(loser, ConflictError)
        assert winner.closing is not None
        assert loser.details["by"] == winner.closing.by
        assert f'"behavior":"{winner.closing.by}"' in get(output)
        assert house.stored(asked) == winner


def test_five_prompts_answered_in_reverse_order_each_reach_their_own_hook(build: Build) -> None:
    house = build()
    bridge = house.register()
    asked = [house.call(bridge, "PreToolUse-AskUserQuestion-single", tool_use_id=f"t{n}") for n in range(5)]
    outputs = [house.wait_for(each) for each in asked]
    for number in reversed(range(5)):
        get(house.actor(asked[number]).resolve.remote(Resolution(answer=f"answer {number}")))
    for number, output in enumerate(outputs):
        assert f'"Proceed?":"answer {number}"' in get(output)


def test_a_wrong_answer_changes_nothing_and_names_the_choices(build: Build) -> None:
    house = build()
    asked = house.call(house.register(), "PermissionRequest-Bash")
    with pytest.raises(InvalidError, match="choose from: allow, deny"):
        get(house.actor(asked).resolve.remote(Resolution(answer="maybe")))
    assert house.stored(asked).state == "pending"


def test_an_agent_cannot_answer_its_own_prompt(build: Build) -> None:
    house = build()
    asked = house.call(house.register(), "PermissionRequest-Bash")
    with pytest.raises(ForbiddenError):
        get(house.actor(asked).resolve.remote(Resolution(answer="allow", pty_id="pty_1")))
    with pytest.raises(ForbiddenError):
        get(house.actor(asked).release.remote(Resolution(pty_id="pty_1")))
    get(house.actor(asked).resolve.remote(Resolution(answer="allow", pty_id="pty_2", actor="orchestrator")))


def test_nobody_answering_ends_the_wait_and_is_no_denial(build: Build) -> None:
    house = build(limit=0.05)
    asked = house.call(house.register(), "PermissionRequest-Bash")
    assert get(house.wait_for(asked), timeout=DEADLINE) == ""
    closed = house.stored(asked)
    assert (closed.state, closed.closing.by) == ("timed_out", "limit")  # type: ignore[union-attr]


def test_nobody_answering_can_deny_in_nobodys_name(build: Build) -> None:
    house = build(limit=0.05, after="deny")
    asked = house.call(house.register(), "PermissionRequest-Bash")
    assert "No person refused this." in get(house.wait_for(asked), timeout=DEADLINE)
    assert house.stored(asked).state == "timed_out"


def test_a_default_answer_is_recorded_as_a_time_out(build: Build) -> None:
    house = build(limit=0.05, after="default", default_answer="@first")
    asked = house.call(house.register(), "PreToolUse-AskUserQuestion-single")
    assert '"Proceed?":"Yes"' in get(house.wait_for(asked), timeout=DEADLINE)
    closed = house.stored(asked)
    assert (closed.state, closed.closing.by, closed.closing.answers) == ("timed_out", "limit", ("Yes",))  # type: ignore[union-attr]


def test_an_answer_after_the_end_is_told_that_it_is_past(build: Build) -> None:
    house = build(limit=0.05)
    asked = house.call(house.register(), "PermissionRequest-Bash")
    actor = house.actor(asked)
    get(house.wait_for(asked), timeout=DEADLINE)
    with pytest.raises((GoneError, NotFoundError)):
        get(actor.resolve.remote(Resolution(answer="allow")))


def test_a_hook_that_hangs_up_is_withdrawn_after_a_moment(build: Build) -> None:
    house = build(detach_grace=0.05)
    asked = house.call(house.register(), "PermissionRequest-Bash")
    house.wait_for(asked, "first")
    house.actor(asked).detach.tell("first")
    closed = house.until_state(asked, "withdrawn")
    assert (closed.closing.by, closed.closing.reason) == ("agent", "hook_gone")  # type: ignore[union-attr]


def test_a_hook_that_comes_back_in_time_waits_on_and_gets_the_answer(build: Build) -> None:
    house = build(detach_grace=30.0)
    bridge = house.register()
    asked = house.call(bridge, "PermissionRequest-Bash", relay="mine")
    first = house.wait_for(asked, "first")
    house.actor(asked).detach.tell("first")
    again = house.call(bridge, "PermissionRequest-Bash", relay="mine", again=True)
    assert (again.result, again.request_id) == ("reattached", asked.request_id)
    second = house.wait_for(again, "second")
    # What the first connection still says about itself concerns nobody any more.
    house.actor(asked).detach.tell("first")
    get(house.actor(asked).resolve.remote(Resolution(answer="allow")))
    assert '"behavior":"allow"' in get(second)
    assert not first.done() or first.error() is not None, "the first connection has nobody to print it"


def test_a_later_connection_of_one_hook_takes_over(build: Build) -> None:
    house = build()
    asked = house.call(house.register(), "PermissionRequest-Bash")
    first, second = house.wait_for(asked, "first"), house.wait_for(asked, "second")
    get(house.actor(asked).resolve.remote(Resolution(answer="deny", reason="no")))
    assert '"message":"no"' in get(second)
    with pytest.raises(GoneError):
        get(first)


def test_an_answer_given_while_the_hook_was_away_is_there_when_it_comes_back(build: Build) -> None:
    house = build(detach_grace=30.0)
    bridge = house.register()
    asked = house.call(bridge, "PermissionRequest-Bash", relay="mine")
    get(house.actor(asked).resolve.remote(Resolution(answer="allow")))
    again = house.call(bridge, "PermissionRequest-Bash", relay="mine", again=True)
    assert (again.result, again.request_id) == ("reattached", "")
    assert '"behavior":"allow"' in again.output


def test_a_released_question_is_not_asked_again_at_its_permission_request(build: Build) -> None:
    house = build()
    bridge = house.register()
    asked = house.call(bridge, "PreToolUse-AskUserQuestion")
    output = house.wait_for(asked)
    released = get(house.actor(asked).release.remote(Resolution(actor="ada")))
    assert (released.state, get(output)) == ("released", "")
    assert house.call(bridge, "PermissionRequest-AskUserQuestion").result == "released_before"
    assert house.call(bridge, "PermissionRequest-AskUserQuestion").result == "prompt_created"


def test_reads_do_not_ring(build: Build) -> None:
    house = build()
    bridge = house.register()
    for _ in range(50):
        outcome = house.call(bridge, "PreToolUse-Read")
        assert (outcome.result, outcome.output, outcome.request_id) == ("passed", "", "")
    assert not [kind for kind, _ in house.announced if kind != "agent_hook_events.changed"]


def test_rules_decide_at_once_and_the_record_names_the_rule(build: Build) -> None:
    house = build()
    bridge = house.register()
    add = house.bridges.add_policy.remote
    denial = get(add(PolicyDraft(effect="deny", rule="Bash(rm *)", reason="use trash")))
    approval = get(add(PolicyDraft(effect="allow", rule="Bash(git status*)")))
    refused = house.call(bridge, "PreToolUse-Bash", tool_input={"command": "ls; rm -rf x"})
    assert refused.result == "denied_by_rule"
    assert f"Denied by the whisk rule Bash(rm *) ({denial.id}). use trash" in refused.output
    allowed = house.call(bridge, "PermissionRequest-Bash", tool_input={"command": "git status -s"})
    assert (allowed.result, '"behavior":"allow"' in allowed.output) == ("allowed_by_rule", True)
    closed = house.store.read(bridge_storage.list_requests)
    assert [(each.state, each.closing.rule_id, each.closing.by) for each in closed if each.closing] == [
        ("denied", denial.id, "rule"),
        ("answered", approval.id, "rule"),
    ]
    assert get(house.bridges.remove_policy.remote(denial.id)) == denial
    assert house.call(bridge, "PreToolUse-Bash", tool_input={"command": "rm -rf x"}).result == "passed"
    assert [policy.id for policy in get(house.bridges.policies.remote())] == [approval.id]
    with pytest.raises(NotFoundError):
        get(house.bridges.remove_policy.remote(denial.id))


def test_a_rule_that_is_there_already_is_not_added_a_second_time(build: Build) -> None:
    """Or removing it would leave the other one in force."""
    house = build()
    add = house.bridges.add_policy.remote
    first = get(add(PolicyDraft(effect="allow", rule="Bash(git status*)", reason="reads")))
    again = PolicyDraft(effect="allow", rule=" Bash(git status*) ", reason="reads", actor="somebody else")
    assert get(add(again)) == first
    with pytest.raises(ConflictError, match=first.id):
        get(add(PolicyDraft(effect="allow", rule="Bash(git status*)", reason="another")))
    for other in ({"effect": "deny"}, {"provider": "codex"}, {"project_id": "proj_2"}):
        assert get(add(PolicyDraft(**({"effect": "allow", "rule": "Bash(git status*)"} | other)))).id != first.id  # type: ignore[arg-type]
    get(house.bridges.remove_policy.remote(first.id))
    assert first not in get(house.bridges.policies.remote())


def test_an_asking_rule_makes_a_person_decide_before_the_tool_runs(build: Build) -> None:
    house = build(limit=0.05)
    bridge = house.register()
    rule = get(house.bridges.add_policy.remote(PolicyDraft(effect="ask", rule="Bash")))
    asked = house.call(bridge, "PreToolUse-Bash")
    assert asked.result == "approval_created"
    assert house.stored(asked).rule_id == rule.id
    # Nobody comes: the call must not run for that, so the agent is told to ask.
    assert '"permissionDecision":"ask"' in get(house.wait_for(asked), timeout=DEADLINE)


def test_an_allowing_rule_answers_no_question(build: Build) -> None:
    house = build()
    get(house.bridges.add_policy.remote(PolicyDraft(effect="allow", rule="*")))
    assert house.call(house.register(), "PreToolUse-AskUserQuestion").result == "prompt_created"


def test_codex_passes_where_it_takes_no_answer(build: Build) -> None:
    house = build()
    bridge = house.register("codex")
    assert house.call(bridge, "PreToolUse-request_user_input").result == "logged"
    assert house.call(bridge, "PreToolUse-Bash").result == "passed"
    assert house.call(bridge, "PermissionRequest-Bash").result == "approval_created"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("PostToolUseFailure-Bash", "answered_elsewhere"),
        ("Stop", "answered_elsewhere"),
        ("SessionEnd-clear", "session_ended"),
    ],
)
def test_a_native_answer_closes_the_waiting_request_and_frees_its_hook(build: Build, name: str, reason: str) -> None:
    house = build()
    bridge = house.register()
    asked = house.call(bridge, "PermissionRequest-Bash")
    output = house.wait_for(asked)
    house.call(bridge, name)
    assert get(output, timeout=DEADLINE) == ""
    closed = house.stored(asked)
    assert (closed.state, closed.closing.reason) == ("withdrawn", reason)  # type: ignore[union-attr]


def test_one_sessions_end_closes_nothing_of_another(build: Build) -> None:
    house = build()
    bridge = house.register()
    mine = house.call(bridge, "PermissionRequest-Bash")
    other = house.call(bridge, "PermissionRequest-Bash", session_id="another")
    house.call(bridge, "SessionEnd-other", session_id="another")
    house.until_state(other, "withdrawn")
    assert house.stored(mine).state == "pending"


def test_answered_becomes_applied_when_the_agents_event_shows_it(build: Build) -> None:
    house = build()
    bridge = house.register()
    asked = house.call(bridge, "PermissionRequest-Bash")
    get(house.actor(asked).resolve.remote(Resolution(answer="allow")))
    assert house.stored(asked).applied_at is None
    house.call(bridge, "PostToolUseFailure-Bash")
    assert house.until(lambda: house.stored(asked).applied_at) is not None
    denied = house.call(bridge, "PermissionRequest-Bash", tool_input={"command": "x"})
    get(house.actor(denied).resolve.remote(Resolution(answer="deny")))
    house.call(bridge, "PostToolUse-Bash", tool_input={"command": "x"})
    assert house.until(lambda: house.stored(denied).overruled_at) is not None


def test_an_event_without_credentials_is_logged_and_proves_as_much(build: Build) -> None:
    house = build()
    asked = house.call(house.register(), "PermissionRequest-Bash")
    event = find_provider("claude").read(read_payload(raw("claude", "Stop")), "")
    entry = get(house.bridges.note.remote(event, HookContext(pty_id="pty_9")))
    assert (entry.event_name, entry.pty_id, entry.result) == ("Stop", "pty_9", "logged")
    assert house.store.read(lambda db: hook_storage.select(db, HookLogQuery()))[-1] == entry
    house.until_state(asked, "withdrawn")


def test_only_the_right_token_of_an_open_bridge_is_admitted(build: Build) -> None:
    house = build()
    bridge = house.register()
    for wrong in (
        BridgeCredentials(id=bridge.id, token="guessed", provider="claude"),
        BridgeCredentials(id="brg_none", token=bridge.token, provider="claude"),
    ):
        with pytest.raises(UnauthorizedError):
            house.call(wrong, "Stop")
    text = repr(house.store.read(bridge_storage.open_bridges))
    assert bridge.token not in text
    with pytest.raises(InvalidError, match="known are claude, codex"):
        house.register("vim")


def test_the_end_of_a_terminal_closes_its_bridge_and_withdraws_what_waits(build: Build) -> None:
    house = build()
    bridge, other = house.register(), house.register(pty="pty_2")
    asked, kept = house.call(bridge, "PermissionRequest-Bash"), house.call(other, "PermissionRequest-Read")
    output = house.wait_for(asked)
    assert get(house.bridges.close_pty.remote("pty_1")) == 1
    assert get(output, timeout=DEADLINE) == ""
    assert house.stored(asked).closing.reason == "session_ended"  # type: ignore[union-attr]
    assert house.stored(kept).state == "pending"
    with pytest.raises(UnauthorizedError):
        house.call(bridge, "Stop")


def test_after_a_restart_requests_are_listed_again_and_their_hooks_come_back(build: Build, system: ActorSystem) -> None:
    house = build()
    bridge = house.register()
    asked = [house.call(bridge, "PermissionRequest-Bash", relay=f"mine_{n}") for n in range(10)]
    outputs = [house.wait_for(each) for each in asked]
    for name in ("bridges", "journal"):
        get(system.stop(name), timeout=DEADLINE)
    for output in outputs:
        with pytest.raises(WhiskError):
            get(output)
    house.store.close()

    later = build(orphan_grace=30.0)
    assert [each.state for each in later.store.read(bridge_storage.list_requests)] == ["pending"] * 10
    back = [later.call(bridge, "PermissionRequest-Bash", relay=f"mine_{n}", again=True) for n in range(10)]
    assert [each.request_id for each in back] == [each.request_id for each in asked]
    outputs = [later.wait_for(each) for each in back]
    for number, each in enumerate(back):
        get(later.actor(each).resolve.remote(Resolution(answer="deny", reason=f"no {number}")))
    assert [f'"message":"no {number}"' in get(output) for number, output in enumerate(outputs)] == [True] * 10


def test_a_hook_that_does_not_come_back_after_a_restart_is_orphaned(build: Build, system: ActorSystem) -> None:
    house = build()
    asked = house.call(house.register(), "PermissionRequest-Bash")
    for name in ("bridges", "journal"):
        get(system.stop(name), timeout=DEADLINE)
    house.store.close()
    later = build(orphan_grace=0.05)
    closed = later.until_state(asked, "orphaned")
    assert (closed.closing.by, closed.closing.reason) == ("whiskd", "daemon_restarted")  # type: ignore[union-attr]


def test_a_limit_that_passed_while_the_daemon_was_down_ends_the_request(build: Build, system: ActorSystem) -> None:
    house = build(limit=0.2, orphan_grace=30.0)
    asked = house.call(house.register(), "PermissionRequest-Bash")
    for name in ("bridges", "journal"):
        get(system.stop(name), timeout=DEADLINE)
    house.store.close()
    later = build(limit=0.2, orphan_grace=30.0)
    later.until_state(asked, "timed_out")


def test_a_crash_of_one_request_lets_its_hook_come_back(build: Build) -> None:
    house = build()
    bridge = house.register()
    asked = house.call(bridge, "PermissionRequest-Bash", relay="mine")
    other = house.call(bridge, "PermissionRequest-Read")
    output, untouched = house.wait_for(asked), house.wait_for(other)
    with pytest.raises(WhiskError):
        get(house.actor(asked).resolve.remote("not a resolution"))  # type: ignore[arg-type]
    with pytest.raises(WhiskError):
        get(output)
    again = house.call(bridge, "PermissionRequest-Bash", relay="mine", again=True)
    output = house.wait_for(again)
    get(house.actor(again).resolve.remote(Resolution(answer="allow")), timeout=DEADLINE)
    assert '"behavior":"allow"' in get(output)
    assert not untouched.done()


def test_actors_of_closed_requests_end(build: Build, system: ActorSystem) -> None:
    house = build()
    bridge = house.register()
    asked = [house.call(bridge, "PermissionRequest-Bash") for _ in range(20)]
    for each in asked:
        get(house.actor(each).resolve.remote(Resolution(answer="deny")))
    get([system.stop(name) for name in system.names() if name.startswith("bridge:")], timeout=DEADLINE)
    assert sorted(system.names()) == ["bridges", "journal"]
