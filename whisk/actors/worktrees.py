"""Worktrees for those who ask from the hub: git runs on real threads, and changes of one repository take turns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakValueDictionary

from gevent.lock import RLock, Semaphore

from whisk.actors.git import find_git, run_git
from whisk.actors.offload import offload
from whisk.actors.repository import Repository
from whisk.errors import GitError
from whisk.values import Record
from whisk.work.item import WorkItem
from whisk.work.item_change import BindWorktree
from whisk.work.project import Project
from whisk.work.session import check_directory
from whisk.work.worktree import (
    CreatedWorktree,
    CreateWorktree,
    DetectTool,
    RemoveWorktree,
    ToolBinary,
    ToolStatus,
    Worktree,
    branch_for,
)

T = TypeVar("T")

# The hub's thread pool is everybody's; a few large repositories must not have all of it.
_AT_ONCE = 4
# With these there is nothing to make a worktree of; work goes on in the project's own folder.
_WITHOUT = frozenset({"git_missing", "not_a_repository", "no_commits", "foreign_owner"})


class Provision(Record, frozen=True):
    """What became of an item's wish for a worktree: one to bind, or `None` with the reason why there is none."""

    worktree: BindWorktree | None = None
    reason: str = ""


@dataclass(frozen=True)
class Worktrees:
    """`environ` is the daemon's own. Every method blocks the calling greenlet only, and raises `GitError`,
    `RefusedError` and `InvalidError`.
    """

    environ: Mapping[str, str]
    _turns: WeakValueDictionary[str, RLock] = field(default_factory=WeakValueDictionary)
    _threads: Semaphore = field(default_factory=lambda: Semaphore(_AT_ONCE))

    def list(self, repo_path: str) -> list[Worktree]:
        """The worktrees of the repository in which that path lies, main first."""
        return self._run(lambda: self._open(repo_path).worktrees())

    def create(self, request: CreateWorktree) -> CreatedWorktree:
        path = check_directory(request.worktree_path, "worktreePath") if request.worktree_path else ""
        return self._change(request.repo_path, lambda repo: repo.create(request.branch, request.base, path))

    def remove(self, request: RemoveWorktree) -> None:
        path = check_directory(request.worktree_path, "worktreePath")
        return self._change(
            request.repo_path,
            lambda repo: repo.remove(path, also_branch=request.also_branch, force=request.force),
        )

    def detect(self, request: DetectTool) -> ToolStatus:
        """Whether worktrees can be made here, and by what."""
        return self._run(lambda: self._detect(request.repo_path))

    def provision(self, project: Project, item: WorkItem) -> Provision:
        """See that the item has its worktree, on a branch of its own, and say what is to be bound.

        One that is bound and there is left as it is; one whose folder is gone is made again. A root that is in no
        repository, or in one without a commit, is no error: the reason says so.
        """
        try:
            return self._change(project.root_dir, lambda repo: _provide(repo, project, item))
        except GitError as error:
            if error.details["reason"] not in _WITHOUT:
                raise
            return Provision(reason=error.message)

    def _change(self, repo_path: str, change: Callable[[Repository], T]) -> T:
        """Changes of one repository take turns: git's own locks would refuse the second instead of letting it wait."""
        repo = self._run(lambda: self._open(repo_path))
        turn = self._turns.setdefault(repo.common, RLock())
        with turn:
            return self._run(lambda: change(repo))

    def _run(self, work: Callable[[], T]) -> T:
        with self._threads:
            return offload(work)

    def _open(self, repo_path: str) -> Repository:
        return Repository.open(self.environ, check_directory(repo_path, "repoPath"))

    def _detect(self, repo_path: str) -> ToolStatus:
        git = find_git(self.environ)
        if git is None:
            return ToolStatus(available=False, config_found=False, binary=ToolBinary(path="", version=""))
        version = run_git(self.environ, "/", "--version").strip().removeprefix("git version ")
        binary = ToolBinary(path=git, version=version)
        try:
            repo = self._open(repo_path) if repo_path else None
        except GitError:
            return ToolStatus(available=False, config_found=False, binary=binary)
        config = os.path.join(repo.top, ".config", "wt.toml") if repo is not None and repo.top else ""
        return ToolStatus(available=True, config_found=bool(config) and os.path.isfile(config), binary=binary)


def _provide(repo: Repository, project: Project, item: WorkItem) -> Provision:
    bound = item.worktree
    if bound is not None:
        if not os.path.isdir(bound.worktree_path):
            path = bound.worktree_path.removesuffix("/" + repo.prefix) if repo.prefix else bound.worktree_path
            repo.create(bound.branch, bound.base, path)
        return Provision(worktree=BindWorktree(branch=bound.branch, worktree_path=bound.worktree_path, base=bound.base))
    base = repo.head()
    made = repo.create(branch_for(project, item))
    # A project may be a part of its repository; then work begins in the same part of the worktree.
    part = os.path.join(made.path, repo.prefix) if repo.prefix else made.path
    path = part if os.path.isdir(part) else made.path
    return Provision(worktree=BindWorktree(branch=made.branch, worktree_path=path, base=base))
