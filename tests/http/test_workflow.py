"""The steps of a work item over HTTP: every route in its success and its refusal, with the statuses clients know."""

from __future__ import annotations

from typing import Any

import pytest

from tests.work_desk import Desk

Call = Any


class Item:
    """A work item and its routes."""

    def __init__(self, call: Call) -> None:
        self._call = call
        project = call("POST", "/v1/projects", {"name": "App", "rootDir": "/src/app"}).json
        made = call("POST", "/v1/work-items", {"projectId": project["id"], "title": "Fix it"}).json
        self.id: str = made["id"]

    def __call__(self, step: str, actor: str = "ann", **body: Any) -> Any:
        return self._call("POST", f"/v1/work-items/{self.id}/{step}", {"actor": actor, **body})

    def get(self, noun: str) -> Any:
        return self._call("GET", f"/v1/{noun}?workItemId={self.id}").json

    @property
    def actions(self) -> dict[str, Any]:
        found = self._call("GET", f"/v1/work-items/{self.id}/workflow-actions").json
        return {each["action"]["id"]: each for each in found}

    def to_review(self) -> dict[str, Any]:
        self("start-planning")
        plan = self("plan-drafts", "agent", body="The plan").json
        self("approve-plan", artifactId=plan["id"])
        run: dict[str, Any] = self("start-execution").json
        self("complete-execution", "agent", runId=run["id"])
        return run


@pytest.fixture
def item(call: Call) -> Item:
    return Item(call)


def test_a_work_item_goes_from_backlog_to_done(call: Call, item: Item) -> None:
    started = item("start-planning", agentProfileId="codex")
    assert (started.status, started.json["status"], started.json["agentProfileId"]) == (201, "queued", "codex")
    drafted = item("plan-drafts", "agent", body="The plan", title="Plan A", runId=started.json["id"])
    assert (drafted.status, drafted.json["kind"], drafted.json["status"]) == (201, "plan", "draft")
    assert drafted.json["title"] == "Plan A"
    assert item.get("artifacts") == [drafted.json]
    approved = item("approve-plan", artifactId=drafted.json["id"])
    assert (approved.status, approved.json["stageId"]) == (200, "ready")
    run = item("start-execution").json
    assert item.get("work-item-runs")[-1] == run
    completed = item("complete-execution", "agent", runId=run["id"], message="Built")
    assert (completed.status, completed.json["stageId"], completed.json["runState"]) == (200, "review", "completed")
    refused = item("approve-done")
    assert (refused.status, refused.code) == (400, "refused")
    assert refused.json["error"] == "blocking gates must pass or be overridden"
    [gate] = item.get("gate-reports")
    assert (gate["blocking"], gate["status"], gate["name"], gate["runId"]) == (True, "pending", "review", run["id"])
    call("POST", f"/v1/gate-reports/{gate['id']}/complete", {"status": "passed", "actor": "ann"})
    done = item("approve-done", reason="Good")
    assert (done.status, done.json["stageId"]) == (200, "done")
    assert [event["type"] for event in item.get("workflow-events")][-2:] == ["gate_completed", "done_approved"]
    trail = call("GET", f"/v1/audit?id={item.id}").json
    assert [(line["who"], line["action"], line["outcome"]) for line in trail][-1] == ("ann", "approve_done", "done")


def test_the_work_goes_back_with_feedback(item: Item) -> None:
    run = item.to_review()
    sent = item("review-feedback", body="Handle errors", runId=run["id"])
    assert (sent.status, sent.json["kind"], sent.json["status"], sent.json["runId"]) == (
        201, "feedback", "approved", run["id"],
    )  # fmt: skip
    assert item.get("work-item-runs")[-1]["status"] == "queued"
    assert list(item.actions) == ["complete_execution", "report_blocked"]


def test_the_execution_of_a_run_is_completed_by_the_run(call: Call, item: Item) -> None:
    run = item.to_review()
    item("review-feedback", body="More")
    answer = call("POST", f"/v1/work-item-runs/{run['id']}/complete-execution", {"actor": "agent", "message": "Again"})
    assert (answer.status, answer.json["stageId"]) == (200, "review")


def test_an_action_is_taken_by_its_id(item: Item) -> None:
    item("actions/start_planning")
    blocked = item("actions/report_blocked", "agent", reason="No key")
    assert (blocked.status, blocked.json["stageId"], blocked.json["previousStageId"]) == (200, "blocked", "planning")
    assert item("actions/unblock").json["stageId"] == "planning"
    unknown = item("actions/dance")
    assert (unknown.status, unknown.code) == (404, "not_found")


def test_the_actions_say_what_may_be_done(item: Item) -> None:
    assert item.actions["start_planning"] == {
        "action": {
            "id": "start_planning",
            "from": ["backlog"],
            "to": "planning",
            "createsRun": {
                "phase": "planning",
                "preset": "reader",
                "promptTemplateId": "plan",
                "workingDir": "projectRoot",
            },
        },
        "enabled": True,
        "recommended": True,
        "inputKind": "run",
    }
    item("start-planning")
    disabled = item.actions["approve_plan"]
    assert (disabled["enabled"], disabled["reason"]) == (False, "plan draft required")


def test_a_move_does_all_that_its_action_does(item: Item) -> None:
    moved = item("move", stageId="planning")
    assert (moved.status, moved.json["stageId"], moved.json["runState"]) == (200, "planning", "queued")
    item("plan-drafts", body="The plan")
    refused = item("move", stageId="ready")
    assert refused.status == 400
    assert "whisk workflow approve-plan -artifact" in refused.json["error"]
    nowhere = item("move", stageId="done")
    assert nowhere.json["error"] == "workflow action from planning to done not found"


@pytest.mark.parametrize("step", ["start-execution", "launch-execution", "queue-execution", "approve-done"])
def test_a_step_in_the_wrong_stage_is_400(item: Item, step: str) -> None:
    answer = item(step)
    assert (answer.status, answer.code) == (400, "refused")
    assert "not available in stage backlog" in answer.json["error"]


def test_only_people_approve_and_a_second_approval_is_409(item: Item) -> None:
    item("start-planning")
    plan = item("plan-drafts", "agent", body="The plan").json
    for actor in ("agent", "agent:claude", ""):
        refused = item("approve-plan", actor, artifactId=plan["id"])
        assert (refused.status, refused.json["error"]) == (400, "workflow action approve_plan requires human actor")
    item("approve-plan", artifactId=plan["id"])
    again = item("approve-plan", "bob", artifactId=plan["id"])
    assert (again.status, again.code, again.json["details"]["by"]) == (409, "conflict", "ann")


def test_unknown_artifacts_and_runs_are_404_and_foreign_runs_400(call: Call, item: Item) -> None:
    item("start-planning")
    item("plan-drafts", body="The plan")
    assert item("approve-plan", artifactId="art_x").status == 404
    assert item("plan-drafts", body="x", runId="run_x").status == 404
    foreign = Item(call)("start-planning").json
    assert item("plan-drafts", body="x", runId=foreign["id"]).status == 400
    assert call("POST", "/v1/work-item-runs/run_x/complete-execution", {}).status == 404


def test_a_plan_that_is_too_long_is_413_and_an_empty_one_400(item: Item) -> None:
    item("start-planning")
    assert item("plan-drafts", body="x" * 65_537).status == 413
    assert item("plan-drafts", body=" ").status == 400
    assert item.get("artifacts") == []


# -- launches -------------------------------------------------------------------------------------------------------


def test_a_step_that_launches_answers_when_the_agent_runs(desk: Desk, item: Item) -> None:
    run = item("start-planning", launch=True, agentProfileId="claude-plan").json
    assert (run["status"], run["agentProfileId"]) == ("running", "claude-plan")
    [(order, _)] = desk.launches
    assert order.name == "#1 Planning - Fix it"


def test_a_launch_that_fails_says_so_and_the_step_stands(item: Item) -> None:
    answer = item("start-planning", launch=True, agentProfileId="nobody")
    [run] = item.get("work-item-runs")
    assert (answer.status, answer.json["details"]["run"]) == (400, run["id"])
    assert answer.json["error"] == f'unknown agent profile "nobody" (run {run["id"]} has failed)'
    assert (run["status"], run["history"][-1]["message"]) == ("failed", 'launch failed: unknown agent profile "nobody"')
    assert "submit_draft_plan" in item.actions
    assert [event["type"] for event in item.get("workflow-events")] == ["planning_started", "run_failed"]


def test_a_queued_execution_is_the_one_that_is_launched(desk: Desk, item: Item) -> None:
    item("start-planning")
    item("approve-plan", artifactId=item("plan-drafts", body="The plan").json["id"])
    queued = item("queue-execution")
    assert (queued.status, queued.json["status"]) == (201, "queued")
    launched = item("launch-execution", worktreeOverridePath="/src/other")
    assert (launched.status, launched.json["id"], launched.json["status"]) == (201, queued.json["id"], "running")
    assert desk.launches[-1][0].working_dir == "/src/other"


def test_an_execution_that_nobody_queued_is_started_and_launched(item: Item) -> None:
    item("start-planning")
    item("approve-plan", artifactId=item("plan-drafts", body="The plan").json["id"])
    launched = item("launch-execution")
    assert (launched.status, launched.json["status"]) == (201, "running")
    assert item("launch-execution").status == 400
