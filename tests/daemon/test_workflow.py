"""A work item through the whole workflow, by the commands that people and agents use, against a real daemon."""

from __future__ import annotations

from pathlib import Path

from .conftest import Whiskd


def test_a_work_item_goes_through_the_workflow_by_commands(shared_daemon: Whiskd, tmp_path: Path) -> None:
    whisk = shared_daemon.json
    project = whisk("project", "create", "-name", "Flow", "-root", str(tmp_path))["id"]
    item = whisk("work-item", "create", "-project", project, "-title", "Fix it")["id"]
    on = ("-work-item", item)
    assert whisk("workflow", "start-planning", *on)["promptTemplateId"] == "plan"
    plan = whisk("workflow", "submit-plan", *on, "-body", "The plan")
    assert (plan["kind"], plan["status"]) == ("plan", "draft")
    assert whisk("workflow", "artifacts", *on) == [plan]
    assert whisk("workflow", "approve-plan", *on, "-artifact", plan["id"])["stageId"] == "ready"
    run = whisk("workflow", "start-execution", *on)
    assert run["promptTemplateId"] == "implement"
    asked = whisk("question", "ask", *on, "-run", run["id"], "-prompt", "Which?")
    assert asked["status"] == "open"
    assert len(whisk("question", "list", *on)) == 1
    completed = whisk("workflow", "complete-execution", *on, "-run", run["id"])
    assert completed["stageId"] == "review"
    [gate] = whisk("gate", "list", *on)
    assert (gate["blocking"], gate["status"]) == (True, "pending")
    refused = shared_daemon.cli("workflow", "approve-done", *on)
    assert refused.returncode == 1
    assert "blocking gates" in refused.stderr
    assert whisk("gate", "complete", gate["id"], "-status", "passed")["status"] == "passed"
    assert whisk("workflow", "approve-done", *on)["stageId"] == "done"
    assert whisk("workflow", "events", *on)[-1]["type"] == "done_approved"
