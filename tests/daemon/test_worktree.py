"""A worktree with a real daemon: made for an execution, in use while its agent runs, left when the item is deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import Whiskd
from tests.git_house import GitHouse
from whisk.cli.failure import RefusedError


def ready(whiskd: Whiskd, root: Path) -> str:
    """The id of an item with an approved plan."""
    project = whiskd.post("/v1/projects", {"rootDir": str(root), "name": "Shop"})["id"]
    item = str(whiskd.post("/v1/work-items", {"projectId": project, "title": "Cache the cart"})["id"])
    run = whiskd.post(f"/v1/work-items/{item}/start-planning", {"actor": "ann"})["id"]
    plan = whiskd.post(f"/v1/work-items/{item}/plan-drafts", {"runId": run, "body": "The plan"})["id"]
    whiskd.post(f"/v1/work-items/{item}/approve-plan", {"artifactId": plan, "actor": "ann"})
    return item


def terminal_of(whiskd: Whiskd, run: dict[str, Any]) -> dict[str, Any]:
    return dict(next(each for each in whiskd.get("/v1/ptys") if each["id"] == run["ptyId"]))


def test_an_execution_has_its_worktree_from_launch_to_deletion(shared_daemon: Whiskd, tmp_path: Path) -> None:
    whiskd, house = shared_daemon, GitHouse(tmp_path)
    repo = house.repository("shop")
    item = ready(whiskd, repo)
    launch = {"agentProfileId": "plain-shell", "actor": "ann"}
    run = whiskd.post(f"/v1/work-items/{item}/launch-execution", launch)
    path = f"{repo}/.whisk/worktrees/shop-1-cache-the-cart"
    assert terminal_of(whiskd, run)["workingDir"] == path
    assert whiskd.get(f"/v1/work-items/{item}")["worktree"]["worktreePath"] == path
    assert house.is_clean(repo)
    listed = whiskd.json("worktree", "list", "-repo", str(repo))
    assert [each["branch"] for each in listed] == ["main", "whisk/shop-1-cache-the-cart"]
    refused = whiskd.cli("worktree", "remove", path, "-repo", str(repo), check=1)
    assert run["ptyId"] in refused.stderr
    whiskd.cli("work-item", "delete", item, "-yes", check=0)
    assert run["ptyId"] not in [each["id"] for each in whiskd.get("/v1/ptys")]
    assert run["sessionId"] not in [each["id"] for each in whiskd.get("/v1/sessions")]
    with pytest.raises(RefusedError, match="not found"):
        whiskd.get(f"/v1/work-items/{item}")
    assert Path(path, "readme").exists()
    whiskd.cli("worktree", "remove", path, "-repo", str(repo), "-also-branch", check=0)
    assert house.branches(repo) == ["main"]


def test_without_a_repository_an_execution_works_in_the_projects_folder(shared_daemon: Whiskd, tmp_path: Path) -> None:
    item = ready(shared_daemon, tmp_path)
    launch = {"agentProfileId": "plain-shell", "actor": "ann"}
    run = shared_daemon.post(f"/v1/work-items/{item}/launch-execution", launch)
    assert terminal_of(shared_daemon, run)["workingDir"] == str(tmp_path)
    assert "not a git repository" in run["history"][-1]["message"]
    shared_daemon.cli("work-item", "delete", item, "-yes", check=0)
