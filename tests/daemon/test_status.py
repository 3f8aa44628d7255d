"""`whisk status …` as people and agents use it, against a real daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.hook_agent import Agent
from whisk.cli.process import wait_until

from .conftest import Whiskd


@pytest.fixture
def run(shared_daemon: Whiskd) -> dict[str, Any]:
    project = shared_daemon.post("/v1/projects", {"name": "App", "rootDir": str(shared_daemon.home)})["id"]
    item = shared_daemon.post("/v1/work-items", {"projectId": project, "title": "Fix"})["id"]
    made: dict[str, Any] = shared_daemon.post("/v1/work-item-runs", {"workItemId": item})
    return made


def test_an_agent_reports_by_its_environment_and_a_person_reads_once(
    shared_daemon: Whiskd, run: dict[str, Any]
) -> None:
    inside = {"WHISK_RUN_ID": run["id"], "WHISK_ACTOR": "agent", "WHISK_WORK_ITEM_ID": run["workItemId"]}
    said = shared_daemon.cli("status", "question", "-message", "Which\x1b[31m table?", check=0, **inside).stdout
    event, *rest = said.strip().split("\t")
    assert rest == ["question", "run"]
    only = ("-run", run["id"])
    [listed] = shared_daemon.json("status", "list", "-unread", *only)
    assert (listed["id"], listed["actor"], listed["message"]) == (event, "agent", "Which\x1b[31m table?")
    table = shared_daemon.cli("status", "list", *only, check=0).stdout
    assert [line.split()[0] for line in table.splitlines()] == ["ID", event]
    assert f"run:{run['id']}" in table
    assert "Which table?" in table
    first = shared_daemon.cli("status", "read", event, check=0).stdout
    assert shared_daemon.cli("status", "read", event, check=0).stdout == first
    assert shared_daemon.json("status", "list", "-unread", *only) == []


def test_done_completes_the_run_once_and_says_why_not_again(shared_daemon: Whiskd, run: dict[str, Any]) -> None:
    done = ("status", "done", "-run", run["id"], "-message", "-")
    told = shared_daemon.cli(*done, "-json", input="All green\n", check=0).stdout
    assert '"status": "completed"' in told
    assert '"message": "All green"' in told
    assert "is already completed" in shared_daemon.cli(*done, input="again", check=1).stderr


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("blocked", "-message", "x"), 2, "status context required; run inside a Whisk PTY or pass -run"),
        (("blocked", "-run", "run_9"), 2, "-message is required"),
        (("blocked", "-run", "run_9", "-message", "x"), 1, "work item run run_9 not found"),
        (("read", "stat_9"), 1, "status event stat_9 not found"),
    ],
)
def test_a_report_that_cannot_be_is_said_so(
    shared_daemon: Whiskd, words: tuple[str, ...], code: int, part: str
) -> None:
    assert part in shared_daemon.cli("status", *words, check=code).stderr


def test_a_terminal_shows_what_its_agent_does_as_its_hooks_tell_also_after_a_restart(
    daemon: Whiskd, employ: Callable[..., Agent]
) -> None:
    agent = employ(daemon)

    def is_shown(state: str) -> bool:
        status = daemon.get(f"/v1/ptys/{agent.pty}").get("agentStatus", {})
        return (status.get("agent"), status.get("state"), status.get("source")) == ("claude", state, "bridge")

    assert "agentStatus" not in daemon.get(f"/v1/ptys/{agent.pty}")
    agent.said("UserPromptSubmit")
    assert wait_until(lambda: is_shown("working"), 20)
    agent.hook("PermissionRequest-Bash")
    [prompt] = agent.prompts(1)
    assert wait_until(lambda: is_shown("waiting"), 20)
    shown = daemon.get(f"/v1/ptys/{agent.pty}")["agentStatus"]
    assert shown["prompt"] == prompt["message"]
    assert (shown["confidence"], shown["advisory"], shown["label"]) == ("explicit", False, "Claude Code")
    daemon.post(f"/v1/agent-prompts/{prompt['id']}/resolve", {"answer": "allow", "actor": "ann"})
    assert wait_until(lambda: is_shown("working"), 20)
    agent.said("Stop")
    assert wait_until(lambda: is_shown("idle"), 20)
    daemon.kill9()
    daemon.start()
    assert is_shown("idle")
