"""`whisk worktree …`."""

from __future__ import annotations

import os
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context

# Looking through a large repository, and checking one out.
_LOOK_SECONDS = 60.0
_CHANGE_SECONDS = 150.0


def list_worktrees(context: Context, args: Arguments) -> None:
    found = context.client.post("/v1/worktrees/list", {"repoPath": _repo(args)}, timeout=_LOOK_SECONDS)
    if args.flag("json"):
        return context.out.json(found)
    rows = [(each["branch"] or "-", _state(each), each["path"]) for each in found]
    return context.out.table(["BRANCH", "STATE", "PATH"], rows, flexible=["PATH"])


def create(context: Context, args: Arguments) -> None:
    path = args.text("path")
    body = {
        "repoPath": _repo(args),
        "branch": args.need("branch"),
        "base": args.text("base") or "",
        "worktreePath": os.path.abspath(path) if path else "",
    }
    made = context.client.post("/v1/worktrees/create", body, timeout=_CHANGE_SECONDS)
    if args.flag("json"):
        return context.out.json(made)
    if not made["created"]:
        context.out.note(f"{made['branch']} has its worktree already")
    return context.out.line(made["path"])


def remove(context: Context, args: Arguments) -> None:
    path = os.path.abspath(args.need("path"))
    body = {
        "repoPath": _repo(args),
        "worktreePath": path,
        "alsoBranch": args.flag("also-branch"),
        "force": args.flag("force"),
    }
    context.client.post("/v1/worktrees/remove", body, timeout=_CHANGE_SECONDS)
    context.out.json({"path": path}) if args.flag("json") else context.out.line(path)


def _repo(args: Arguments) -> str:
    # The daemon lives elsewhere: a relative path means this folder, not the daemon's.
    return os.path.abspath(args.text("repo", "WHISK_PROJECT_ROOT") or ".")


def _state(found: dict[str, Any]) -> str:
    """What is remarkable about it, in words."""
    words = [name for name, field in (("main", "isMain"), ("current", "isCurrent")) if found[field]]
    words += [found["kind"]] if found["kind"] != "worktree" else []
    words += [name for name in ("dirty", "locked") if found[name]]
    return " ".join(words) or "-"


LIST = Command(
    words="worktree list",
    usage="""
Usage:
  whisk worktree list [options]

Options:
  --repo=<dir>      A folder of the repository; else $WHISK_PROJECT_ROOT, else the current one.

Examples:
  whisk worktree list
  whisk worktree list -repo ~/src/app -json
""",
    run=list_worktrees,
)

CREATE = Command(
    words="worktree create",
    usage="""
Usage:
  whisk worktree create [options] <branch>

Options:
  --base=<rev>      What a new branch starts from; else HEAD.
  --path=<dir>      Where it goes; else .whisk/worktrees in the repository.
  --repo=<dir>      A folder of the repository; else $WHISK_PROJECT_ROOT, else the current one.

Examples:
  whisk worktree create fix/login
  whisk worktree create fix/login -base origin/main -path ../app-login
""",
    run=create,
)

REMOVE = Command(
    words="worktree remove",
    usage="""
Usage:
  whisk worktree remove [options] <path>

Options:
  --also-branch     Delete its branch too, when no commit would be lost.
  --force           Although it has changes, is locked or in use, or commits would be lost.
  --repo=<dir>      A folder of the repository; else $WHISK_PROJECT_ROOT, else the current one.

Examples:
  whisk worktree remove .whisk/worktrees/fix-login
  whisk worktree remove .whisk/worktrees/fix-login -also-branch
""",
    run=remove,
)
