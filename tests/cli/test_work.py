"""`whisk project|work-item|run|question|gate` as processes, against a real server over real actors of work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import HERE, Whisk
from whisk.actors.future import get
from whisk.work.gate import OpenGate
from whisk.work.item import WorkItem
from whisk.work.run import Run


@pytest.fixture
def item(whisk: Whisk) -> WorkItem:
    return whisk.desk.item()


@pytest.fixture
def run(whisk: Whisk, item: WorkItem) -> Run:
    return whisk.desk.start(item, launch=True, agent_profile_id="claude")


def test_a_project_is_created_listed_and_shown(whisk: Whisk, tmp_path: Path) -> None:
    made = whisk("project", "create", "-root", str(tmp_path), "-name", "App")
    project = made.stdout.strip()
    assert (made.returncode, project.startswith("proj_")) == (0, True)
    listed = whisk("project", "list").stdout.splitlines()
    assert listed[0].split() == ["ID", "NAME", "SLUG", "ROOT"]
    assert listed[1].split() == [project, "App", "app", str(tmp_path)]
    whisk("work-item", "create", "-project", project, "-title", "Fix it")
    shown = whisk("project", "show", project).stdout
    assert shown.startswith(project + "\n")
    assert "Fix it" in shown
    assert whisk.json("project", "show", project)["project"]["id"] == project


def test_a_relative_root_means_the_folder_of_whoever_calls(whisk: Whisk, tmp_path: Path) -> None:
    assert whisk.json("project", "create", "-root", "tests")["rootDir"] == str(HERE / "tests")
    assert whisk.json("project", "create")["rootDir"] == str(HERE)
    later = whisk("project", "create", "-root", str(tmp_path / "later"))
    assert (later.returncode, later.stdout[:5]) == (0, "proj_")
    assert f"{tmp_path / 'later'} is not a folder" in later.stderr


def test_a_work_item_is_created_with_what_the_environment_says(whisk: Whisk) -> None:
    project = whisk.desk.project().id
    made = whisk("work-item", "create", "-title", "Fix it", "-body", "-", stdin="notes\n", WHISK_PROJECT_ID=project)
    id, number = made.stdout.strip().split("\t")
    assert number == "#1"
    [item] = whisk.json("work-item", "list", "-project", project)
    assert (item["id"], item["bodyMarkdown"], item["history"][0]["actor"]) == (id, "notes\n", "ann")
    header, row = whisk("work-item", "list").stdout.splitlines()
    assert header.split() == ["ID", "NO", "TITLE", "STAGE", "RUN", "WORKTREE"]
    assert row.split() == [id, "#1", "Fix", "it", "backlog", "idle"]


def test_a_run_is_started_listed_and_cancelled(whisk: Whisk, item: WorkItem) -> None:
    started = whisk("run", "start", "-work-item", item.id, "-agent-profile", "claude", "-preset", "writer")
    id, status, preset, session, pty = started.stdout.strip().split("\t")
    assert (status, preset, session[:5], pty[:4]) == ("running", "writer", "sess_", "pty_")
    header, row = whisk("run", "list", "-work-item", item.id).stdout.splitlines()
    assert header.split() == ["ID", "WORK_ITEM", "STATUS", "PRESET", "TEMPLATE", "SESSION", "PTY"]
    assert row.split() == [id, item.id, "running", "writer", "plan", session, pty]
    assert whisk("run", "cancel", id).stdout.split("\t")[1] == "cancelled"
    again = whisk("run", "cancel", id)
    assert (again.returncode, again.stdout) == (1, "")
    assert "already cancelled" in again.stderr


def test_a_run_may_stay_in_the_queue(whisk: Whisk, item: WorkItem) -> None:
    assert whisk.json("run", "start", "-launch=false", WHISK_WORK_ITEM_ID=item.id)["status"] == "queued"
    assert whisk.desk.launches == []


def test_a_question_that_waits_prints_the_answer_alone(whisk: Whisk, item: WorkItem, run: Run) -> None:
    inside = {"WHISK_RUN_ID": run.id, "WHISK_WORK_ITEM_ID": item.id, "WHISK_PTY_ID": str(run.pty_id)}
    asking = whisk.start("question", "ask", "-prompt", "Red or blue?", "-wait", **inside)
    whisk.until_awaited(item)
    [question] = whisk.json("question", "list", "-status", "open")
    assert (question["prompt"], question["actor"], question["ptyId"]) == ("Red or blue?", "agent", run.pty_id)
    answered = whisk("question", "answer", question["id"], "-answer", "Red, with 'quotes' and $HOME")
    assert answered.stdout.split("\t")[:2] == [question["id"], "answered"]
    done = asking.get(timeout=60)
    assert (done.returncode, done.stdout) == (0, "Red, with 'quotes' and $HOME\n")
    [listed] = whisk.json("question", "list")
    assert listed["answeredBy"] == "ann"


def test_a_question_that_nobody_answers_in_time_says_how_to_go_on(whisk: Whisk, item: WorkItem) -> None:
    waited = whisk("question", "ask", "-prompt", "?", "-wait", "-timeout", "50ms", "-work-item", item.id)
    [question] = whisk.json("question", "list")
    assert (waited.returncode, waited.stdout) == (1, "")
    assert f"whisk question wait {question['id']}" in waited.stderr
    whisk("question", "answer", question["id"], "-answer", "yes")
    again = whisk("question", "wait", question["id"])
    assert (again.returncode, again.stdout) == (0, "yes\n")


def test_a_waiting_question_survives_a_restart_of_the_server(whisk: Whisk, item: WorkItem) -> None:
    asking = whisk.start("question", "ask", "-prompt", "?", "-wait", "-work-item", item.id)
    whisk.until_awaited(item)
    assert whisk.server is not None
    port = whisk.server.address[1]
    assert whisk.server.stop(timeout=5.0) == 0
    whisk.serve(port)
    whisk.until_awaited(item)
    [question] = whisk.json("question", "list")
    whisk("question", "answer", question["id"], "-answer", "still here")
    done = asking.get(timeout=60)
    assert (done.returncode, done.stdout) == (0, "still here\n")


def test_the_second_answer_is_refused_and_names_the_first(whisk: Whisk, item: WorkItem) -> None:
    asked = whisk("question", "ask", "-prompt", "?", "-work-item", item.id).stdout.split("\t")[0]
    assert whisk("question", "answer", asked, "-answer", "a").returncode == 0
    late = whisk("question", "answer", asked, "-answer", "b")
    assert late.returncode == 1
    assert "already answered" in late.stderr


def test_a_question_needs_something_to_be_about(whisk: Whisk) -> None:
    done = whisk("question", "ask", "-prompt", "?")
    assert done.returncode == 2
    assert "WHISK_WORK_ITEM_ID" in done.stderr


def test_a_gate_is_decided_by_a_person_and_not_by_an_agent(whisk: Whisk, item: WorkItem) -> None:
    gate = get(whisk.desk.work.item(item.id).open_gate.remote(OpenGate(name="Ship it?")))
    header, row = whisk("gate", "list").stdout.splitlines()
    assert header.split() == ["ID", "WORK_ITEM", "STATUS", "BLOCKING", "NAME"]
    assert row.split() == [gate.id, item.id, "pending", "true", "Ship", "it?"]
    refused = whisk("gate", "complete", gate.id, "-status", "passed", WHISK_PTY_ID="pty_1")
    assert (refused.returncode, "requires human actor" in refused.stderr) == (1, True)
    done = whisk("gate", "complete", gate.id, "-status", "passed")
    assert done.stdout.strip().split("\t") == [gate.id, item.id, "passed"]
