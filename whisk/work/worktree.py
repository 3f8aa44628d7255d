"""Worktrees: further folders of one git repository, each on a branch of its own.

A name that reaches git's command line is checked here first: a branch `-x` would be an option, `../x` another place.
"""

from __future__ import annotations

import posixpath
import re
from typing import ClassVar, Literal

from whisk.errors import InvalidError
from whisk.values import Record, check_text
from whisk.work.item import WorkItem
from whisk.work.project import Project, slugify

BRANCH_LIMIT = 200
FOLDER = ".whisk/worktrees"
"""Where new worktrees go, below the repository's main folder; git is told not to see it."""
_SLUG_CHARACTERS = 40
# What git-check-ref-format(1) refuses anywhere in a name.
_UNFIT = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")

WorktreeKind = Literal["worktree", "bare", "missing"]


class Worktree(Record, frozen=True):
    """One of a repository's worktrees. `branch` is empty where HEAD is detached, and in a bare repository.

    `kind`: `bare` has no files at all, `missing` is known to git but its folder is gone. `is_current` is the one in
    which the path lies that was asked about. `dirty`: something is changed or not tracked.
    """

    branch: str
    path: str
    kind: WorktreeKind
    is_main: bool
    is_current: bool
    dirty: bool
    locked: bool
    head: str = ""
    lock_reason: str = ""


class ListWorktrees(Record, frozen=True):
    """`override_path` named the tool `wt` for older daemons; it is taken and not used, here and below."""

    wire_name: ClassVar[str] = "ListWorktreesRequest"

    repo_path: str
    override_path: str = ""


class CreateWorktree(Record, frozen=True):
    """`base` is what a new branch starts from, HEAD when empty; `worktree_path` where the folder goes."""

    wire_name: ClassVar[str] = "CreateWorktreeRequest"

    repo_path: str
    branch: str
    base: str = ""
    override_path: str = ""
    worktree_path: str = ""


class CreatedWorktree(Record, frozen=True):
    """`created` is false when the branch had a worktree already."""

    path: str
    branch: str
    created: bool


class RemoveWorktree(Record, frozen=True):
    wire_name: ClassVar[str] = "RemoveWorktreeRequest"

    repo_path: str
    worktree_path: str
    also_branch: bool = False
    force: bool = False
    override_path: str = ""


class DetectTool(Record, frozen=True):
    wire_name: ClassVar[str] = "DetectWorktrunkRequest"

    repo_path: str = ""
    override_path: str = ""


class ToolBinary(Record, frozen=True):
    wire_name: ClassVar[str] = "WorktrunkBinary"

    path: str
    version: str


class ToolStatus(Record, frozen=True):
    """What makes worktrees here: git itself, under the name that the wire has for it.

    `config_found` says whether the repository has a configuration for worktrunk; whisk does not read it.
    """

    wire_name: ClassVar[str] = "WorktrunkStatus"

    available: bool
    config_found: bool
    binary: ToolBinary


def check_branch(name: str) -> str:
    """The name, when git takes it for a branch. Raises `InvalidError`."""
    check_text(name, "branch", limit=BRANCH_LIMIT, empty=False)
    parts = name.split("/")
    unfit = (
        name.startswith("-")
        or name in ("@", "HEAD")
        or name.endswith(".")
        or _UNFIT.search(name) is not None
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    )
    if unfit:
        raise InvalidError(f"not a name for a git branch: {name!r}", field="branch", branch=name)
    return name


def check_revision(text: str, field: str) -> str:
    """A revision as git reads it (`main`, `origin/main`, `v1.2~3`), that cannot be taken for an option."""
    check_text(text, field, limit=BRANCH_LIMIT, empty=False)
    if text.startswith("-") or re.search(r"[\x00-\x20\x7f]", text):
        raise InvalidError(f"not a git revision: {text!r}", field=field)
    return text


def branch_for(project: Project, item: WorkItem) -> str:
    """`whisk/app-7-fix-the-login`: the branch that an item's worktree gets."""
    parts = [_cut(project.slug), str(item.number), _cut(slugify(item.title))]
    return check_branch("whisk/" + "-".join(part for part in parts if part))


def folder_of(branch: str) -> str:
    """The name of the folder for a branch."""
    return branch.removeprefix("whisk/").replace("/", "-")


def parse_list(output: str, current: str) -> tuple[Worktree, ...]:
    """What `git worktree list --porcelain -z` printed, main first; `current` is the path of the current one.

    Whether each is dirty, or its folder missing, git does not say here.
    """
    found: list[Worktree] = []
    for block in output.split("\0\0"):
        facts = dict(_fact(line) for line in block.split("\0") if line)
        if "worktree" not in facts:
            continue
        path = facts["worktree"]
        found.append(
            Worktree(
                branch=facts.get("branch", "").removeprefix("refs/heads/"),
                path=path,
                kind="bare" if "bare" in facts else "worktree",
                is_main=not found,
                is_current=path == current,
                dirty=False,
                locked="locked" in facts,
                # Forty zeros stand for a branch without a commit.
                head=facts.get("HEAD", "").strip("0") and facts.get("HEAD", ""),
                lock_reason=facts.get("locked", ""),
            )
        )
    return tuple(found)


def inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it; both are absolute and without detours."""
    return path == folder or path.startswith(posixpath.join(folder, ""))


def _cut(slug: str) -> str:
    """At the end of a word, where there is one."""
    if len(slug) <= _SLUG_CHARACTERS:
        return slug
    words, _, _ = slug[: _SLUG_CHARACTERS + 1].rpartition("-")
    return words or slug[:_SLUG_CHARACTERS]


def _fact(line: str) -> tuple[str, str]:
    name, _, value = line.partition(" ")
    return name, value
