"""Worktrees over HTTP, with a real repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.git_house import GitHouse
from tests.mail_desk import MailDesk
from whisk.terminal import pty as terminals
from whisk.terminal.pty import PtySpec

Call = Any


@pytest.fixture
def repo(tmp_path: Path) -> str:
    return str(GitHouse(tmp_path).repository("my app"))


def test_worktrees_are_made_listed_and_removed(call: Call, repo: str) -> None:
    made = call("POST", "/v1/worktrees/create", {"repoPath": repo, "branch": "fix/x", "base": "", "overridePath": ""})
    path = f"{repo}/.whisk/worktrees/fix-x"
    assert (made.status, made.json) == (201, {"path": path, "branch": "fix/x", "created": True})
    main, other = call("POST", "/v1/worktrees/list", {"repoPath": repo}).json
    head = main.pop("head")
    assert main == {
        "branch": "main",
        "path": repo,
        "kind": "worktree",
        "isMain": True,
        "isCurrent": True,
        "dirty": False,
        "locked": False,
    }
    assert (other["path"], other["branch"], other["head"]) == (path, "fix/x", head)
    body = {"repoPath": repo, "worktreePath": path, "alsoBranch": True, "force": False}
    assert call("POST", "/v1/worktrees/remove", body).status == 204
    assert not os.path.exists(path)
    again = call("POST", "/v1/worktrees/remove", body)
    assert (again.status, again.code) == (400, "refused")


def test_a_refusal_by_git_has_a_reason(call: Call, tmp_path: Path, repo: str) -> None:
    answer = call("POST", "/v1/worktrees/list", {"repoPath": str(tmp_path)})
    assert (answer.status, answer.code, answer.json["details"]["reason"]) == (400, "git_failed", "not_a_repository")
    answer = call("POST", "/v1/worktrees/create", {"repoPath": repo, "branch": "--detach", "base": ""})
    assert (answer.status, answer.code) == (400, "invalid")


def test_a_folder_in_which_a_terminal_runs_is_removed_by_force_only(call: Call, desk: MailDesk, repo: str) -> None:
    path = call("POST", "/v1/worktrees/create", {"repoPath": repo, "branch": "x", "base": ""}).json["path"]
    spec = PtySpec(argv=("agent",), working_dir=path, env={}, session_id="sess_1")
    desk.keep(terminals.run(terminals.new_record("pty_1", spec, desk.now), 4711, 0.0, desk.now), new=True)
    body = {"repoPath": repo, "worktreePath": path, "alsoBranch": False}
    refused = call("POST", "/v1/worktrees/remove", {**body, "force": False})
    assert (refused.status, refused.json["details"]["ptys"]) == (400, ["pty_1"])
    assert os.path.isdir(path)
    assert call("POST", "/v1/worktrees/remove", {**body, "force": True}).status == 204


def test_what_makes_worktrees_is_told(call: Call, tmp_path: Path, repo: str) -> None:
    found = call("POST", "/v1/worktrunk/detect", {"repoPath": repo, "overridePath": "/opt/homebrew/bin/wt"}).json
    assert (found["available"], found["configFound"]) == (True, False)
    assert found["binary"]["path"].endswith("/git")
    assert found["binary"]["version"]
    assert not call("POST", "/v1/worktrunk/detect", {"repoPath": str(tmp_path), "overridePath": ""}).json["available"]
