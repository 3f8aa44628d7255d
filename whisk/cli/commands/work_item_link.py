"""`whisk work-item link|unlink|links|ready`."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.person import actor

_PROJECT = ("WHISK_PROJECT_ID", "WHISK_PROJECT")


def link(context: Context, args: Arguments) -> None:
    body = {
        "sourceWorkItemId": args.need("source"),
        "targetWorkItemId": args.need("target"),
        "type": args.text("type") or "blocks",
        "actor": actor(args, context.env),
    }
    _print(context, args, context.client.post("/v1/work-item-links", body))


def unlink(context: Context, args: Arguments) -> None:
    _print(context, args, context.client.post(path("work-item-links", args.need("link"), "delete")))


def links(context: Context, args: Arguments) -> None:
    query = {"workItemId": args.text("work-item"), "projectId": args.text("project")}
    found = context.client.get("/v1/work-item-links", query)
    if args.flag("json"):
        return context.out.json(found)
    rows = [(each["id"], each["sourceWorkItemId"], each["type"], each["targetWorkItemId"]) for each in found]
    return context.out.table(["ID", "SOURCE", "TYPE", "TARGET"], rows)


def ready(context: Context, args: Arguments) -> None:
    query = {"projectId": args.text("project", *_PROJECT), "limit": args.number("limit", least=1)}
    found = context.client.get("/v1/ready-work", query, timeout=30.0)
    if args.flag("json"):
        return context.out.json(found)
    out = context.out
    rows = [_row(each["workItem"], each["dependentCount"] or None) for each in found["ready"]]
    out.table(["ID", "NO", "TITLE", "STAGE", "WAITING_FOR_IT"], rows, flexible=["TITLE"])
    if found["blocked"]:
        out.line()
        rows = [_row(each["workItem"], _blockers(each)) for each in found["blocked"]]
        out.table(["BLOCKED", "NO", "TITLE", "STAGE", "WAITS_FOR"], rows, flexible=["TITLE", "WAITS_FOR"])
    for cycle in found.get("cycles", ()):
        out.line(f"circle: {' → '.join([*cycle, cycle[0]])}")
    summary = found["summary"]
    out.note(f"{summary['totalReady']} ready, {summary['totalBlocked']} blocked")
    return None


def _row(item: dict[str, Any], last: object) -> tuple[object, ...]:
    return (item["id"], f"#{item['number']}", item["title"], item["stageId"], last)


def _blockers(blocked: dict[str, Any]) -> str:
    return ", ".join(f"#{each['number']} {each['title']}" for each in blocked["blockedBy"])


def _print(context: Context, args: Arguments, made: dict[str, Any]) -> None:
    if args.flag("json"):
        return context.out.json(made)
    return context.out.fields(made["id"], made["sourceWorkItemId"], made["type"], made["targetWorkItemId"])


LINK = Command(
    words="work-item link",
    usage="""
Usage:
  whisk work-item link [options] <source> <target>

Options:
  --type=<type>     blocks (default): the target waits until the source is done. parent-child: the source is
                    the parent. Or related, duplicates, supersedes.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk work-item link item_01 item_02
  whisk work-item link item_01 item_02 -type parent-child
""",
    run=link,
)

UNLINK = Command(
    words="work-item unlink",
    usage="""
Usage:
  whisk work-item unlink [options] <link>

Examples:
  whisk work-item unlink link_01
""",
    run=unlink,
)

LINKS = Command(
    words="work-item links",
    usage="""
Usage:
  whisk work-item links [options] [<work-item>]

Options:
  --project=<id>    Only this project's.

Examples:
  whisk work-item links item_01
  whisk work-item links -json
""",
    run=links,
)

READY = Command(
    words="work-item ready",
    usage="""
Usage:
  whisk work-item ready [options]

Options:
  --project=<id>    Only this project's; else $WHISK_PROJECT_ID's, else all.
  --limit=<n>       At most so many ready and so many blocked ones; all are counted.

Examples:
  whisk work-item ready
  whisk work-item ready -project proj_01 -limit 10 -json
""",
    run=ready,
)
