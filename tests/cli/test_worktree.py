"""`whisk worktree …` as processes, against a real server and a real repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Whisk
from tests.git_house import GitHouse


@pytest.fixture
def repo(tmp_path: Path) -> str:
    return str(GitHouse(tmp_path).repository("my app"))


def test_worktrees_are_made_listed_and_removed(whisk: Whisk, repo: str) -> None:
    path = f"{repo}/.whisk/worktrees/fix-x"
    assert whisk("worktree", "create", "fix/x", "-repo", repo).stdout == f"{path}\n"
    again = whisk("worktree", "create", "fix/x", WHISK_PROJECT_ROOT=repo)
    assert (again.stdout, again.stderr) == (f"{path}\n", "fix/x has its worktree already\n")
    Path(path, "new").touch()
    header, main, other = whisk("worktree", "list", "-repo", repo).stdout.splitlines()
    assert header.split() == ["BRANCH", "STATE", "PATH"]
    assert (main.split()[:3], main.endswith(repo)) == (["main", "main", "current"], True)
    assert (other.split()[:2], other.endswith(path)) == (["fix/x", "dirty"], True)
    refused = whisk("worktree", "remove", path, "-repo", repo)
    assert (refused.returncode, "not committed" in refused.stderr) == (1, True)
    removed = whisk("worktree", "remove", path, "-repo", repo, "-force", "-also-branch")
    assert (removed.returncode, removed.stdout) == (0, f"{path}\n")
    assert not os.path.exists(path)
    assert [each["branch"] for each in whisk.json("worktree", "list", "-repo", repo)] == ["main"]
