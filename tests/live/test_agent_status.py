"""What real agents do and what whisk says they do: by their hooks, and by title and screen where they have none.

WHISK_LIVE_FAKES=<folder> pytest -m live tests/live/test_agent_status.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.real_agent import CLAUDE_EVENTS, CODEX_EVENTS, DEADLINE, Claude, Codex, RealAgent
from whisk.cli.process import wait_until

pytestmark = pytest.mark.live

Employ = Callable[..., RealAgent]
BASH = [{"name": "Bash", "input": {"command": "sleep 3; touch wanted.txt", "description": "Touch"}}]
EXEC = [
    {
        "name": "exec_command",
        "input": {
            "cmd": "sleep 3; touch wanted.txt",
            "sandbox_permissions": "require_escalated",
            "justification": "May I?",
        },
    }
]


@pytest.fixture
def employ(tmp_path: Path) -> Iterator[Employ]:
    made: list[RealAgent] = []

    def make(kind: type[RealAgent], events: tuple[str, ...], tools: list[dict[str, Any]]) -> RealAgent:
        made.append(kind(tmp_path / "home", events, tools))
        if not events:
            made[-1].whiskd.cli("hook", "remove", made[-1].provider, check=0, **made[-1].environment())
        made[-1].go()
        return made[-1]

    yield make
    for each in made:
        each.close()


def until(agent: RealAgent, state: str, source: str) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    def is_so() -> bool:
        seen.clear()
        seen.update(agent.whiskd.get(f"/v1/ptys/{agent.pty}").get("agentStatus", {}))
        return (seen.get("agent"), seen.get("state"), seen.get("source")) == (agent.provider, state, source)

    assert wait_until(is_so, DEADLINE), f"{seen}\n{agent.screen()[-2000:]}"
    return seen


@pytest.mark.parametrize(("kind", "events", "tools"), [(Claude, CLAUDE_EVENTS, BASH), (Codex, CODEX_EVENTS, EXEC)])
def test_the_hooks_of_an_agent_tell_its_whole_turn(
    employ: Employ, kind: type[RealAgent], events: tuple[str, ...], tools: list[dict[str, Any]]
) -> None:
    agent = employ(kind, events, tools)
    waiting = until(agent, "waiting", "bridge")
    assert "touch wanted.txt" in waiting["prompt"]
    agent.resolve(agent.asks(), "-answer", "allow")
    until(agent, "working", "bridge")
    until(agent, "idle", "bridge")


def test_claude_without_hooks_is_not_called_idle_while_it_asks(employ: Employ) -> None:
    claude = employ(Claude, (), BASH)
    claude.shows("Doyouwanttoproceed")
    until(claude, "unknown", "process")
    claude.types("1")
    until(claude, "working", "osc-title")
    until(claude, "idle", "output-tail")


def test_codex_without_hooks_says_by_its_title_that_it_asks_and_works(employ: Employ) -> None:
    codex = employ(Codex, (), EXEC)
    until(codex, "waiting", "osc-title")
    codex.types("y")
    until(codex, "working", "osc-title")
    until(codex, "unknown", "process")


def test_a_turn_that_esc_has_ended_is_no_work(employ: Employ) -> None:
    command = {"command": "touch started.txt; sleep 600", "description": "Wait"}
    claude = employ(Claude, CLAUDE_EVENTS, [{"name": "Bash", "input": command}])
    claude.resolve(claude.asks(), "-answer", "allow")
    assert wait_until((claude.root / "started.txt").exists, DEADLINE)
    until(claude, "working", "bridge")
    claude.types("\x1b")
    until(claude, "idle", "output-tail")
