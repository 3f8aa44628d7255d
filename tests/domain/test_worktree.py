from __future__ import annotations

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.work.item import CreateWorkItem, WorkItem, new_item
from whisk.work.project import CreateProject, Project, new_project
from whisk.work.workflow import builtin_workflow
from whisk.work.worktree import BRANCH_LIMIT, branch_for, check_branch, check_revision, folder_of, parse_list

NOW = Instant(1_800_000_000_000_000_000)


def item(title: str, number: int = 7) -> WorkItem:
    request = CreateWorkItem(project_id="proj_1", title=title)
    return new_item(request, builtin_workflow(), item_id="item_1", number=number, now=NOW)


def project(name: str = "My App") -> Project:
    return new_project(CreateProject(root_dir="/src/app", name=name), project_id="proj_1", now=NOW)


@pytest.mark.parametrize("name", ["main", "whisk/app-7-fix", "a.b", "feature/ü-名", "x@y", "a-", "HEAD2"])
def test_a_branch_that_git_would_take_is_taken(name: str) -> None:
    assert check_branch(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "-x", "--force", "../x", "a/../b", "a..b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b"),
        *("a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a@{1}", "@", "HEAD", "a.", "a\tb", "a\nb", "a\0b"),
        "x" * (BRANCH_LIMIT + 1),
    ],
)
def test_a_branch_that_git_would_not_take_is_refused(name: str) -> None:
    with pytest.raises(Exception, match="branch"):
        check_branch(name)


@pytest.mark.parametrize("text", ["", "-x", "--all", "a b", "a\nb", "a\0"])
def test_a_revision_cannot_be_an_option(text: str) -> None:
    with pytest.raises(InvalidError):
        check_revision(text, "base")
    assert check_revision("origin/main~2", "base") == "origin/main~2"


@pytest.mark.parametrize(
    ("title", "branch"),
    [
        ("Fix the login", "whisk/my-app-7-fix-the-login"),
        ("  --force; rm -rf / ", "whisk/my-app-7-force-rm-rf"),
        ("名前", "whisk/my-app-7"),
        ("..", "whisk/my-app-7"),
        ("Make the very long title of this work item fit", "whisk/my-app-7-make-the-very-long-title-of-this-work"),
        ("x" * 60, "whisk/my-app-7-" + "x" * 40),
        ("a.lock", "whisk/my-app-7-a-lock"),
    ],
)
def test_an_items_branch_is_named_after_it(title: str, branch: str) -> None:
    assert branch_for(project(), item(title)) == branch


def test_a_folder_has_the_name_of_its_branch() -> None:
    assert folder_of("whisk/my-app-7-fix") == "my-app-7-fix"
    assert folder_of("feature/a/b") == "feature-a-b"


def test_what_git_lists_is_read() -> None:
    listed = parse_list(
        "worktree /src/app\0HEAD 1c59\0branch refs/heads/main\0\0"
        "worktree /src/a b\0HEAD 1c60\0detached\0locked on a stick\0\0"
        "worktree /src/gone\0HEAD 0000\0branch refs/heads/whisk/x\0prunable gitdir file\0\0",
        current="/src/a b",
    )
    assert [(each.path, each.branch, each.is_main, each.is_current, each.head) for each in listed] == [
        ("/src/app", "main", True, False, "1c59"),
        ("/src/a b", "", False, True, "1c60"),
        ("/src/gone", "whisk/x", False, False, ""),
    ]
    assert [(each.locked, each.lock_reason) for each in listed] == [(False, ""), (True, "on a stick"), (False, "")]
    assert [each.kind for each in parse_list("worktree /src/app.git\0bare\0\0", "")] == ["bare"]
