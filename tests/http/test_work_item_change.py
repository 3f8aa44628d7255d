"""One work item over HTTP: shown, changed, attached to, bound to a worktree, deleted."""

from __future__ import annotations

from typing import Any

import pytest

Call = Any


@pytest.fixture
def item(call: Call) -> dict[str, Any]:
    project = call("POST", "/v1/projects", {"name": "App", "rootDir": "/src/app"}).json
    made: dict[str, Any] = call("POST", "/v1/work-items", {"projectId": project["id"], "title": "Fix it"}).json
    return made


def test_an_item_is_shown_and_changed(call: Call, item: dict[str, Any]) -> None:
    path = f"/v1/work-items/{item['id']}"
    assert call("GET", path).json == item
    # The path names the item; an id in the body is nothing to go by.
    changed = call("POST", f"{path}/update", {"id": "item_9", "title": "Mend it", "actor": "ann"})
    assert (changed.status, changed.json["title"], changed.json["bodyMarkdown"]) == (200, "Mend it", "")
    assert changed.json["history"][-1]["type"] == "updated"
    assert call("GET", path).json == changed.json
    assert call("GET", "/v1/work-items").json == [changed.json]


def test_things_are_attached(call: Call, item: dict[str, Any]) -> None:
    path = f"/v1/work-items/{item['id']}/attachments"
    answer = call("POST", path, {"workItemId": item["id"], "kind": "file", "path": "docs/plan.md"})
    [attachment] = answer.json["attachments"]
    assert (answer.status, attachment["kind"], attachment["scope"]) == (201, "file", "project")
    assert answer.json["history"][-1]["attachmentId"] == attachment["id"]
    refused = call("POST", path, {"kind": "file", "path": "../plan.md"})
    assert (refused.status, refused.code, refused.json["details"]["field"]) == (400, "invalid", "path")


def test_a_worktree_is_bound_once(call: Call, item: dict[str, Any]) -> None:
    path = f"/v1/work-items/{item['id']}/bind-worktree"
    answer = call("POST", path, {"branch": "whisk/app-1", "worktreePath": "/src/app-1", "base": "main"})
    bound = answer.json["worktree"]
    assert (answer.status, bound.pop("createdAt")) == (200, answer.json["updatedAt"])
    assert bound == {"branch": "whisk/app-1", "base": "main", "worktreePath": "/src/app-1"}
    refused = call("POST", path, {"branch": "other", "worktreePath": "/src/app-2"})
    assert (refused.status, refused.json["details"]["worktreePath"]) == (400, "/src/app-1")
    assert call("POST", path, {"branch": "--force", "worktreePath": "/src/app-2"}).status == 400


def test_a_deleted_item_is_gone(call: Call, item: dict[str, Any]) -> None:
    run = call("POST", "/v1/work-item-runs", {"workItemId": item["id"], "launch": True}).json
    path = f"/v1/work-items/{item['id']}"
    gone = call("POST", f"{path}/delete", {"actor": "ann"})
    assert (gone.status, gone.json["history"][-1]["type"], gone.json["history"][-1]["actor"]) == (200, "deleted", "ann")
    assert call("GET", path).status == 404
    assert call("POST", f"{path}/delete", {}).status == 404
    assert call("GET", "/v1/work-items").json == []
    assert call("GET", "/v1/work-item-runs").json == []
    assert call("POST", f"/v1/work-item-runs/{run['id']}/cancel", {}).status == 404


def test_a_long_list_is_read_in_parts(call: Call, item: dict[str, Any]) -> None:
    more = [call("POST", "/v1/work-items", {"projectId": item["projectId"], "title": f"T{n}"}).json for n in range(3)]
    first = call("GET", "/v1/work-items?limit=2").json
    assert first == [item, more[0]]
    rest = call("GET", f"/v1/work-items?projectId={item['projectId']}&limit=5&after={first[-1]['id']}").json
    assert rest == more[1:]
    assert call("GET", "/v1/work-items?stageId=done").json == []
    assert len(call("GET", "/v1/work-items?stageId=backlog").json) == 4
    assert call("GET", "/v1/work-items?after=item_9").status == 404
    assert call("GET", "/v1/work-items?limit=0").status == 400
    for path in ("work-item-runs", "questions", "gate-reports", "artifacts", "workflow-events", "sessions", "ptys"):
        assert call("GET", f"/v1/{path}?limit=1").json == [], path
        assert call("GET", f"/v1/{path}?after=x_9").status == 404, path
