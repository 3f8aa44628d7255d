"""The operations of projects and of the workflow, each where it stands in the life of a project or of a work item."""

from __future__ import annotations

import subprocess
from typing import Any

from .world import World


def plan(w: World) -> tuple[dict[str, Any], str]:
    """The ids of an item's path, and an approved plan's; the item is ready."""
    item = {"work_item_id": w.item()}
    run = w.ok("startPlanning", {"agentProfileId": "plain-shell"}, **item)
    draft = w.ok("submitDraftPlan", {"body": "First this, then that.", "runId": run["id"], "actor": "agent"}, **item)
    assert w.ok("listArtifacts", query={"workItemId": item["work_item_id"]}) == [draft]
    offered = {each["action"]["id"]: each for each in w.ok("listWorkItemWorkflowActions", **item)}
    assert offered["approve_plan"]["enabled"]
    assert w.ok("approvePlan", {"artifactId": draft["id"], "actor": "ada"}, **item)["stageId"] == "ready"
    return item, draft["id"]


def workflow(w: World) -> None:
    """From the backlog until it is done, with one round of review."""
    item, _ = plan(w)
    run = w.ok("startExecution", {"agentProfileId": "plain-shell"}, **item)
    assert w.ok("getWorkItemRun", run_id=run["id"])["status"] == "queued"
    assert w.ok("completeExecution", {"message": "Done"}, run_id=run["id"])["stageId"] == "review"
    w.ok("submitReviewFeedback", {"body": "Also the other side.", "actor": "ada"}, **item)
    again = w.ok("listWorkItemRuns", query={"workItemId": item["work_item_id"]})[0]
    assert w.ok("completeExecutionForWorkItem", {"runId": again["id"]}, **item)["stageId"] == "review"
    refused = w.do("approveDone", {"actor": "ada"}, **item)
    assert (refused.status, w.refused(refused)) == (400, "refused")
    for gate in w.ok("listGateReports", query={"workItemId": item["work_item_id"]}):
        w.ok("completeGate", {"status": "passed", "actor": "ada"}, gate_report_id=gate["id"])
    assert w.ok("approveDone", {"reason": "Good", "actor": "ada"}, **item)["stageId"] == "done"
    told = [each["type"] for each in w.ok("listWorkflowEvents", query={"workItemId": item["work_item_id"]})]
    assert {"planning_started", "plan_approved", "execution_completed", "done_approved"} <= set(told)


def queue_execution(w: World) -> None:
    item, _ = plan(w)
    assert w.ok("queueExecution", **item)["status"] == "queued"


def launch_execution(w: World) -> None:
    item, _ = plan(w)
    repo = repository(w)
    w.ok("bindWorkItemWorktree", {"branch": "main", "worktreePath": repo}, **item)
    assert w.ok("launchExecution", {"agentProfileId": "plain-shell"}, **item)["status"] == "running"


def move_item(w: World) -> None:
    item = {"work_item_id": w.item()}
    assert w.ok("moveWorkItem", {"stageId": "planning"}, **item)["stageId"] == "planning"
    blocked = w.ok("runWorkItemWorkflowAction", {"reason": "No key"}, action_id="report_blocked", **item)
    assert (blocked["stageId"], blocked["previousStageId"]) == ("blocked", "planning")


def link_items(w: World) -> None:
    """One item waits for another."""
    items = [w.item(), w.item()]
    ends = {"sourceWorkItemId": items[0], "targetWorkItemId": items[1]}
    link = w.ok("addWorkItemLink", ends | {"type": "blocks", "actor": "ada"})
    assert w.ok("listWorkItemLinks", query={"workItemId": items[0]}) == [link]
    blocked = [each["workItem"]["id"] for each in w.ok("readyWork", query={"projectId": w.project})["blocked"]]
    assert len(set(blocked) & set(items)) == 1
    circle = w.do("addWorkItemLink", {"sourceWorkItemId": items[1], "targetWorkItemId": items[0], "type": "blocks"})
    assert (circle.status, w.refused(circle)) == (400, "refused")
    w.ok("deleteWorkItemLink", link_id=link["id"])
    assert w.ok("listWorkItemLinks", query={"workItemId": items[0]}) == []


def change_project(w: World) -> None:
    root = w.root / "changed"
    root.mkdir()
    project = {"project_id": w.ok("createProject", {"name": "Changing", "rootDir": str(root)})["id"]}
    assert w.ok("updateProject", {"name": "Changed", "description": None}, **project)["name"] == "Changed"
    meta = {"tool/level": {"type": "json", "json": {"any": [1]}}}
    note = {"kind": "note", "note": "Read this.", "includeInContext": True, "meta": meta}
    (attached,) = w.ok("addProjectAttachment", note, **project)["attachments"]
    assert attached["meta"] == meta
    on = {"attachment_id": attached["id"]}
    change = {"projectId": project["project_id"], "note": "Read that."}
    assert w.ok("updateProjectAttachment", change, **on)["attachments"][0]["note"] == "Read that."
    assert w.ok("getProjectContext", **project)["items"][0]["content"] == "Read that."
    assert w.ok("deleteProjectAttachment", {"projectId": project["project_id"]}, **on)["attachments"] == []
    builtin = {"id": "plan-execute-review", "version": 1}
    assert w.ok("planProjectWorkflowMigration", builtin, **project)["incompatibleItems"] == 0
    assert w.ok("setProjectWorkflowDefinition", builtin, **project)["workflow"]["definitionVersion"] == 1
    w.ok("deleteProject", **project)
    assert project["project_id"] not in [each["id"] for each in w.ok("listProjects")]


def make_worktree(w: World) -> None:
    repo = repository(w)
    w.ok("detectWorktrunk", {"repoPath": repo})
    path = w.ok("createWorktree", {"repoPath": repo, "branch": "side", "base": "HEAD"})["path"]
    assert path in [each["path"] for each in w.ok("listWorktrees", {"repoPath": repo})]
    w.ok("removeWorktree", {"repoPath": repo, "worktreePath": path, "force": False, "alsoBranch": True})


def repository(w: World) -> str:
    """A folder under git with one commit."""
    repo = w.root / "repo"
    if not repo.exists():
        author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        first = ("-C", str(repo), *author, "commit", "-q", "--allow-empty", "-m", "First")
        for words in (("init", "-q", "-b", "main", str(repo)), first):
            subprocess.run(["git", *words], check=True, capture_output=True)
    return str(repo)


WORK_STEPS = {
    "launchExecution": launch_execution,
    "queueExecution": queue_execution,
    **dict.fromkeys(("addWorkItemLink", "deleteWorkItemLink", "listWorkItemLinks", "readyWork"), link_items),
    **dict.fromkeys(("moveWorkItem", "runWorkItemWorkflowAction"), move_item),
    **dict.fromkeys(
        (
            "approveDone", "approvePlan", "completeExecution", "completeExecutionForWorkItem", "getWorkItemRun",
            "listArtifacts", "listWorkItemWorkflowActions", "listWorkflowEvents", "startExecution", "startPlanning",
            "submitDraftPlan", "submitReviewFeedback",
        ),
        workflow,
    ),
    **dict.fromkeys(
        (
            "addProjectAttachment", "deleteProject", "deleteProjectAttachment", "getProjectContext",
            "planProjectWorkflowMigration", "setProjectWorkflowDefinition", "updateProject", "updateProjectAttachment",
        ),
        change_project,
    ),
    **dict.fromkeys(("createWorktree", "detectWorktrunk", "listWorktrees", "removeWorktree"), make_worktree),
}  # fmt: skip
