"""`whisk work-item …`."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.moment import moment
from whisk.cli.person import actor

# There may be very many.
_LIST_SECONDS = 60.0
_PROJECT = ("WHISK_PROJECT_ID", "WHISK_PROJECT")


def list_items(context: Context, args: Arguments) -> None:
    query = {
        "projectId": args.text("project", *_PROJECT),
        "stageId": args.text("stage"),
        "limit": args.number("limit", least=1),
        "after": args.text("after"),
    }
    found = context.client.get("/v1/work-items", query, timeout=_LIST_SECONDS)
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (
            each["id"],
            f"#{each['number']}",
            each["title"],
            each["stageId"],
            each["runState"],
            each.get("worktree", {}).get("worktreePath"),
        )
        for each in found
    ]
    return context.out.table(["ID", "NO", "TITLE", "STAGE", "RUN", "WORKTREE"], rows, flexible=["TITLE", "WORKTREE"])


def create(context: Context, args: Arguments) -> None:
    body = {
        "projectId": args.need("project", *_PROJECT),
        "title": args.need("title"),
        "workflowId": args.text("workflow") or "",
        "bodyMarkdown": _body(context, args),
        "stageId": args.text("stage") or "",
        "actor": actor(args, context.env),
    }
    made = context.client.post("/v1/work-items", body)
    context.out.json(made) if args.flag("json") else context.out.fields(made["id"], f"#{made['number']}")


def show(context: Context, args: Arguments) -> None:
    item = context.client.get(path("work-items", args.need("work-item")))
    if args.flag("json"):
        return context.out.json(item)
    out = context.out
    out.line(f"{item['id']}  #{item['number']} {item['title']}")
    out.line(f"project   {item['projectId']}")
    out.line(f"stage     {item['stageId']}  ({item['workflowId']}@{item['workflowVersion']})")
    out.line(f"runs      {item['runState']}")
    if bound := item.get("worktree"):
        out.line(f"worktree  {bound['worktreePath']}  (branch {bound['branch']})")
    for each in item["attachments"]:
        what = each.get("path") or each.get("url") or each.get("target") or each.get("note", "")
        out.line(f"attached  {each['kind']} {what}")
    if item["bodyMarkdown"].strip():
        out.line()
        out.line(item["bodyMarkdown"].rstrip())
    out.line()
    rows = [(moment(each["at"]), each["type"], each.get("actor"), _told(each)) for each in item["history"]]
    return out.table(["AT", "WHAT", "WHO", ""], rows)


def _told(event: dict[str, Any]) -> str | None:
    """What an entry of the history is about."""
    names = ("message", "stageId", "worktreePath", "attachmentId")
    return next((event[name] for name in names if event.get(name)), None)


def _body(context: Context, args: Arguments) -> str:
    text = args.text("body") or ""
    return context.read_stdin() if text == "-" else text


LIST = Command(
    words="work-item list",
    usage="""
Usage:
  whisk work-item list [options]

Options:
  --project=<id>    Only this project's; else $WHISK_PROJECT_ID's, else all.
  --stage=<id>      Only those in this stage.
  --limit=<n>       At most so many; else all.
  --after=<id>      Only those behind this one in the list.

Examples:
  whisk work-item list
  whisk work-item list -stage review
  whisk work-item list -project proj_01 -json
""",
    run=list_items,
)

CREATE = Command(
    words="work-item create",
    usage="""
Usage:
  whisk work-item create [options]

Options:
  --title=<text>    What is to be done, in one line.
  --project=<id>    The project; else $WHISK_PROJECT_ID.
  --body=<text>     More about it, in Markdown; - reads stdin.
  --stage=<id>      The stage it begins in; else the first.
  --workflow=<id>   The project's workflow.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk work-item create -project proj_01 -title "Fix the login"
  whisk work-item create -project proj_01 -title "Fix the login" -body - < notes.md
""",
    run=create,
)

SHOW = Command(
    words="work-item show",
    usage="""
Usage:
  whisk work-item show [options] <work-item>

Examples:
  whisk work-item show item_01
""",
    run=show,
)
