"""`whisk workflow …`: what may be done with a work item, doing it, and what came of it."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.moment import moment
from whisk.cli.person import actor

ITEM_ENV = "WHISK_WORK_ITEM_ID"


def list_actions(context: Context, args: Arguments) -> None:
    found = context.client.get(path("work-items", args.need("work-item", ITEM_ENV), "workflow-actions"))
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (
            each["action"]["id"],
            each["action"]["to"],
            "yes" if each["enabled"] else "no",
            "next" if each["recommended"] else "",
            each["inputKind"],
            each.get("reason") or ("people only" if each["action"].get("requiresHuman") else ""),
        )
        for each in found
    ]
    return context.out.table(["ACTION", "TO", "ENABLED", "", "INPUT", "REMARK"], rows)


def run_action(context: Context, args: Arguments) -> None:
    action = args.text("id") or args.text("action")
    if not action:
        raise UsageError("<id> is missing; whisk workflow actions lists them")
    body = {
        "runId": args.text("run", "WHISK_RUN_ID") or "",
        "artifactId": args.text("artifact") or "",
        "reason": args.text("reason") or "",
        "actor": actor(args, context.env),
    }
    item = args.need("work-item", ITEM_ENV)
    print_item(context, args, context.client.post(path("work-items", item, "actions", action), body))


def list_artifacts(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/artifacts", {"workItemId": args.text("work-item", ITEM_ENV)})
    if args.flag("json"):
        return context.out.json(found)
    if args.flag("full"):
        for each in found:
            context.out.line(f"{each['id']}  {each['kind']} ({each['status']})  {each.get('title', '')}\n")
            context.out.line(each.get("body", "").rstrip() + "\n")
        return None
    rows = [
        (each["id"], each["workItemId"], each["kind"], each["status"], each.get("createdBy"), each.get("title"))
        for each in found
    ]
    return context.out.table(["ID", "WORK_ITEM", "KIND", "STATUS", "BY", "TITLE"], rows, optional=["WORK_ITEM"])


def list_events(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/workflow-events", {"workItemId": args.text("work-item", ITEM_ENV)})
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["id"], each.get("workItemId"), moment(each["at"]), each["type"], each.get("actor"), each.get("message"))
        for each in found
    ]
    header = ["ID", "WORK_ITEM", "AT", "TYPE", "BY", "MESSAGE"]
    return context.out.table(header, rows, optional=["ID", "WORK_ITEM", "AT"])


def print_item(context: Context, args: Arguments, item: dict[str, Any]) -> None:
    if args.flag("json"):
        return context.out.json(item)
    return context.out.fields(item["id"], f"#{item['number']}", item["stageId"])


ACTIONS = Command(
    words="workflow actions",
    usage="""
Usage:
  whisk workflow actions [options]

Options:
  --work-item=<id>    The work item; else $WHISK_WORK_ITEM_ID.
  --actor=<name>      Taken as everywhere; to look is nobody's act.

Examples:
  whisk workflow actions -work-item item_01
  whisk workflow actions -work-item item_01 -json
""",
    run=list_actions,
)

RUN_ACTION = Command(
    words="workflow run-action",
    usage="""
Usage:
  whisk workflow run-action [options] [<id>]

Options:
  --action=<id>       The action, if it is not given as an argument.
  --work-item=<id>    The work item; else $WHISK_WORK_ITEM_ID.
  --run=<id>          The run it is about; else $WHISK_RUN_ID.
  --artifact=<id>     The artifact that is chosen.
  --reason=<text>     Why; also the text of an artifact that the action makes.
  --actor=<name>      In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk workflow run-action report_blocked -work-item item_01 -reason "no key for the API"
  whisk workflow run-action unblock -work-item item_01
""",
    run=run_action,
)

ARTIFACTS = Command(
    words="workflow artifacts",
    usage="""
Usage:
  whisk workflow artifacts [options]

Options:
  --work-item=<id>    Only this work item's; else $WHISK_WORK_ITEM_ID's, else all.
  --full              Print the texts, one after the other.
  --actor=<name>      Taken as everywhere; to look is nobody's act.

Examples:
  whisk workflow artifacts -work-item item_01
  whisk workflow artifacts -work-item item_01 -full
""",
    run=list_artifacts,
)

EVENTS = Command(
    words="workflow events",
    usage="""
Usage:
  whisk workflow events [options]

Options:
  --work-item=<id>    Only this work item's; else $WHISK_WORK_ITEM_ID's, else all.
  --actor=<name>      Taken as everywhere; to look is nobody's act.

Examples:
  whisk workflow events -work-item item_01
""",
    run=list_events,
)
