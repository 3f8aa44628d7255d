"""Prompts from their beginning to their end, with real hooks: who ends them, and what that may not touch."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.captured import load, raw
from tests.daemon.conftest import Whiskd
from tests.hook_agent import DEADLINE, RELAY, Agent, decision, output
from whisk.cli.failure import RefusedError
from whisk.cli.process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

HOOK_LIMIT = 4.0
Employ = Callable[..., Agent]


@pytest.fixture(scope="module")
def hasty_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whiskd]:
    """Its agents are said to end their hooks after four seconds, so it gives a person a fifth of one."""
    home: Path = tmp_path_factory.mktemp("hasty") / "home"
    whiskd = Whiskd(home, {"WHISK_CONFIG": str(home / "config.toml")})
    limits = f"hook_limits = {{ claude = {HOOK_LIMIT}, codex = {HOOK_LIMIT} }}\nmargin = {HOOK_LIMIT - 0.2}"
    (home / "config.toml").write_text(f"[prompts]\n{limits}\n")
    whiskd.start()
    for rule in ("Bash", "mcp__*"):
        whiskd.cli("policy", "add", "ask", rule, check=0)
    yield whiskd
    whiskd.close()


def refusal(whiskd: Whiskd, prompt: dict[str, Any], **said: object) -> RefusedError:
    with pytest.raises(RefusedError) as refused:
        whiskd.post(f"/v1/agent-prompts/{prompt['id']}/resolve", said)
    return refused.value


def answer(whiskd: Whiskd, prompt: dict[str, Any], **said: object) -> None:
    whiskd.post(f"/v1/agent-prompts/{prompt['id']}/resolve", said)


# -- nobody answers ------------------------------------------------------------------------------------------------


ASKED = {"hookEventName": "PreToolUse", "permissionDecision": "ask"}
DENIED = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}


@pytest.mark.parametrize(
    ("provider", "name", "said"),
    [
        # A silent hook lets the agent's own window decide, where there is one to open.
        ("claude", "PermissionRequest-Bash", None),
        ("claude", "PreToolUse-AskUserQuestion", None),
        ("claude", "Elicitation-form", None),
        ("codex", "PermissionRequest-Bash", None),
        # Silence here would let the call run that a rule holds.
        ("claude", "PreToolUse-Bash", ASKED),
        ("codex", "PreToolUse-Bash", DENIED),
    ],
)
def test_a_wait_ends_before_the_agents_own_limit_and_in_nobodys_name(
    hasty_daemon: Whiskd, employ: Employ, provider: str, name: str, said: dict[str, str] | None
) -> None:
    agent = employ(hasty_daemon, provider)
    started = time.monotonic()
    hook = agent.hook(name)
    prompt = agent.prompts(1, "pending,timed_out")[0]
    printed = output(hook)
    assert time.monotonic() - started < HOOK_LIMIT
    shown = decision(printed) if printed else None
    if said is not None:
        assert shown is not None
        assert shown.pop("permissionDecisionReason").startswith("Nobody answered within 0.2 s through whisk")
    assert shown == said
    ended = agent.outcome(prompt)
    assert (ended["outcome"], ended["status"], ended["answeredBy"]) == ("timed_out", "timed_out", "limit")
    late = refusal(hasty_daemon, prompt, action="deny")
    assert (late.status, late.details["outcome"]) == (410, "timed_out")


# -- one prompt among others ---------------------------------------------------------------------------------------


def test_the_id_of_an_earlier_prompt_answers_no_other(shared_daemon: Whiskd, employ: Employ) -> None:
    agent = employ(shared_daemon)
    answered, hook = agent.hook("PermissionRequest-Bash"), agent.prompt()
    answer(shared_daemon, hook, answer="allow", actor="ada")
    output(answered)
    gone, left = agent.hook("PermissionRequest-Bash"), agent.prompt()
    gone.kill()
    agent.outcome(left)
    live, waiting = agent.hook("PermissionRequest-Bash"), agent.prompt()
    stale = refusal(shared_daemon, hook, answer="deny")
    assert (stale.status, stale.details["by"]) == (409, "ada")
    assert refusal(shared_daemon, left, answer="deny").status == 410
    assert agent.prompt()["id"] == waiting["id"]
    answer(shared_daemon, waiting, answer="allow")
    assert decision(output(live))["decision"] == {"behavior": "allow"}


def test_of_two_agents_that_wait_the_one_that_is_killed_takes_only_its_own_prompts(
    shared_daemon: Whiskd, employ: Employ
) -> None:
    one, other = employ(shared_daemon), employ(shared_daemon)
    dying, living = one.hook("PermissionRequest-Bash"), other.hook("PermissionRequest-Bash")
    theirs, mine = one.prompt(), other.prompt()
    started = time.monotonic()
    os.kill(shared_daemon.get(f"/v1/ptys/{one.pty}")["pid"], signal.SIGKILL)
    ended = one.outcome(theirs)
    assert time.monotonic() - started < 5
    assert (ended["outcome"], ended["reason"]) == ("withdrawn", "session_ended")
    assert output(dying) == b""
    assert other.prompt()["id"] == mine["id"]
    answer(shared_daemon, mine, answer="deny", reason="not today")
    assert decision(output(living))["decision"] == {"behavior": "deny", "message": "not today"}


# Agents start their hooks in sessions of their own, which nothing ends when the agent is killed.
AGENT = """
import subprocess, sys
hook = subprocess.Popen(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.PIPE, start_new_session=True)
print(hook.pid, flush=True)
hook.wait()
"""


def test_an_agent_that_is_killed_inside_its_shell_takes_its_prompt_along(shared_daemon: Whiskd, employ: Employ) -> None:
    agent = employ(shared_daemon)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", AGENT, *RELAY], env=agent.env, stdin=pipe, stdout=pipe) as inner:
        assert inner.stdin is not None
        assert inner.stdout is not None
        inner.stdin.write(raw("claude", "PermissionRequest-Bash"))
        inner.stdin.close()
        hook = int(inner.stdout.readline())
        try:
            prompt = agent.prompt()
            started = time.monotonic()
            inner.kill()
            ended = agent.outcome(prompt)
            assert time.monotonic() - started < 5
            assert (ended["outcome"], ended["reason"]) == ("withdrawn", "hook_gone")
            assert shared_daemon.get(f"/v1/ptys/{agent.pty}")["running"], "the shell around it goes on"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(hook, signal.SIGKILL)


# -- answers -------------------------------------------------------------------------------------------------------


def question(text: str, *labels: str, multi: bool = True) -> dict[str, Any]:
    return {"question": text, "header": "h", "multiSelect": multi, "options": [{"label": label} for label in labels]}


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        (["-answers-json", "[[1, 3]]"], "a, Yes, always"),
        (["-answers-json", "[[2, 4]]"], "a, x,y"),
        (["-answer", "Yes, always, x,y"], "Yes, always, x,y"),
        (["-answer", "x,y ,a,a"], "x,y, a, a"),
        (["-answer", "Yes, never"], "Yes, never"),
    ],
)
def test_equal_labels_and_labels_with_commas_are_told_apart(
    shared_daemon: Whiskd, employ: Employ, given: list[str], chosen: str
) -> None:
    agent = employ(shared_daemon)
    asked = question("Which?", "a", "a", "Yes, always", "x,y")
    hook = agent.hook("PreToolUse-AskUserQuestion", tool_input={"questions": [asked]})
    shared_daemon.cli("prompt", "resolve", agent.prompt()["id"], *given, check=0)
    assert decision(output(hook))["updatedInput"] == {"questions": [asked], "answers": {"Which?": chosen}}


def test_two_questions_of_one_text_cannot_be_answered_differently(shared_daemon: Whiskd, employ: Employ) -> None:
    agent = employ(shared_daemon)
    asked = [question("Again?", "a", "b", multi=False)] * 2
    hook = agent.hook("PreToolUse-AskUserQuestion", tool_input={"questions": asked})
    prompt = agent.prompt()
    refused = shared_daemon.cli("prompt", "resolve", prompt["id"], "-answer", "a", "-answer", "b", check=1)
    assert "two questions have the same text, 'Again?'" in refused.stderr
    assert "Traceback" not in refused.stderr
    shared_daemon.cli("prompt", "resolve", prompt["id"], "-answer", "b", "-answer", "b", check=0)
    assert decision(output(hook))["updatedInput"]["answers"] == {"Again?": "b"}


FREE_FORM = {"type": "object", "properties": {"note": {"type": "string"}, "size": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ({"action": "accept"}, {"action": "accept", "content": {}}),
        ({"action": "accept", "content": None}, {"action": "accept", "content": {}}),
        ({"action": "accept", "content": {}}, {"action": "accept", "content": {}}),
        ({"content": {"size": 3}}, {"action": "accept", "content": {"size": 3}}),
        ({"action": "decline"}, {"action": "decline"}),
        ({"action": "cancel"}, {"action": "cancel"}),
    ],
)
def test_a_form_is_accepted_with_an_object_whatever_was_given_and_refused_without_one(
    shared_daemon: Whiskd, employ: Employ, said: dict[str, Any], printed: dict[str, Any]
) -> None:
    agent = employ(shared_daemon)
    hook = agent.hook("Elicitation-form", requested_schema=FREE_FORM)
    answer(shared_daemon, agent.prompt(), **said)
    shown = decision(output(hook))
    assert {name: value for name, value in shown.items() if name in ("action", "content")} == printed


def shown(whiskd: Whiskd, prompt: dict[str, Any]) -> str:
    return whiskd.cli("prompt", "show", prompt["id"], check=0).stdout.splitlines()[0]


def test_an_answer_is_not_called_applied_before_the_agent_has_shown_it(shared_daemon: Whiskd, employ: Employ) -> None:
    agent = employ(shared_daemon)
    hook, prompt = agent.hook("PermissionRequest-Bash"), agent.prompt()
    shared_daemon.cli("prompt", "resolve", prompt["id"], "-answer", "allow", check=0, WHISK_ACTOR="ada")
    output(hook)
    assert shown(shared_daemon, prompt).endswith("answered by ada: allow")
    agent.said("PostToolUseFailure-Bash")
    assert wait_until(lambda: shown(shared_daemon, prompt).endswith("by ada: allow, applied"), DEADLINE)


def test_a_denied_call_that_ran_in_spite_of_it_is_called_overruled(shared_daemon: Whiskd, employ: Employ) -> None:
    agent = employ(shared_daemon)
    hook, prompt = agent.hook("PermissionRequest-Bash"), agent.prompt()
    shared_daemon.cli("prompt", "resolve", prompt["id"], "-deny", "-reason", "no", check=0, WHISK_ACTOR="ada")
    output(hook)
    agent.said("PreToolUse-Read")
    assert wait_until(lambda: shown(shared_daemon, prompt).endswith("by ada: deny, applied"), DEADLINE)
    agent.said("PostToolUseFailure-Bash")
    assert wait_until(lambda: shown(shared_daemon, prompt).endswith("by ada: deny, overruled"), DEADLINE)


# -- the agent's own session changes -------------------------------------------------------------------------------


def test_a_cleared_conversation_closes_its_prompts_and_keeps_its_address(shared_daemon: Whiskd, employ: Employ) -> None:
    """`/clear` gives the agent another session id; whisk's names are those of the terminal."""
    agent = employ(shared_daemon)
    to = f"pty:{agent.pty}"
    basic = ("mail", "send", "-from", "run:a", "-to", to, "-type", "status", "-subject", "still for you")
    sent = shared_daemon.cli(*basic, check=0)
    assert sent.stderr == ""
    before = load("claude", "SessionEnd-clear").session
    hook, prompt = agent.hook("PermissionRequest-Bash", session_id=before), agent.prompt()
    for name, session in (
        ("SessionEnd-clear", before),
        ("SessionStart-clear", "another"),
        ("SessionStart-compact", "another"),
        ("SessionStart-resume", "a-third"),
    ):
        assert agent.said(name, session_id=session) == b""
    assert output(hook) == b""
    assert agent.outcome(prompt)["reason"] == "session_ended"
    found = json.loads(shared_daemon.cli("mail", "check", "-ack", "-json", check=0, WHISK_PTY_ID=agent.pty).stdout)
    assert (found["message"]["subject"], found["address"]) == ("still for you", {"kind": "pty", "id": agent.pty})
    hook = agent.hook("PermissionRequest-Bash", session_id="a-third")
    answer(shared_daemon, agent.prompt(), answer="allow")
    assert decision(output(hook))["decision"] == {"behavior": "allow"}
