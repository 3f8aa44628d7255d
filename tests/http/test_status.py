"""Status reports over HTTP: what they change, what is kept, who has read it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.work_desk import Desk
from whisk.actors.future import get
from whisk.storage import run as run_storage
from whisk.storage import status
from whisk.storage.database import Store

Call = Any


@pytest.fixture
def item(call: Call) -> dict[str, Any]:
    project = call("POST", "/v1/projects", {"name": "App", "rootDir": "/src/app"}).json
    made: dict[str, Any] = call("POST", "/v1/work-items", {"projectId": project["id"], "title": "Fix it"}).json
    return made


@pytest.fixture
def run(call: Call, item: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = call("POST", "/v1/work-item-runs", {"workItemId": item["id"], "launch": True}).json
    return made


def report(call: Call, kind: str, **fields: Any) -> Any:
    return call("POST", "/v1/status", {"kind": kind, "message": "so it is", **fields})


def announced(desk: Desk) -> list[str | None]:
    return [each.id for each in get(desk.events.follow.remote(0, 1000)).events if each.type == "status.changed"]


@pytest.mark.parametrize("kind", ["question", "blocked"])
def test_a_run_that_asks_or_is_blocked_waits_for_input(
    call: Call, desk: Desk, item: dict[str, Any], run: dict[str, Any], kind: str
) -> None:
    answer = report(call, kind, runId=run["id"], actor="agent")
    assert answer.status == 201
    told = answer.json
    assert (told["run"]["status"], told["workItem"]["runState"]) == ("awaiting_input", "awaiting_input")
    assert told["run"]["history"][-1]["message"] == "so it is"
    event = told["event"]
    assert (event["scope"], event["kind"], event["requiresAttention"]) == ("run", kind, True)
    assert (event["projectId"], event["workItemId"]) == (item["projectId"], item["id"])
    assert (event["sessionId"], event["ptyId"]) == (run["sessionId"], run["ptyId"])
    assert announced(desk) == [event["id"]]


def test_a_run_that_is_done_is_completed_and_no_gate_is_skipped(
    call: Call, item: dict[str, Any], run: dict[str, Any]
) -> None:
    told = report(call, "done", runId=run["id"]).json
    assert told["run"]["status"] == "completed"
    assert told["event"]["requiresAttention"] is False
    assert told["workItem"]["stageId"] == item["stageId"]
    late = report(call, "blocked", runId=run["id"])
    assert (late.status, late.json["error"]) == (400, f"work item run {run['id']} is already completed")
    assert [each["kind"] for each in call("GET", "/v1/status-events").json] == ["done"]


def executing(call: Call, item: dict[str, Any]) -> dict[str, Any]:
    """The item's execution, in its stage."""
    steps = f"/v1/work-items/{item['id']}"
    call("POST", f"{steps}/start-planning", {"actor": "ann"})
    plan = call("POST", f"{steps}/plan-drafts", {"body": "Do it", "actor": "agent"}).json
    call("POST", f"{steps}/approve-plan", {"artifactId": plan["id"], "actor": "ann"})
    started: dict[str, Any] = call("POST", f"{steps}/start-execution", {"actor": "ann"}).json
    return started


def test_the_execution_that_is_done_moves_the_item_on_with_the_gates_of_that_step(
    call: Call, item: dict[str, Any]
) -> None:
    run = executing(call, item)
    told = report(call, "done", runId=run["id"], actor="agent").json
    assert (told["run"]["status"], told["workItem"]["stageId"]) == ("completed", "review")
    of_item = f"workItemId={item['id']}"
    assert [gate["status"] for gate in call("GET", f"/v1/gate-reports?{of_item}").json] == ["pending"]
    assert call("GET", f"/v1/workflow-events?{of_item}").json[-1]["type"] == "execution_completed"
    refused = call("POST", f"/v1/work-items/{item['id']}/approve-done", {"actor": "ann"})
    assert "blocking gates must pass" in refused.json["error"]
    assert report(call, "done", runId=run["id"]).status == 400
    assert [each["kind"] for each in call("GET", f"/v1/status-events?{of_item}").json] == ["done"]


def test_an_execution_that_was_called_off_is_not_done_and_moves_nothing(call: Call, item: dict[str, Any]) -> None:
    run = executing(call, item)
    call("POST", f"/v1/work-item-runs/{run['id']}/cancel", {"actor": "ann"})
    answer = report(call, "done", runId=run["id"], actor="ann")
    assert (answer.status, answer.json["error"]) == (400, f"work item run {run['id']} is already cancelled")
    assert call("GET", "/v1/work-items").json[0]["stageId"] == "execution"
    assert call("GET", "/v1/status-events").json == []


def test_another_run_that_is_done_leaves_the_execution_and_the_item_where_they_are(
    call: Call, item: dict[str, Any]
) -> None:
    other = call("POST", "/v1/work-item-runs", {"workItemId": item["id"], "preset": "reader"}).json
    run = executing(call, item)
    told = report(call, "done", runId=other["id"]).json
    assert (told["run"]["status"], told["workItem"]["stageId"]) == ("completed", "execution")
    runs = {each["id"]: each["status"] for each in call("GET", f"/v1/work-item-runs?workItemId={item['id']}").json}
    assert runs[run["id"]] == "queued"


def test_an_item_that_has_left_execution_stays_where_people_have_put_it(call: Call, item: dict[str, Any]) -> None:
    run = executing(call, item)
    actions = call("GET", f"/v1/work-items/{item['id']}/workflow-actions").json
    [block] = [each["action"]["id"] for each in actions if each["action"].get("sideStage")]
    call("POST", f"/v1/work-items/{item['id']}/actions/{block}", {"actor": "ann", "reason": "wait"})
    told = report(call, "done", runId=run["id"]).json
    assert (told["run"]["status"], told["workItem"]["stageId"]) == ("completed", "blocked")


def test_a_second_question_of_a_run_that_waits_is_kept_as_well(call: Call, run: dict[str, Any]) -> None:
    first = report(call, "question", runId=run["id"]).json
    second = report(call, "question", runId=run["id"]).json
    assert first["run"] == second["run"]
    assert len(call("GET", f"/v1/status-events?runId={run['id']}").json) == 2


def test_a_run_goes_on_when_its_agent_is_spoken_to_and_no_question_is_open(
    call: Call, desk: Desk, run: dict[str, Any]
) -> None:
    its_actor = desk.work.run(run["id"])

    def state_once_spoken_to() -> str:
        get(its_actor.spoken_to.remote())
        return get(its_actor.show.remote()).status

    report(call, "blocked", runId=run["id"])
    assert state_once_spoken_to() == "running"
    asked = call("POST", "/v1/questions", {"prompt": "Which?", "runId": run["id"]}).json
    assert state_once_spoken_to() == "awaiting_input"
    call("POST", f"/v1/questions/{asked['id']}/answer", {"answer": "That", "actor": "ann"})
    assert state_once_spoken_to() == "running"
    report(call, "done", runId=run["id"])
    assert state_once_spoken_to() == "completed"


def test_a_report_without_a_run_is_only_kept(call: Call, item: dict[str, Any], run: dict[str, Any]) -> None:
    told = report(call, "done", ptyId=run["ptyId"]).json
    assert (told["event"]["scope"], told["event"]["sessionId"]) == ("pty", run["sessionId"])
    assert "run" not in told
    assert report(call, "done", workItemId=item["id"]).json["event"]["scope"] == "work-item"
    assert report(call, "done", sessionId=run["sessionId"]).json["event"]["scope"] == "session"
    assert call("GET", "/v1/work-item-runs").json[0]["status"] == "running"


@pytest.mark.parametrize(
    ("fields", "status", "part"),
    [
        ({"kind": "question"}, 400, "status context required"),
        ({"kind": "question", "projectId": "proj_9"}, 404, "project proj_9 not found"),
        ({"kind": "question", "runId": "run_9"}, 404, "work item run run_9 not found"),
        ({"kind": "question", "ptyId": "pty_9"}, 404, "pty pty_9 not found"),
        ({"kind": "question", "sessionId": "sess_9"}, 404, "session sess_9 not found"),
        ({"kind": "question", "workItemId": "item_9"}, 404, "work item item_9 not found"),
        ({"kind": "stuck", "paneId": "p"}, 400, "unsupported status kind stuck"),
    ],
)
def test_a_report_that_is_refused_leaves_nothing(call: Call, fields: dict[str, Any], status: int, part: str) -> None:
    answer = report(call, **fields)
    assert answer.status == status
    assert part in answer.json["error"]
    assert call("GET", "/v1/status-events").json == []


def test_reports_are_listed_by_what_they_are_about_and_by_who_has_read_them(
    call: Call, desk: Desk, item: dict[str, Any], run: dict[str, Any]
) -> None:
    first = report(call, "question", runId=run["id"]).json["event"]
    second = report(call, "done", workItemId=item["id"]).json["event"]
    listed = call("GET", f"/v1/status-events?workItemId={item['id']}&projectId={item['projectId']}").json
    assert listed == [first, second]
    assert call("GET", f"/v1/status-events?ptyId={run['ptyId']}&sessionId={run['sessionId']}").json == [first]
    seen = call("POST", f"/v1/status-events/{first['id']}/read", {"id": "another"}).json
    assert seen.pop("readAt")
    assert seen == first
    assert call("POST", f"/v1/status-events/{first['id']}/read").status == 200
    assert call("GET", "/v1/status-events?unreadOnly=true").json == [second]
    assert call("GET", "/v1/status-events?limit=1").json == [second]
    assert announced(desk) == [first["id"], second["id"], first["id"]]
    assert call("POST", "/v1/status-events/stat_9/read").status == 404


def test_a_report_and_its_run_are_on_disk_together_when_it_is_answered(
    call: Call, desk: Desk, run: dict[str, Any]
) -> None:
    event = report(call, "blocked", runId=run["id"]).json["event"]
    store = Store.open(desk.path)
    kept = store.read(lambda db: status.select(db, status.StatusQuery()))
    assert [each.id for each in kept] == [event["id"]]
    assert store.read(lambda db: run_storage.get(db, run["id"])).status == "awaiting_input"
    store.close()


def test_reports_go_with_the_item_that_they_are_about(call: Call, item: dict[str, Any]) -> None:
    report(call, "done", workItemId=item["id"])
    assert call("POST", f"/v1/work-items/{item['id']}/delete", {"actor": "ann"}).status == 200
    assert call("GET", "/v1/status-events").json == []
