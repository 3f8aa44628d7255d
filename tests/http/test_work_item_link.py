"""Links between work items and ready work over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

Call = Any


@pytest.fixture
def items(call: Call) -> list[dict[str, Any]]:
    project = call("POST", "/v1/projects", {"name": "App", "rootDir": "/src/app"}).json
    body = {"projectId": project["id"], "title": "Fix it"}
    return [call("POST", "/v1/work-items", body).json for _ in range(3)]


def link(call: Call, source: Any, target: Any, kind: str = "blocks") -> Any:
    body = {"sourceWorkItemId": source["id"], "targetWorkItemId": target["id"], "type": kind, "actor": "ann"}
    return call("POST", "/v1/work-item-links", body)


def test_a_link_is_made_listed_and_deleted(call: Call, items: list[dict[str, Any]]) -> None:
    one, two, three = items
    made = link(call, one, two)
    assert made.status == 201
    required = {"id", "projectId", "sourceWorkItemId", "targetWorkItemId", "type", "createdAt"}
    assert made.json.keys() == required | {"createdBy"}
    second = link(call, two, three, "related").json
    assert call("GET", "/v1/work-item-links").json == [made.json, second]
    assert call("GET", f"/v1/work-item-links?workItemId={three['id']}").json == [second]
    assert call("GET", f"/v1/work-item-links?projectId={one['projectId']}").json == [made.json, second]
    path = f"/v1/work-item-links/{made.json['id']}/delete"
    assert call("POST", path, {}).json == made.json
    assert call("POST", path, {}).status == 404


def test_a_circle_is_refused_with_its_way(call: Call, items: list[dict[str, Any]]) -> None:
    one, two, three = items
    link(call, one, two)
    link(call, two, three)
    refused = link(call, three, one)
    ids = [each["id"] for each in (three, one, two, three)]
    assert (refused.status, refused.json["details"]["cycle"]) == (400, ids)
    assert link(call, one, one).status == 400
    assert link(call, one, {"id": "item_9"}).status == 404
    assert link(call, one, two, "likes").code == "invalid"


def test_ready_work_is_explained(call: Call, items: list[dict[str, Any]]) -> None:
    one, two, _ = items
    link(call, one, two)
    found = call("GET", f"/v1/ready-work?projectId={one['projectId']}").json
    assert found["summary"] == {"totalReady": 2, "totalBlocked": 1, "cycleCount": 0}
    assert [(each["workItem"]["number"], each["dependentCount"]) for each in found["ready"]] == [(1, 1), (3, 0)]
    [blocked] = found["blocked"]
    assert (blocked["workItem"]["id"], blocked["blockedByCount"]) == (two["id"], 1)
    assert blocked["blockedBy"] == [
        {"id": one["id"], "number": 1, "title": "Fix it", "stageId": "backlog", "runState": "idle"}
    ]
    assert call("GET", "/v1/ready-work").json == found
    cut = call("GET", "/v1/ready-work?limit=1").json
    assert (len(cut["ready"]), cut["summary"]) == (1, found["summary"])
    assert call("GET", "/v1/ready-work?projectId=proj_9").status == 404
    assert call("GET", "/v1/ready-work?limit=0").status == 400
