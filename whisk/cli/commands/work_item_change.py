"""`whisk work-item update|move|bind-worktree|attach-file|delete`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.person import actor

# The sessions of its runs are closed first, and a terminal may take its time to end.
_DELETE_SECONDS = 60.0


def update(context: Context, args: Arguments) -> None:
    body: dict[str, object] = {"actor": actor(args, context.env)}
    if args.given("title"):
        body["title"] = args.text("title")
    if args.given("body"):
        text = args.text("body") or ""
        body["bodyMarkdown"] = context.read_stdin() if text == "-" else text
    if len(body) == 1:
        raise UsageError("give -title, -body or both")
    _send(context, args, "update", body)


def move(context: Context, args: Arguments) -> None:
    _send(context, args, "move", {"stageId": args.need("stage"), "actor": actor(args, context.env)})


def bind_worktree(context: Context, args: Arguments) -> None:
    body = {
        "branch": args.need("branch"),
        "base": args.text("base") or "",
        # The daemon lives elsewhere: a relative path means this folder, not the daemon's.
        "worktreePath": os.path.abspath(args.need("path")),
        "actor": actor(args, context.env),
    }
    _send(context, args, "bind-worktree", body)


def attach_file(context: Context, args: Arguments) -> None:
    scope, file = args.text("scope") or "project", args.need("file")
    body = {
        "kind": "file",
        "scope": scope,
        "path": os.path.abspath(file) if scope == "external" else file,
        "title": args.text("title") or "",
        "note": args.text("note") or "",
        "actor": actor(args, context.env),
    }
    _send(context, args, "attachments", body)


def delete(context: Context, args: Arguments) -> None:
    if not args.flag("yes"):
        raise UsageError(
            "work-item delete requires -yes: it deletes the item's runs, questions, gates and artifacts too"
        )
    _send(context, args, "delete", {"actor": actor(args, context.env)}, timeout=_DELETE_SECONDS)


def _send(context: Context, args: Arguments, what: str, body: Mapping[str, object], **more: Any) -> None:
    item = context.client.post(path("work-items", args.need("work-item"), what), body, **more)
    if args.flag("json"):
        return context.out.json(item)
    return context.out.fields(item["id"], f"#{item['number']}", item["stageId"])


UPDATE = Command(
    words="work-item update",
    usage="""
Usage:
  whisk work-item update [options] <work-item>

Options:
  --title=<text>    What is to be done, in one line.
  --body=<text>     More about it, in Markdown; - reads stdin.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk work-item update item_01 -title "Fix the login on Safari"
  whisk work-item update item_01 -body - < notes.md
""",
    run=update,
)

MOVE = Command(
    words="work-item move",
    usage="""
Usage:
  whisk work-item move [options] <work-item>

Options:
  --stage=<id>      The stage that one action of the workflow leads to.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk work-item move item_01 -stage done
""",
    run=move,
)

BIND_WORKTREE = Command(
    words="work-item bind-worktree",
    usage="""
Usage:
  whisk work-item bind-worktree [options] <work-item>

Options:
  --branch=<name>   The branch that is checked out there.
  --path=<dir>      The worktree's folder.
  --base=<rev>      What the branch started from.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk work-item bind-worktree item_01 -branch fix/login -path ../app-login
""",
    run=bind_worktree,
)

ATTACH_FILE = Command(
    words="work-item attach-file",
    usage="""
Usage:
  whisk work-item attach-file [options] <work-item> <file>

Options:
  --scope=<scope>   project (default) or worktree: the file's path is relative to that; external: anywhere.
  --title=<text>    What it is.
  --note=<text>     A remark.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk work-item attach-file item_01 docs/login.md
  whisk work-item attach-file item_01 ~/trace.log -scope external
""",
    run=attach_file,
)

DELETE = Command(
    words="work-item delete",
    usage="""
Usage:
  whisk work-item delete [options] <work-item>

Options:
  --yes             Really: its runs, questions, gates and artifacts go with it, and its agents are ended.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk work-item delete item_01 -yes
""",
    run=delete,
)
