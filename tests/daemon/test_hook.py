"""Hooks end to end: the real relay as a process, the real daemon, a person at the command line."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.captured import raw
from tests.hook_agent import DEADLINE, Agent, decision, output
from whisk.cli.failure import RefusedError
from whisk.cli.process import wait_until

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd


@pytest.fixture
def agent(shared_daemon: Whiskd, employ: Callable[..., Agent]) -> Agent:
    return employ(shared_daemon)


def test_a_question_is_shown_and_answered_at_the_command_line(agent: Agent) -> None:
    hook = agent.hook("PreToolUse-AskUserQuestion")
    prompt = agent.prompt()
    shown = agent.whiskd.cli("prompt", "show", prompt["id"], check=0).stdout
    assert "Color: Which color?\n  1. Red   A warm color\n  2. Blue  A cold color\n" in shown
    assert "Toppings: Which toppings?  (several may be chosen)\n  1. Cheese  Milk\n" in shown
    assert f"whisk prompt resolve {prompt['id']} -answer Red -answer Cheese" in shown
    done = agent.whiskd.cli(
        "prompt", "resolve", prompt["id"], "-answer", "Blue", "-answer=Olives, Cheese", check=0, WHISK_ACTOR="ada"
    )
    assert done.stdout == f"{prompt['id']}\tresolved\tBlue; Olives, Cheese\n"
    said = decision(output(hook))
    assert said["permissionDecision"] == "allow"
    assert said["updatedInput"]["answers"] == {"Which color?": "Blue", "Which toppings?": "Olives, Cheese"}
    assert (outcome := agent.outcome(prompt))["answeredBy"] == "ada"
    assert outcome["outcome"] == "answered"


def test_an_option_is_named_by_its_number_as_it_is_shown(agent: Agent) -> None:
    hook = agent.hook("PreToolUse-AskUserQuestion")
    prompt = agent.prompt()
    done = agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answer", "2", "-answer", "2, 1", check=0)
    assert done.stdout == f"{prompt['id']}\tresolved\tBlue; Olives, Cheese\n"
    assert decision(output(hook))["updatedInput"]["answers"] == {
        "Which color?": "Blue",
        "Which toppings?": "Olives, Cheese",
    }


@pytest.mark.parametrize(
    ("labels", "given", "told"),
    [
        (["5", "10"], "10", "10"),
        (["Five", "Ten"], "12", "12"),
        (["Five", "Ten"], "0", "0"),
        (["Five", "Ten"], "1 or 2", "1 or 2"),
    ],
)
def test_a_number_that_is_a_label_or_names_no_option_is_the_text_itself(
    agent: Agent, labels: list[str], given: str, told: str
) -> None:
    question = {"question": "How many?", "options": [{"label": label} for label in labels]}
    hook = agent.hook("PreToolUse-AskUserQuestion-single", tool_input={"questions": [question]})
    agent.whiskd.cli("prompt", "resolve", agent.prompt()["id"], "-answer", given, check=0)
    assert decision(output(hook))["updatedInput"]["answers"] == {"How many?": told}


def test_a_number_that_could_be_an_option_or_an_answer_is_not_guessed(agent: Agent) -> None:
    question = {"question": "How many?", "options": [{"label": "5"}, {"label": "10 or more"}]}
    hook = agent.hook("PreToolUse-AskUserQuestion-single", tool_input={"questions": [question]})
    prompt = agent.prompt()
    refused = agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answer", "2", check=2).stderr
    assert """-answers-json '[2]'""" in refused
    assert """-answers-json '["2"]'""" in refused
    agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answers-json", '["2"]', check=0)
    assert decision(output(hook))["updatedInput"]["answers"] == {"How many?": "2"}


def test_a_form_is_shown_with_what_it_takes_when_a_field_is_left_empty(agent: Agent) -> None:
    hook = agent.hook("Elicitation-form")
    prompt = agent.prompt()
    shown = agent.whiskd.cli("prompt", "show", prompt["id"], check=0).stdout
    assert "  ok (boolean, optional, default true)\n" in shown
    assert "-answer '<name>' -answer '<size>' -answer '<ok>'" in shown
    agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answer", "Ada", "-answer", "", "-answer", "", check=0)
    assert decision(output(hook))["content"] == {"name": "Ada"}


def test_five_parallel_prompts_answered_in_reverse_order_each_reach_their_hook(agent: Agent) -> None:
    hooks = []
    for number in range(5):
        question = {"question": f"Number {number}?", "header": "N", "options": [{"label": "a"}, {"label": "b"}]}
        hooks.append(agent.hook("PreToolUse-AskUserQuestion", tool_input={"questions": [question]}))
    prompts = {prompt["message"]: prompt["id"] for prompt in agent.prompts(5)}
    for number in reversed(range(5)):
        path = f"/v1/agent-prompts/{prompts[f'Number {number}?']}/resolve"
        agent.whiskd.post(path, {"answer": f"answer {number}"})
    for number, hook in enumerate(hooks):
        assert decision(output(hook))["updatedInput"]["answers"] == {f"Number {number}?": f"answer {number}"}


def test_a_denial_an_edit_and_a_release_reach_the_agent(agent: Agent) -> None:
    whiskd = agent.whiskd
    hook = agent.hook("PermissionRequest-Bash")
    whiskd.cli("prompt", "resolve", agent.prompt()["id"], "-deny", "-reason", "not on main", check=0)
    assert decision(output(hook))["decision"] == {"behavior": "deny", "message": "not on main"}
    hook = agent.hook("PermissionRequest-Bash")
    edit = '{"command": "echo \\"é\\""}'
    whiskd.cli("prompt", "resolve", agent.prompt()["id"], "-input-json", "-", input=edit, check=0)
    assert decision(output(hook))["decision"] == {"behavior": "allow", "updatedInput": {"command": 'echo "é"'}}
    hook = agent.hook("PermissionRequest-Bash")
    released = whiskd.cli("prompt", "release", agent.prompt()["id"], check=0).stdout
    assert released.endswith("\tcancelled\treleased\n")
    assert output(hook) == b""


def test_a_form_is_filled_in(agent: Agent) -> None:
    hook = agent.hook("Elicitation-form")
    prompt = agent.prompt()
    shown = agent.whiskd.cli("prompt", "show", prompt["id"], check=0).stdout
    assert (
        "elicit: Who are you?\n  name (string, required)  Your name\n  size (string, optional, one of S, M, L)" in shown
    )
    refused = agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answers-json", '{"size": "S"}')
    assert (refused.returncode, "requires name" in refused.stderr) == (1, True)
    agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answers-json", '{"name": "dev", "ok": true}', check=0)
    said = decision(output(hook))
    assert (said["action"], said["content"], said["decision"]) == ("accept", {"name": "dev", "ok": True}, "accept")


def test_codex_gets_only_what_it_takes(shared_daemon: Whiskd, employ: Callable[..., Agent]) -> None:
    codex = employ(shared_daemon, "codex")
    hook = codex.hook("PermissionRequest-Bash")
    shared_daemon.cli("prompt", "resolve", codex.prompt()["id"], "-answer", "allow", check=0)
    assert (
        output(hook)
        == b'{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}\n'
    )
    assert codex.said("PreToolUse-request_user_input") == b""
    assert codex.said("PreToolUse-Bash") == b""


def test_the_loser_of_two_answers_is_told_the_winner(agent: Agent) -> None:
    hook = agent.hook("PermissionRequest-Bash")
    prompt = agent.prompt()
    agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answer", "deny", check=0, WHISK_ACTOR="ada")
    late = agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answer", "allow")
    assert (late.returncode, "denied by ada" in late.stderr) == (1, True)
    with pytest.raises(RefusedError) as refusal:
        agent.whiskd.post(f"/v1/agent-prompts/{prompt['id']}/resolve", {"answer": "allow"})
    assert (refusal.value.status, refusal.value.details["by"]) == (409, "ada")
    assert decision(output(hook))["decision"]["behavior"] == "deny"


def test_an_agent_cannot_answer_itself(agent: Agent) -> None:
    agent.hook("PermissionRequest-Bash")
    tried = agent.whiskd.cli("prompt", "resolve", agent.prompt()["id"], "-answer", "allow", WHISK_PTY_ID=agent.pty)
    assert (tried.returncode, "cannot answer its own prompt" in tried.stderr) == (1, True)


def test_a_rule_decides_without_a_person(agent: Agent) -> None:
    rule = agent.whiskd.cli("policy", "add", "deny", "Bash(rm *)", "-reason", "use trash", check=0).stdout.split()[0]
    said = decision(agent.said("PreToolUse-Bash", tool_input={"command": "ls; rm x"}))
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"] == f"Denied by the whisk rule Bash(rm *) ({rule}). use trash"
    assert agent.said("PreToolUse-Bash", tool_input={"command": "ls"}) == b""
    agent.whiskd.cli("policy", "remove", rule, check=0)
    assert agent.said("PreToolUse-Bash", tool_input={"command": "rm x"}) == b""
    assert agent.prompts(1, "denied")[0]["ruleId"] == rule


def test_the_log_says_what_a_call_would_do_and_hides_its_secrets(agent: Agent) -> None:
    agent.said("PreToolUse-Bash", tool_input={"command": "git fetch\ngit push https://me:hunter22@x.org"})
    shown = agent.whiskd.cli("hook", "events", "-pty", agent.pty, check=0).stdout.splitlines()[-1]
    assert shown.endswith("git fetch git push https://me:[redacted]@x.org")


def test_a_rule_holds_for_a_hook_that_calls_its_agent_by_a_name_nobody_knows(agent: Agent) -> None:
    rule = agent.whiskd.json("policy", "add", "deny", "Bash(rm *)")
    agent.env["WHISK_AGENT_BRIDGE_PROVIDER"] = "claude-code"
    said = decision(agent.said("PreToolUse-Bash", tool_input={"command": "rm -rf /"}))
    agent.whiskd.json("policy", "remove", rule["id"])
    assert (said["permissionDecision"], rule["id"] in said["permissionDecisionReason"]) == ("deny", True)


def test_a_hook_that_is_ended_is_withdrawn(agent: Agent) -> None:
    hook = agent.hook("PermissionRequest-Bash")
    prompt = agent.prompt()
    hook.send_signal(signal.SIGTERM)
    assert hook.communicate(timeout=DEADLINE) == (b"", b"")
    assert agent.outcome(prompt)["outcome"] == "withdrawn"
    late = agent.whiskd.cli("prompt", "resolve", prompt["id"], "-answer", "allow")
    assert (late.returncode, "withdrawn" in late.stderr) == (1, True)


def test_a_native_answer_frees_the_waiting_hook(agent: Agent) -> None:
    hook = agent.hook("PermissionRequest-Bash")
    prompt = agent.prompt()
    assert agent.said("PostToolUseFailure-Bash") == b""
    assert output(hook) == b""
    assert agent.outcome(prompt)["reason"] == "answered_elsewhere"


def test_the_end_of_a_terminal_ends_what_waits_in_it(agent: Agent) -> None:
    hook = agent.hook("PermissionRequest-Bash")
    prompt = agent.prompt()
    started = time.monotonic()
    agent.whiskd.post(f"/v1/ptys/{agent.pty}/kill")
    outcome = agent.outcome(prompt)
    assert time.monotonic() - started < 5
    assert outcome["outcome"] == "withdrawn"
    hook.communicate(timeout=DEADLINE)
    # Its credentials are worth nothing any more.
    assert agent.said("PermissionRequest-Bash") == b""
    assert agent.prompts(0) == []


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"garbage",
        b"[]",
        b"\xff\xfe\x00",
        raw("claude", "PreToolUse-Bash")[:-1],
        b'{"hook_event_name":"Unheard","session_id":"s"}',
        b'{"hook_event_name":"PreToolUse"}',
        b'{"hook_event_name":["PreToolUse"],"tool_name":{"a":1},"tool_input":"x"}',
    ],
)
def test_what_is_no_payload_is_logged_and_invents_nothing(agent: Agent, payload: bytes) -> None:
    assert output(agent.send(payload)) == b""
    assert agent.prompts(0) == []

    def logged() -> list[dict[str, Any]]:
        # A hook that decides nothing does not wait for the disk.
        return list(agent.whiskd.get("/v1/agent-bridge-events", {"ptyId": agent.pty}))

    assert wait_until(logged, DEADLINE)
    (entry,) = logged()
    assert entry["result"] in ("logged", "unreadable")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda payload: b"\xef\xbb\xbf" + payload,
        lambda payload: payload.replace(b", ", b",\r\n") + b"\r\n",
        lambda payload: payload + b"\n[debug] and a banner {",
        lambda payload: payload.replace(b"Fail", b"Fa\xe9il"),
    ],
)
def test_a_payload_with_dirt_around_it_is_still_decided(agent: Agent, wrap: Callable[[bytes], bytes]) -> None:
    hook = agent.send(wrap(raw("claude", "PermissionRequest-Bash")))
    agent.whiskd.post(f"/v1/agent-bridge-approvals/{agent.prompt()['id']}/resolve", {"action": "deny", "reason": "no"})
    assert decision(output(hook))["decision"] == {"behavior": "deny", "message": "no"}


def test_a_payload_of_five_megabytes_is_decided(agent: Agent) -> None:
    content = "x" * 5_000_000
    hook = agent.hook("PermissionRequest-Write", tool_input={"file_path": "/f", "content": content})
    prompt = agent.prompt()
    assert len(prompt["toolInput"]["content"]) == len(content)
    agent.whiskd.post(f"/v1/agent-prompts/{prompt['id']}/resolve", {"answer": "allow"})
    assert decision(output(hook))["decision"] == {"behavior": "allow"}


def test_an_answer_of_two_megabytes_reaches_a_slow_reader_whole(agent: Agent) -> None:
    hook = agent.hook("PreToolUse-AskUserQuestion-single")
    text = "é" * 1_000_000
    agent.whiskd.post(f"/v1/agent-prompts/{agent.prompt()['id']}/resolve", {"answer": text})
    assert hook.stdout is not None
    printed = b"".join(iter(lambda: os.read(hook.stdout.fileno(), 2000), b""))  # type: ignore[union-attr]
    assert decision(printed)["updatedInput"]["answers"] == {"Proceed?": text}


def test_wrong_credentials_ask_nobody_and_print_nothing(agent: Agent) -> None:
    agent.env |= {"WHISK_AGENT_BRIDGE_TOKEN": "guessed"}
    assert agent.said("PermissionRequest-Bash") == b""
    agent.env |= {"WHISK_STATE_DIR": str(agent.whiskd.home / "nowhere")}
    assert agent.said("PermissionRequest-Bash") == b""
    assert agent.prompts(0) == []


def test_without_credentials_an_event_is_only_logged(agent: Agent) -> None:
    del agent.env["WHISK_AGENT_BRIDGE_TOKEN"]
    assert agent.said("PermissionRequest-Bash") == b""
    assert agent.prompts(0) == []

    def logged() -> list[dict[str, Any]]:
        return list(agent.whiskd.get("/v1/agent-bridge-events", {"ptyId": agent.pty}))

    assert wait_until(lambda: len(logged()) == 1, DEADLINE)
    assert logged()[0]["eventName"] == "PermissionRequest"


def test_text_of_an_agent_cannot_drive_the_persons_terminal(agent: Agent) -> None:
    evil = {"command": "\x1b]0;owned\x07\x1b[2Jls\u202e\x9b31m\nsecond line"}
    agent.hook("PermissionRequest-Bash", tool_input=evil)
    prompt = agent.prompt()
    for arguments in (("prompt", "list"), ("prompt", "show", prompt["id"]), ("hook", "events")):
        shown = agent.whiskd.cli(*arguments, check=0).stdout
        assert not set(shown) & set("\x1b\x07\x9b\u202e"), arguments
    assert "ls" in shown or "second line" in agent.whiskd.cli("prompt", "show", prompt["id"]).stdout
    assert agent.whiskd.json("prompt", "show", prompt["id"])["toolInput"] == evil


def test_hooks_that_wait_through_a_kill_of_the_daemon_get_their_answers(
    daemon: Whiskd, employ: Callable[..., Agent]
) -> None:
    agent = employ(daemon)
    hooks = [agent.hook("PermissionRequest-Bash", tool_input={"command": f"run {n}"}) for n in range(10)]
    before = agent.prompts(10)
    daemon.kill9()
    daemon.start()
    # They are listed at once, whether their hooks have come back or not.
    after = agent.prompts(10)
    assert [prompt["id"] for prompt in after] == [prompt["id"] for prompt in before]
    for prompt in after:
        reason = f"no to {prompt['toolInput']['command']}"
        daemon.post(f"/v1/agent-prompts/{prompt['id']}/resolve", {"action": "deny", "reason": reason})
    for number, hook in enumerate(hooks):
        assert decision(output(hook))["decision"] == {"behavior": "deny", "message": f"no to run {number}"}


def test_hooks_wait_through_a_graceful_restart_and_one_that_died_meanwhile_is_orphaned(
    place: Whiskd, employ: Callable[..., Agent]
) -> None:
    place.env["WHISK_CONFIG"] = str(place.home / "config.toml")
    (place.home / "config.toml").write_text('[prompts]\norphan_grace = "3s"\n')
    place.start()
    daemon = place
    agent = employ(daemon)
    hook = agent.hook("PermissionRequest-Bash")
    dead = agent.hook("PermissionRequest-Read")
    waiting, orphan = sorted(agent.prompts(2), key=lambda prompt: prompt["toolName"])
    daemon.stop()
    dead.kill()
    daemon.start()
    daemon.cli("prompt", "resolve", waiting["id"], "-answer", "allow", check=0)
    assert decision(output(hook))["decision"] == {"behavior": "allow"}
    assert agent.outcome(orphan)["outcome"] == "orphaned"


@pytest.mark.slow
def test_allow_and_deny_posted_together_a_thousand_times_leave_one_winner(
    daemon: Whiskd, employ: Callable[..., Agent]
) -> None:
    agent = employ(daemon)
    barrier = threading.Barrier(2)

    def post(prompt_id: str, word: str) -> str:
        barrier.wait(DEADLINE)
        try:
            daemon.post(f"/v1/agent-prompts/{prompt_id}/resolve", {"answer": word, "actor": word})
        except RefusedError as error:
            return f"{error.status}, won by {error.details['by']}"
        return word

    with ThreadPoolExecutor(2) as pool:
        for batch in range(40):
            names = [f"{batch}.{number}" for number in range(25)]
            hooks = {name: agent.hook("PermissionRequest-Bash", tool_input={"command": name}) for name in names}
            for prompt in agent.prompts(len(names)):
                outcomes = list(pool.map(lambda word, id=prompt["id"]: post(id, word), ("allow", "deny")))
                printed = output(hooks[prompt["toolInput"]["command"]])
                winner = decision(printed)["decision"]["behavior"]
                assert sorted(outcomes) == sorted([f"409, won by {winner}", winner])
