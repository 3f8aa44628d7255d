"""Runs in real terminals of a real daemon: started, asking, ending, and found again after a kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whisk.cli.process import wait_until

from .conftest import Whiskd


class Job:
    """A project with one work item, and a run of a plain shell on it."""

    def __init__(self, daemon: Whiskd, root: Path) -> None:
        self.daemon = daemon
        self.project = daemon.post("/v1/projects", {"name": "App", "rootDir": str(root)})["id"]
        wanted = {"projectId": self.project, "title": "$(touch /tmp/no); Fix"}
        self.item = daemon.post("/v1/work-items", wanted)["id"]
        wanted = {"workItemId": self.item, "agentProfileId": "plain-shell", "preset": "writer"}
        run = daemon.post("/v1/work-item-runs", {**wanted, "launch": True})
        self.id, self.pty, self.session = run["id"], run["ptyId"], run["sessionId"]

    def type(self, line: str) -> None:
        self.daemon.post(f"/v1/ptys/{self.pty}/write", {"data": line + "\n"})

    def expect(self, pattern: str) -> str:
        found = self.daemon.post(f"/v1/ptys/{self.pty}/expect", {"patterns": [pattern], "timeoutMs": 20_000, "from": 0})
        return str(found["match"])

    @property
    def run(self) -> dict[str, Any]:
        runs = self.daemon.get("/v1/work-item-runs", {"workItemId": self.item})
        return dict(next(each for each in runs if each["id"] == self.id))

    def until(self, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        assert wait_until(lambda: done(self.run), 20), self.run
        return self.run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    return tmp_path / "src"


@pytest.fixture
def job(shared_daemon: Whiskd, root: Path) -> Job:
    return Job(shared_daemon, root)


def test_a_run_has_a_session_of_its_own_and_an_environment_that_says_whose_it_is(job: Job, root: Path) -> None:
    assert job.run["status"] == "running"
    [session] = [each for each in job.daemon.get("/v1/sessions") if each["id"] == job.session]
    assert session["name"] == "#1 Planning - $(touch /tmp/no); Fix"
    assert session["projectId"] == job.project
    job.type('echo "<$PWD|$WHISK_RUN_ID|$WHISK_WORK_ITEM_ID|$WHISK_PROJECT_ID|$WHISK_ACTOR|$WHISK_PTY_ID>"')
    job.expect(f"<{root}.{job.id}.{job.item}.{job.project}.agent.{job.pty}>")


@pytest.mark.parametrize(("code", "status"), [(0, "completed"), (3, "failed")])
def test_an_agent_that_ends_ends_its_run_as_it_ended(job: Job, code: int, status: str) -> None:
    job.type(f"exit {code}")
    ended = job.until(lambda run: run["status"] != "running")
    assert (ended["status"], ended["exitCode"]) == (status, code)
    [item] = job.daemon.get("/v1/work-items", {"projectId": job.project})
    assert item["runState"] == status


def test_a_killed_terminal_cancels_its_run(job: Job) -> None:
    job.daemon.post(f"/v1/ptys/{job.pty}/kill")
    assert job.until(lambda run: run["status"] != "running")["status"] == "cancelled"


def test_a_closed_session_cancels_its_run(job: Job) -> None:
    job.daemon.client.delete(f"/v1/sessions/{job.session}", timeout=30)
    assert job.until(lambda run: run["status"] != "running")["status"] == "cancelled"


def test_an_agent_asks_from_inside_and_goes_on_with_the_answer(job: Job) -> None:
    job.type('answer=$("$WHISK_CLI" question ask -prompt "Red or blue?" -wait); echo "told: $answer."')
    job.until(lambda run: run["status"] == "awaiting_input")
    [question] = job.daemon.get("/v1/questions", {"workItemId": job.item})
    assert (question["prompt"], question["runId"], question["ptyId"]) == ("Red or blue?", job.id, job.pty)
    job.daemon.post(f"/v1/questions/{question['id']}/answer", {"answer": "red"})
    job.expect(r"told: red\.")
    assert job.run["status"] == "running"


def test_an_agent_cannot_pass_a_gate(job: Job) -> None:
    job.type('"$WHISK_CLI" gate complete gate_1 -status passed; echo "code $?."')
    job.expect(r"code 1\.")


def test_an_agent_that_is_not_installed_fails_its_run_and_says_so(shared_daemon: Whiskd, job: Job) -> None:
    done = shared_daemon.cli("run", "start", "-work-item", job.item, "-agent-profile", "gemini", PATH="/usr/bin:/bin")
    assert done.returncode == 1
    assert "gemini" in done.stderr
    assert [run["status"] for run in shared_daemon.json("run", "list", "-work-item", job.item)] == ["running", "failed"]


@pytest.mark.parametrize(("line", "status"), [("exit 4", "failed"), ("read x", "running")])
def test_a_run_goes_on_while_no_daemon_is_there(daemon: Whiskd, root: Path, line: str, status: str) -> None:
    job = Job(daemon, root)
    job.type("read go; echo went on; " + line)
    job.expect("read go; echo")
    daemon.kill9()
    daemon.start()
    job.type("now")
    job.expect("went on\r")
    assert job.until(lambda run: run["status"] == status)["ptyId"] == job.pty


def test_a_run_that_ended_while_no_daemon_was_there_is_ended_at_the_next_start(daemon: Whiskd, root: Path) -> None:
    job = Job(daemon, root)
    gate = root / "gate"
    job.type(f"while [ ! -e {gate} ]; do sleep 0.05; done; touch {gate}.done; exit 5")
    job.expect("exit 5")
    daemon.kill9()
    gate.touch()
    assert wait_until((root / "gate.done").exists, 10)
    daemon.start()
    ended = job.until(lambda run: run["status"] != "running")
    assert (ended["status"], ended["exitCode"]) == ("failed", 5)


def test_clear_ends_terminals_and_forgets_everything(daemon: Whiskd, root: Path) -> None:
    Job(daemon, root)
    cleared = daemon.json("daemon", "clear", "-yes")
    assert cleared == {
        "sessionsCleared": 1,
        "ptysCleared": 1,
        "projectsCleared": 1,
        "workItemsCleared": 1,
        "forwardsCleared": 0,
    }
    for path in ("/v1/sessions", "/v1/ptys", "/v1/projects", "/v1/work-items", "/v1/work-item-runs"):
        assert daemon.get(path) == []
    names = {each["name"] for each in daemon.get("/v1/actors")}
    assert not [name for name in names if ":" in name]
    assert not [process for process in daemon.processes() if process.name() in ("sh", "bash", "zsh")]
