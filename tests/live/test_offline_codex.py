"""Real Codex against a scripted model: what whisk says through its hooks is what the model then reads.

WHISK_LIVE_FAKES=<folder> pytest -m live tests/live/test_offline_codex.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.real_agent import CODEX_EVENTS, Codex

pytestmark = pytest.mark.live

Employ = Callable[..., Codex]
ESC = "\x1b"


def escalated(command: str) -> list[dict[str, Any]]:
    """A command that leaves the sandbox, for which Codex wants a permission."""
    given = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"}
    return [{"name": "exec_command", "input": given}]


@pytest.fixture
def employ(tmp_path: Path) -> Iterator[Employ]:
    made: list[Codex] = []

    def make(tools: list[dict[str, Any]], *policy: str) -> Codex:
        made.append(Codex(tmp_path / f"home{len(made)}", CODEX_EVENTS, tools))
        if policy:
            made[-1].whiskd.cli("policy", "add", *policy, check=0)
        made[-1].go()
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_permission_that_is_given_runs_the_command_without_a_dialog(employ: Employ) -> None:
    codex = employ(escalated("touch wanted.txt"))
    prompt = codex.asks()
    assert (prompt["kind"], prompt["eventName"], prompt["toolName"]) == ("approval", "PermissionRequest", "Bash")
    codex.resolve(prompt, "-answer", "allow")
    [read] = codex.reads()
    assert "exited with code 0" in read, read
    assert (codex.root / "wanted.txt").exists()
    codex.shows("TURN-DONE")
    assert codex.outcome(prompt, "answered")["appliedAt"]


def test_a_permission_that_is_denied_gives_the_model_the_reason(employ: Employ) -> None:
    codex = employ(escalated("touch wanted.txt"))
    prompt = codex.asks()
    codex.resolve(prompt, "-deny", "-reason", "Not on main.")
    [read] = codex.reads()
    assert "Not on main." in read
    codex.shows("TURN-DONE")
    assert not (codex.root / "wanted.txt").exists()
    assert codex.outcome(prompt, "denied")["appliedAt"]


def test_a_released_permission_is_asked_in_the_agents_own_window(employ: Employ) -> None:
    codex = employ(escalated("touch wanted.txt"))
    prompt = codex.asks()
    codex.whiskd.cli("prompt", "release", prompt["id"], check=0)
    codex.shows("Wouldyouliketo")
    codex.types("y")
    codex.reads()
    assert (codex.root / "wanted.txt").exists()


def test_a_rule_denies_before_the_tool_runs(employ: Employ) -> None:
    command = [{"name": "exec_command", "input": {"cmd": "touch denied.txt"}}]
    codex = employ(command, "deny", "Bash(touch *)", "-reason", "Nothing is touched here.")
    [read] = codex.reads()
    assert "Denied by the whisk rule Bash(touch *) (pol_" in read
    assert "Nothing is touched here." in read
    assert not (codex.root / "denied.txt").exists()


def test_an_asking_rule_holds_a_call_that_codex_would_have_run_and_it_cannot_be_released(employ: Employ) -> None:
    codex = employ([{"name": "exec_command", "input": {"cmd": "touch asked.txt"}}], "ask", "Bash(touch *)")
    prompt = codex.asks()
    assert prompt["eventName"] == "PreToolUse"
    refused = codex.whiskd.cli("prompt", "release", prompt["id"], check=1)
    assert "allow or deny" in refused.stderr
    codex.resolve(prompt, "-deny", "-reason", "Use the other one.")
    assert "Use the other one." in codex.reads()[0]
    assert not (codex.root / "asked.txt").exists()


def test_esc_ends_the_hook_and_withdraws_the_prompt(employ: Employ) -> None:
    codex = employ(escalated("touch wanted.txt"))
    prompt = codex.asks()
    codex.types(ESC)
    assert codex.outcome(prompt, "withdrawn")["reason"] in ("hook_gone", "interrupted")
    assert not (codex.root / "wanted.txt").exists()
