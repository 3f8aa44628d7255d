"""Projects, work items, runs, questions and gates over HTTP, as clients of the wire see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gevent
import pytest
from gevent import socket

from tests.work_desk import Desk
from whisk.actors.future import get
from whisk.http.table import all_routes
from whisk.work.gate import OpenGate

Call = Any


@pytest.fixture
def project(call: Call) -> dict[str, Any]:
    made: dict[str, Any] = call("POST", "/v1/projects", {"name": "App", "rootDir": "/src/app"}).json
    return made


@pytest.fixture
def item(call: Call, project: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = call("POST", "/v1/work-items", {"projectId": project["id"], "title": "Fix it"}).json
    return made


def start(call: Call, item: dict[str, Any], **fields: Any) -> Any:
    return call("POST", "/v1/work-item-runs", {"workItemId": item["id"], **fields})


def test_a_project_is_created_listed_and_shown(call: Call, project: dict[str, Any], item: dict[str, Any]) -> None:
    assert call("GET", "/v1/projects").json == [{**project, "nextWorkItemNumber": 2, "updatedAt": item["createdAt"]}]
    run = start(call, item, launch=True).json
    detail = call("GET", f"/v1/projects/{project['id']}/detail").json
    assert detail["project"]["id"] == project["id"]
    assert [each["id"] for each in detail["workItems"]] == [item["id"]]
    assert [each["id"] for each in detail["sessions"]] == [run["sessionId"]]
    assert detail["runs"] == [run]


def test_the_wire_carries_what_the_contract_requires(call: Call, project: dict[str, Any], item: dict[str, Any]) -> None:
    required = {"id", "name", "slug", "rootDir", "workflow", "preferences", "attachments", "nextWorkItemNumber"}
    assert required | {"createdAt", "updatedAt"} <= project.keys()
    assert project["preferences"] == {"autoRun": "never", "autoWorktree": False}
    required = {"id", "projectId", "workflowId", "workflowVersion", "number", "title", "bodyMarkdown", "stageId"}
    assert required | {"runState", "attachments", "history", "createdAt", "updatedAt"} <= item.keys()
    run = start(call, item).json
    required = {"id", "workItemId", "projectId", "preset", "promptTemplateId", "promptSnapshot", "status", "history"}
    assert required | {"createdAt", "updatedAt"} <= run.keys()


@pytest.mark.parametrize(
    ("path", "body", "status", "part"),
    [
        ("/v1/projects", {"name": "A", "rootDir": "relative"}, 400, "absolute"),
        ("/v1/projects", {"name": "A"}, 400, "rootDir"),
        ("/v1/projects", {"name": "a\0b", "rootDir": "/src"}, 400, "NUL"),
        ("/v1/projects", {"name": "x" * 600, "rootDir": "/src"}, 413, "exceeds 512 bytes"),
        ("/v1/work-items", {"projectId": "proj_9", "title": "T"}, 404, "project proj_9 not found"),
        ("/v1/work-item-runs", {"workItemId": "item_9"}, 404, "work item item_9 not found"),
        ("/v1/questions", {"prompt": "?"}, 400, "work item required"),
        ("/v1/questions", {"prompt": "?", "runId": "run_9"}, 404, "work item run run_9 not found"),
    ],
)
def test_a_refusal_says_what_was_wrong(call: Call, path: str, body: dict[str, Any], status: int, part: str) -> None:
    answer = call("POST", path, body)
    assert (answer.status, bool(answer.code)) == (status, True)
    assert part in answer.json["error"]


def test_items_are_listed_by_project(call: Call, item: dict[str, Any]) -> None:
    other = call("POST", "/v1/projects", {"name": "B", "rootDir": "/src"}).json
    call("POST", "/v1/work-items", {"projectId": other["id"], "title": "Else"})
    assert len(call("GET", "/v1/work-items").json) == 2
    assert call("GET", f"/v1/work-items?projectId={item['projectId']}").json == [item]
    assert call("GET", "/v1/work-items?projectId=proj_9").json == []


def test_a_run_is_started_listed_and_cancelled(call: Call, item: dict[str, Any]) -> None:
    answer = start(call, item, launch=True, agentProfileId="claude", actor="ann")
    assert (answer.status, answer.json["status"]) == (201, "running")
    run = answer.json
    assert call("GET", f"/v1/work-item-runs?workItemId={item['id']}").json == [run]
    assert call("GET", "/v1/work-items").json[0]["runState"] == "running"
    cancelled = call("POST", f"/v1/work-item-runs/{run['id']}/cancel", {"actor": "ann"}).json
    assert (cancelled["status"], cancelled["history"][-1]["actor"]) == ("cancelled", "ann")
    again = call("POST", f"/v1/work-item-runs/{run['id']}/cancel", {})
    assert (again.status, again.json["error"]) == (400, f"work item run {run['id']} is already cancelled")


def test_a_run_waits_in_the_queue_until_it_is_launched(call: Call, item: dict[str, Any]) -> None:
    run = start(call, item).json
    assert run["status"] == "queued"
    path = f"/v1/work-item-runs/{run['id']}/launch"
    assert call("POST", path, {"agentProfileId": "codex"}).json["status"] == "running"
    assert call("POST", path, {}).status == 400


def test_a_launch_that_fails_is_the_answer_and_the_run_has_failed(call: Call, item: dict[str, Any]) -> None:
    answer = start(call, item, launch=True, agentProfileId="nobody")
    [run] = call("GET", "/v1/work-item-runs").json
    assert run["status"] == "failed"
    said = f'unknown agent profile "nobody" (run {run["id"]} has failed)'
    assert (answer.status, answer.json["error"], answer.json["details"]["run"]) == (400, said, run["id"])


def test_a_question_is_asked_answered_once_and_listed(call: Call, item: dict[str, Any]) -> None:
    run = start(call, item, launch=True).json
    answer = call("POST", "/v1/questions", {"prompt": "Which?", "runId": run["id"], "actor": "agent"})
    assert (answer.status, answer.json["status"], answer.json["workItemId"]) == (201, "open", item["id"])
    path = f"/v1/questions/{answer.json['id']}/answer"
    assert call("GET", "/v1/questions?status=open").json == [answer.json]
    done = call("POST", path, {"answer": "Red", "actor": "ann"}).json
    assert (done["answer"], done["answeredBy"]) == ("Red", "ann")
    late = call("POST", path, {"answer": "Blue", "actor": "bob"})
    assert (late.status, late.code) == (409, "conflict")
    assert late.json["details"] == {"question": done["id"], "answer": "Red", "answeredBy": "ann"}
    assert call("GET", f"/v1/questions?workItemId={item['id']}").json == [done]
    assert call("GET", "/v1/questions?status=maybe").status == 400


def test_a_wait_for_an_answer_ends_in_time(call: Call, desk: Desk, item: dict[str, Any]) -> None:
    asked = call("POST", "/v1/questions", {"prompt": "Which?", "workItemId": item["id"]}).json
    assert call("GET", f"/v1/questions/{asked['id']}/wait?timeoutMs=0").json == asked
    assert call("GET", f"/v1/questions/{asked['id']}/wait?timeoutMs=1").json == asked
    assert desk.system.describe(f"work-item:{item['id']}").facts["awaitedQuestions"] == 0
    assert call("GET", f"/v1/questions/{asked['id']}/wait?timeoutMs=-1").status == 400


def test_who_waits_gets_the_answer_and_who_leaves_is_forgotten(
    call: Call,
    parts: dict[str, Any],
    desk: Desk,
    item: dict[str, Any],
    serve: Callable[..., Any],
    connect: Callable[..., Any],
) -> None:
    server = serve(all_routes(), **parts)
    asked = call("POST", "/v1/questions", {"prompt": "Which?", "workItemId": item["id"]}).json
    path = f"/v1/questions/{asked['id']}/wait?timeoutMs=20000"
    staying, leaving = connect(server), connect(server)
    answer = gevent.spawn(staying.request, "GET", path)
    leaving.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {leaving.token}\r\n\r\n".encode())
    name = f"work-item:{item['id']}"
    waiters = desk.system._cells[name].actor._waiting  # type: ignore[union-attr]
    with gevent.Timeout(10):
        while len(waiters.get(asked["id"], ())) < 2:
            gevent.sleep(0.001)
        leaving.socket.shutdown(socket.SHUT_RDWR)
        while len(waiters.get(asked["id"], ())) > 1:
            gevent.sleep(0.001)
    call("POST", f"/v1/questions/{asked['id']}/answer", {"answer": "Red"})
    assert answer.get(timeout=10).json["answer"] == "Red"
    assert desk.system.describe(name).facts["awaitedQuestions"] == 0


def test_a_gate_is_decided_by_a_person_once(call: Call, desk: Desk, item: dict[str, Any]) -> None:
    gate = get(desk.work.item(item["id"]).open_gate.remote(OpenGate(name="Ship?")))
    path = f"/v1/gate-reports/{gate.id}/complete"
    assert [each["status"] for each in call("GET", f"/v1/gate-reports?workItemId={item['id']}").json] == ["pending"]
    assert call("POST", path, {"status": "passed", "actor": "agent"}).status == 400
    assert call("POST", path, {"status": "overridden", "actor": "ann"}).status == 400
    assert call("POST", path, {"status": "passed", "actor": "ann"}).json["status"] == "passed"
    assert call("POST", path, {"status": "failed", "actor": "bob"}).status == 409
