"""`whisk workflow …` and `whisk run …` as processes, against a real server over real actors of work."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Whisk
from whisk.work.item import WorkItem

AGENT = {"WHISK_ACTOR": "agent", "WHISK_PTY_ID": "pty_1"}


@pytest.fixture
def item(whisk: Whisk) -> WorkItem:
    return whisk.desk.item()


def test_an_agent_plans_and_a_person_approves(whisk: Whisk, item: WorkItem) -> None:
    started = whisk("workflow", "start-planning", "-work-item", item.id)
    run = started.stdout.split("\t")[0]
    assert started.stdout == f"{run}\tqueued\treader\t\t\n"
    inside = {**AGENT, "WHISK_RUN_ID": run, "WHISK_WORK_ITEM_ID": item.id}
    submitted = whisk("workflow", "submit-plan", "-body", "-", stdin="1. Test\n2. Fix\n", **inside)
    plan = submitted.stdout.split("\t")[0]
    assert submitted.stdout == f"{plan}\t{item.id}\tplan\tdraft\n"
    assert "completed" in whisk("run", "show", run).stdout
    refused = whisk("workflow", "approve-plan", "-artifact", plan, **inside)
    assert (refused.returncode, refused.stderr) == (1, "whisk: workflow action approve_plan requires human actor\n")
    assert "2. Fix" in whisk("workflow", "artifacts", "-work-item", item.id, "-full").stdout
    approved = whisk("workflow", "approve-plan", "-artifact", plan, "-work-item", item.id)
    assert approved.stdout == f"{item.id}\t#1\tready\n"


def test_the_actions_are_a_table_and_one_is_taken_by_its_id_first_or_last(whisk: Whisk, item: WorkItem) -> None:
    lines = whisk("workflow", "actions", "-work-item", item.id).stdout.splitlines()
    assert lines[0].split() == ["ACTION", "TO", "ENABLED", "INPUT", "REMARK"]
    assert lines[1].split() == ["start_planning", "planning", "yes", "next", "run"]
    moved = whisk("workflow", "run-action", "start_planning", "-work-item", item.id)
    assert moved.stdout == f"{item.id}\t#1\tplanning\n"
    assert whisk("workflow", "run-action", "-work-item", item.id, "report_blocked", "-reason", "key").returncode == 0
    assert whisk("workflow", "run-action", "-action=unblock", "-work-item", item.id).stdout.endswith("planning\n")
    assert whisk("workflow", "run-action", "-work-item", item.id).returncode == 2
    remarks = whisk("workflow", "actions", "-work-item", item.id).stdout
    assert "plan draft required" in remarks
    events = whisk("workflow", "events", "-work-item", item.id).stdout.splitlines()
    assert [line.split()[3] for line in events[1:]] == ["planning_started", "blocked", "unblocked"]


def test_a_queued_run_is_launched_and_shown(whisk: Whisk, item: WorkItem) -> None:
    run = whisk.json("run", "start", "-work-item", item.id, "-launch=false")["id"]
    launched = whisk("run", "launch", run, "-agent-profile", "codex")
    assert launched.stdout.split("\t")[:3] == [run, "running", "reader"]
    shown = whisk("run", "show", run).stdout
    assert "codex-plan" in shown
    assert "queued" in shown
    assert whisk.json("run", "show", run)["status"] == "running"
    assert whisk("run", "show", "run_x").stderr == "whisk: work item run run_x not found\n"


def test_a_launch_that_fails_exits_1_and_names_the_run(whisk: Whisk, item: WorkItem) -> None:
    done = whisk("workflow", "start-planning", "-work-item", item.id, "-launch", "-agent-profile", "nobody")
    assert done.returncode == 1
    [run] = whisk.json("run", "list", "-work-item", item.id)
    assert done.stderr == f'whisk: unknown agent profile "nobody" (run {run["id"]} has failed)\n'
    assert run["status"] == "failed"
