"""A git repository and its worktrees. Everything here blocks; call it through `whisk.actors.offload`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import msgspec

from whisk.actors.git import WRITE_SECONDS, run_git
from whisk.errors import GitError, InvalidError, RefusedError
from whisk.work.worktree import (
    FOLDER,
    CreatedWorktree,
    Worktree,
    check_branch,
    check_revision,
    folder_of,
    parse_list,
)

_FOLDER_TRIES = 100


@dataclass(frozen=True)
class Repository:
    """The repository in which `folder` lies. `top` is the worktree around it, empty in a bare repository; `prefix` is
    where `folder` lies in that; `common` holds what all worktrees share.
    """

    environ: Mapping[str, str]
    folder: str
    common: str
    top: str
    prefix: str
    bare: bool

    @classmethod
    def open(cls, environ: Mapping[str, str], folder: str) -> Repository:
        """Raises `GitError` where there is none, or no git."""
        asked = ("--path-format=absolute", "--git-common-dir", "--is-bare-repository", "--is-inside-work-tree")
        out = run_git(environ, folder, "rev-parse", *asked, "--show-prefix")
        common, bare, within, prefix, *_ = [*out.split("\n"), ""]
        top = _line(run_git(environ, folder, "rev-parse", "--show-toplevel")) if within == "true" else ""
        return cls(environ, folder, common, top, prefix.rstrip("/"), bare == "true")

    def worktrees(self, *, look: bool = True) -> list[Worktree]:
        """All of them, main first. Without `look` nothing is said about what is changed in each."""
        listed = parse_list(self._git("worktree", "list", "--porcelain", "-z"), self.top)
        return [self._examine(each, look) for each in listed]

    def head(self) -> str:
        """The branch that is checked out, else the commit. Raises `GitError` (`no_commits`) before the first one."""
        commit = self._head_commit()
        name = _line(self._git("rev-parse", "--abbrev-ref", "HEAD"))
        return commit if name == "HEAD" else name

    def create(self, branch: str, base: str = "", path: str = "") -> CreatedWorktree:
        """A worktree in which `branch` is checked out: the one it has, or a new one at `path`.

        A branch that does not exist yet is made from `base`, else from the one remote branch of its name, else from
        HEAD. Raises `InvalidError` for names that git would not take, `GitError`.
        """
        check_branch(branch)
        worktrees = self.worktrees(look=False)
        known = next((each for each in worktrees if each.branch == branch), None)
        if known is not None and known.kind == "worktree":
            return CreatedWorktree(path=known.path, branch=branch, created=False)
        if known is not None:
            self._forget_missing(known)
        words = [] if self._commit(f"refs/heads/{branch}") else ["-b", branch]
        start = branch
        if words and base:
            start = self._commit(check_revision(base, "base")) or _no_base(base)
        elif words and (remote := self._remote_branch(branch)):
            words, start = ["--track", "-b", branch], remote
        elif words:
            start = self._head_commit()
        target = path or self._free_folder(worktrees[0].path, branch)
        self._git("worktree", "add", *words, "--", target, start, seconds=WRITE_SECONDS)
        return CreatedWorktree(path=os.path.realpath(target), branch=branch, created=True)

    def remove(self, path: str, *, also_branch: bool, force: bool) -> None:
        """Take a worktree away, and with `also_branch` the branch in it.

        The main worktree is never removed. The one asked from, a locked one, and one with changes need `force`; so
        does a branch whose commits are in no other branch or tag. What is refused is refused before anything is done.
        """
        real = os.path.realpath(path)
        found = next((each for each in self.worktrees() if each.path in (path, real)), None)
        if found is None:
            raise RefusedError(f"{path} is not a worktree of {self.folder}", worktreePath=path)
        if found.is_main:
            raise RefusedError(f"{path} is the repository's main worktree", worktreePath=path, protected="main")
        if not force:
            self._check_removable(found, also_branch)
        doubled = ["--force", "--force"] if force else []
        # Not from the folder that was asked from, which may be the one that goes.
        remove = partial(run_git, self.environ, self.common, seconds=WRITE_SECONDS)
        remove("worktree", "remove", *doubled, "--", found.path)
        if also_branch and found.branch:
            # The check above takes the place of that of `-d`, which knows HEAD and the branch's upstream only.
            remove("branch", "-D", "--", found.branch)

    def unmerged(self, branch: str) -> int:
        """How many commits of a branch are in no other branch, local or remote, and in no tag."""
        others = [f"--exclude={branch}", "--branches", "--remotes", "--tags"]
        return int(self._git("rev-list", "--count", f"refs/heads/{branch}", "--not", *others))

    def hide(self) -> None:
        """Let git not see the folder of new worktrees: `info/exclude` is for this clone alone."""
        info = os.path.join(self.common, "info")
        line = f"/{FOLDER}/"
        file = os.path.join(info, "exclude")
        os.makedirs(info, exist_ok=True)
        try:
            with open(file, encoding="utf-8", errors="replace") as reader:
                known = reader.read()
        except FileNotFoundError:
            known = ""
        if line not in known.splitlines():
            with open(file, "a", encoding="utf-8") as writer:
                writer.write(("" if known.endswith("\n") or not known else "\n") + line + "\n")

    def _check_removable(self, found: Worktree, also_branch: bool) -> None:
        refuse = partial(RefusedError, worktreePath=found.path, hint="force removes it all the same")
        if found.is_current:
            raise refuse(f"{found.path} is the worktree that was asked from", protected="current")
        if found.locked:
            why = f": {found.lock_reason}" if found.lock_reason else ""
            raise refuse(f"{found.path} is locked{why}", protected="locked")
        if found.dirty:
            raise refuse(f"{found.path} has changes that are not committed", protected="dirty")
        if also_branch and found.branch and (count := self.unmerged(found.branch)):
            raise refuse(
                f"branch {found.branch} has {count} commit{'s' * (count > 1)} that no other branch has",
                protected="unmerged",
                branch=found.branch,
                commits=count,
            )

    def _examine(self, found: Worktree, look: bool) -> Worktree:
        if found.is_main and not self.bare and found.path == self.common:
            # Of a submodule git names the place of its repository, not of its files.
            core = _line(self._git("config", "--default", "", "core.worktree"))
            path = os.path.normpath(os.path.join(self.common, core))
            found = msgspec.structs.replace(found, path=path, is_current=path == self.top)
        if found.kind == "bare":
            return found
        if not os.path.isdir(found.path):
            return msgspec.structs.replace(found, kind="missing")
        return msgspec.structs.replace(found, dirty=self._is_dirty(found.path)) if look else found

    def _is_dirty(self, path: str) -> bool:
        try:
            return bool(run_git(self.environ, path, "status", "--porcelain", "-z"))
        except GitError:
            # Who cannot be asked may have something to lose.
            return True

    def _forget_missing(self, known: Worktree) -> None:
        """Its folder is gone; a locked one may be on a disk that is not here now."""
        if known.locked:
            raise GitError(
                f"branch {known.branch} is checked out in {known.path}, which is locked and not there",
                reason="locked",
                worktreePath=known.path,
            )
        self._git("worktree", "remove", "--force", "--", known.path)

    def _free_folder(self, main: str, branch: str) -> str:
        """Where the branch's worktree goes by default: two branches may want the same name."""
        self.hide()
        wanted = os.path.join(main, FOLDER, folder_of(branch))
        for number in range(1, _FOLDER_TRIES):
            path = wanted if number == 1 else f"{wanted}-{number}"
            if not os.path.lexists(path):
                return path
        raise GitError(f"no free folder for branch {branch}: {wanted}", reason="failed", branch=branch)

    def _head_commit(self) -> str:
        commit = self._commit("HEAD")
        if commit is None:
            raise GitError(f"the repository has no commit yet: {self.folder}", reason="no_commits", folder=self.folder)
        return commit

    def _remote_branch(self, branch: str) -> str | None:
        found = self._git("for-each-ref", "--format=%(refname)", f"refs/remotes/*/{branch}").split()
        return found[0] if len(found) == 1 else None

    def _commit(self, revision: str) -> str | None:
        try:
            return _line(self._git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"))
        except GitError as error:
            if error.details["reason"] != "failed":
                raise
            return None

    def _git(self, *words: str, seconds: float | None = None) -> str:
        given = {} if seconds is None else {"seconds": seconds}
        return run_git(self.environ, self.folder, *words, **given)


def _line(output: str) -> str:
    return output.removesuffix("\n")


def _no_base(base: str) -> str:
    raise InvalidError(f"base {base} is not a commit of this repository", field="base", base=base)
