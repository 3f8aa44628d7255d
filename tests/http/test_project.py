"""Projects over HTTP: changed, attached to, compared with a definition, deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from whisk.values import encode
from whisk.work.definition import BUILTIN

Call = Any


@pytest.fixture
def project(call: Call) -> str:
    made: str = call("POST", "/v1/projects", {"name": "App", "rootDir": "/src/app"}).json["id"]
    return made


def test_a_project_is_changed(call: Call, project: str) -> None:
    request = {
        "name": "New",
        "description": None,
        "useInteractiveAgentShell": True,
        "defaultPhaseAgents": {"writer": "codex"},
    }
    answer = call("POST", f"/v1/projects/{project}/update", request)
    assert (answer.status, answer.json["name"], answer.json["slug"]) == (200, "New", "app")
    assert answer.json["preferences"] == {
        "autoRun": "never",
        "autoWorktree": False,
        "useInteractiveAgentShell": True,
        "defaultPhaseAgents": {"writer": "codex"},
    }
    assert call("GET", "/v1/projects").json == [answer.json]
    assert call("POST", f"/v1/projects/{project}/update", {"name": " "}).status == 400
    assert call("POST", f"/v1/projects/{project}/update", {"name": "x" * 600}).status == 413


def test_a_definition_is_chosen_and_compared(call: Call, project: str) -> None:
    item = call("POST", "/v1/work-items", {"projectId": project, "title": "T"}).json
    definition = {**json.loads(encode(BUILTIN)), "id": "ship"}
    call("POST", "/v1/workflow-definitions/import", {"definition": definition})
    wanted = {"id": "ship", "version": 1}
    plan = call("POST", f"/v1/projects/{project}/workflow-migration-plan", wanted).json
    (compared,) = plan.pop("items")
    assert plan == {
        "projectId": project,
        "currentId": "plan-execute-review",
        "currentVersion": 1,
        "targetId": "ship",
        "targetVersion": 1,
        "existingItems": 1,
        "itemsPinnedToCurrentVersion": 1,
        "compatibleItems": 1,
        "incompatibleItems": 0,
    }
    assert (compared["workItemId"], compared["compatible"], compared["targetStageId"]) == (item["id"], True, "backlog")
    answer = call("POST", f"/v1/projects/{project}/workflow-definition", wanted)
    assert (answer.status, answer.json["workflow"]["definitionId"]) == (200, "ship")
    assert len(answer.json["workflow"]["definitionHash"]) == 64
    for path in ("workflow-definition", "workflow-migration-plan"):
        assert call("POST", f"/v1/projects/{project}/{path}", {"id": "none", "version": 1}).status == 404
    refused = call("POST", "/v1/workflow-definitions/ship/1/delete")
    assert (refused.status, refused.json["details"]) == (400, {"projects": [project], "workItems": 0})


def test_attachments_are_added_changed_shown_and_taken_away(call: Call, project: str) -> None:
    path = f"/v1/projects/{project}/attachments"
    note = {"kind": "note", "note": "Mind the gap", "includeInContext": True}
    answer = call("POST", path, note)
    assert answer.status == 201
    (made,) = answer.json["attachments"]
    assert made == {**note, "id": made["id"], "scope": "project", "createdAt": made["createdAt"]}
    assert call("GET", f"/v1/projects/{project}/context").json == {
        "projectId": project,
        "items": [
            {
                "attachmentId": made["id"],
                "kind": "note",
                "delivery": "inline",
                "contentType": "text/markdown",
                "content": "Mind the gap",
            }
        ],
    }
    one = f"/v1/project-attachments/{made['id']}"
    changed = call("POST", f"{one}/update", {"projectId": project, "title": "Gap", "includeInContext": False})
    assert changed.json["attachments"][0]["title"] == "Gap"
    assert call("GET", f"/v1/projects/{project}/context").json["items"] == []
    for what in ("update", "delete"):
        assert call("POST", f"/v1/project-attachments/att_9/{what}", {"projectId": project}).status == 404
        assert call("POST", f"{one}/{what}", {}).status == 400
    assert call("POST", f"{one}/delete", {"projectId": project}).json["attachments"] == []
    assert call("POST", path, {"kind": "note"}).status == 400
    assert call("POST", path, {"kind": "note", "note": "x" * 70_000}).status == 413


def test_a_project_is_deleted_with_its_items(call: Call, project: str) -> None:
    item = call("POST", "/v1/work-items", {"projectId": project, "title": "T"}).json
    shown = call("GET", f"/v1/projects/{project}/detail").json["project"]
    answer = call("POST", f"/v1/projects/{project}/delete", {"actor": "ann"})
    assert (answer.status, answer.json) == (200, shown)
    assert call("GET", "/v1/projects").json == call("GET", "/v1/work-items").json == []
    for path in (f"/v1/projects/{project}/delete", f"/v1/work-items/{item['id']}/delete"):
        assert call("POST", path, {}).status == 404
    assert call("GET", f"/v1/projects/{project}/detail").status == 404
    assert call("GET", f"/v1/projects/{project}/context").status == 404


def test_the_templates_are_listed(call: Call, project: str) -> None:
    (template,) = call("GET", "/v1/workflow-templates").json
    required = {"id", "name", "source", "stages", "transitionRules", "createdAt", "updatedAt"}
    assert template.keys() == required
    assert template["stages"] == call("GET", "/v1/projects").json[0]["workflow"]["stages"]
    prompts = call("GET", "/v1/prompt-templates").json
    assert [each["id"] for each in prompts] == ["plan", "implement", "review"]
    assert all(each.keys() == {"id", "name", "source", "body", "createdAt", "updatedAt"} for each in prompts)
