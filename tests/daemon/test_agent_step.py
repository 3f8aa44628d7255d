"""Agents at work on items: plans that they present, review feedback that is typed to them where that is safe."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import Whiskd
from whisk.cli.process import wait_until

# An agent that pastes reach as in a real one: raw keys, brackets around what is pasted, hooks that tell of its turn.
AGENT = """
import json, os, subprocess, sys, tty
tty.setraw(0)
os.write(1, b"\\x1b[?2004hready")
def hook(event, **more):
    payload = json.dumps({"hook_event_name": event, "session_id": "s", **more}).encode()
    subprocess.run([os.environ["WHISK_CLI"], "agent-bridge", "hook", "-provider", "claude"], input=payload)
hook(os.environ["LAST"])
keys = b""
while b"\\x1b[201~\\r" not in keys:
    keys += os.read(0, 4096)
with open(os.environ["KEYS"] + ".part", "wb") as file:
    file.write(keys)
os.rename(os.environ["KEYS"] + ".part", os.environ["KEYS"])
hook("UserPromptSubmit", prompt="feedback")
os.read(0, 1)
"""

PROFILE = """
[profiles.{id}]
argv = ["{python}", "{home}/agent.py"]
hook_provider = "claude"
prompt_injection = "none"
env = {{LAST = "{last}", KEYS = "{home}/{id}"}}
"""
PLANNER = """
[profiles.planner]
argv = ["/bin/sh"]
hook_provider = "claude"
prompt_injection = "none"
"""
TURNS = ({"id": "idle", "last": "Stop"}, {"id": "busy", "last": "UserPromptSubmit"})


class Review:
    """A work item in review whose execution was launched with that agent."""

    def __init__(self, daemon: Whiskd, folder: Path, profile: str) -> None:
        self.daemon = daemon
        self.project = daemon.post("/v1/projects", {"name": "App", "rootDir": str(folder)})["id"]
        self.item = daemon.post("/v1/work-items", {"projectId": self.project, "title": "Fix it"})["id"]
        self.step("start-planning")
        self.step("approve-plan", artifactId=self.step("plan-drafts", body="The plan")["id"])
        self.run = self.step("start-execution", launch=True, agentProfileId=profile)
        self.step("complete-execution", runId=self.run["id"])

    def step(self, name: str, **body: Any) -> Any:
        return self.daemon.post(f"/v1/work-items/{self.item}/{name}", {"actor": "ann", **body})

    @property
    def state(self) -> str:
        terminal = self.daemon.get(f"/v1/ptys/{self.run['ptyId']}")
        return str(terminal.get("agentStatus", {}).get("state"))

    @property
    def mail(self) -> list[dict[str, Any]]:
        return list(self.daemon.get("/v1/mail", {"to": f"run:{self.run['id']}"}))

    def way(self) -> str:
        """How the feedback went on its way, as soon as that is settled."""
        said = re.compile(rf'"run": "{self.run["id"]}", "way": "(\w+)"')
        assert wait_until(lambda: said.search(self.daemon.log) is not None, 20), self.daemon.log[-2000:]
        found = said.search(self.daemon.log)
        return found[1] if found is not None else ""


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whiskd]:
    home = tmp_path_factory.mktemp("feedback") / "home"
    whiskd = Whiskd(home, {"WHISK_CONFIG": str(home / "config.toml")})
    script = home / "agent.py"
    script.write_text(AGENT)
    profiles = [PROFILE.format(python=sys.executable, home=home, **each) for each in TURNS]
    (home / "config.toml").write_text("".join([PLANNER, *profiles]))
    whiskd.start()
    yield whiskd
    whiskd.close()


def test_feedback_is_typed_into_an_idle_agent_as_one_paste_and_its_mail_is_read(
    reviewed: Whiskd, tmp_path: Path
) -> None:
    review = Review(reviewed, tmp_path, "idle")
    assert wait_until(lambda: review.state == "idle", 20)
    review.step("review-feedback", body="Handle\x1b[201~ the error\nand the \x07empty file")
    typed = reviewed.home / "idle"
    assert wait_until(typed.exists, 20)
    assert typed.read_bytes() == (
        b"\x01\x0b\x1b[200~<whisk-review-feedback>\rHandle the error\rand the empty file\r"
        b"</whisk-review-feedback>\x1b[201~\r"
    )
    assert review.way() == "typed"
    assert "readAt" in review.mail[0]["recipients"][0]
    assert reviewed.get(f"/v1/work-item-runs/{review.run['id']}")["status"] == "running"


def test_feedback_for_an_agent_that_works_waits_as_mail_and_nothing_is_typed(reviewed: Whiskd, tmp_path: Path) -> None:
    review = Review(reviewed, tmp_path, "busy")
    assert wait_until(lambda: review.state == "working", 20)
    sent = review.step("review-feedback", body="More")
    assert wait_until(lambda: bool(review.mail), 20)
    assert review.way() == "mail"
    [mail] = review.mail
    assert (mail["type"], mail["body"], mail["from"]["id"]) == ("dispatch", "More", review.item)
    assert "readAt" not in mail["recipients"][0]
    assert reviewed.get("/v1/artifacts", {"workItemId": review.item})[-1] == sent
    output = reviewed.get(f"/v1/ptys/{review.run['ptyId']}/output")["output"]
    assert "More" not in output
    assert not (reviewed.home / "busy").exists()


def test_feedback_is_never_typed_into_a_shell(reviewed: Whiskd, tmp_path: Path) -> None:
    review = Review(reviewed, tmp_path, "plain-shell")
    review.step("review-feedback", body="touch sesame")
    assert review.way() == "mail"
    assert "readAt" not in review.mail[0]["recipients"][0]
    assert "sesame" not in reviewed.get(f"/v1/ptys/{review.run['ptyId']}/output")["output"]


def test_a_plan_that_is_presented_is_submitted_and_the_agent_reads_why_it_may_not_go_on(
    reviewed: Whiskd, tmp_path: Path
) -> None:
    project = reviewed.post("/v1/projects", {"name": "App", "rootDir": str(tmp_path)})["id"]
    item = reviewed.post("/v1/work-items", {"projectId": project, "title": "Fix it"})["id"]
    wanted = {"actor": "ann", "launch": True, "agentProfileId": "planner"}
    run = reviewed.post(f"/v1/work-items/{item}/start-planning", wanted)
    plan = {"hook_event_name": "PreToolUse", "tool_name": "ExitPlanMode", "tool_input": {"plan": "1. Test"}}
    hook = f"""echo '{json.dumps(plan)}' | "$WHISK_CLI" agent-bridge hook -provider claude; echo "code $?."\n"""
    reviewed.post(f"/v1/ptys/{run['ptyId']}/write", {"data": hook})
    expected = {"patterns": [r"code 0\."], "timeoutMs": 20_000, "from": 0}
    reviewed.post(f"/v1/ptys/{run['ptyId']}/expect", expected)
    [artifact] = reviewed.get("/v1/artifacts", {"workItemId": item})
    assert (artifact["body"], artifact["status"], artifact["runId"]) == ("1. Test", "draft", run["id"])
    shown = reviewed.get(f"/v1/ptys/{run['ptyId']}/output")["output"]
    assert '"permissionDecision":"deny"' in shown
    assert f"as the draft plan {artifact['id']}" in shown
    assert reviewed.get(f"/v1/work-item-runs/{run['id']}")["status"] == "completed"
    reviewed.post(f"/v1/work-items/{item}/approve-plan", {"actor": "ann", "artifactId": artifact["id"]})
    # The planner is done with: its session, which was made for it, goes when the plan is approved.
    gone = lambda: run["sessionId"] not in [each["id"] for each in reviewed.get("/v1/sessions")]  # noqa: E731
    assert wait_until(gone, 20)
    assert reviewed.get(f"/v1/work-item-runs/{run['id']}")["status"] == "completed"
