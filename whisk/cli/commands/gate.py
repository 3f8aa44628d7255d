"""`whisk gate …`: decisions about a work item that a person takes."""

from __future__ import annotations

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.person import actor


def list_gates(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/gate-reports", {"workItemId": args.text("work-item", "WHISK_WORK_ITEM_ID")})
    if args.flag("json"):
        return context.out.json(found)
    rows = [(each["id"], each["workItemId"], each["status"], each["blocking"], each["name"]) for each in found]
    return context.out.table(["ID", "WORK_ITEM", "STATUS", "BLOCKING", "NAME"], rows)


def complete(context: Context, args: Arguments) -> None:
    body = {
        "status": args.need("status"),
        "overrideReason": args.text("override-reason") or "",
        "actor": actor(args, context.env),
    }
    done = context.client.post(path("gate-reports", args.need("gate"), "complete"), body)
    if args.flag("json"):
        return context.out.json(done)
    return context.out.fields(done["id"], done["workItemId"], done["status"])


LIST = Command(
    words="gate list",
    usage="""
Usage:
  whisk gate list [options]

Options:
  --work-item=<id>    Only this work item's; else $WHISK_WORK_ITEM_ID's, else all.
  --actor=<name>      Taken as everywhere; to look is nobody's act.

Examples:
  whisk gate list -work-item item_01
""",
    run=list_gates,
)

COMPLETE = Command(
    words="gate complete",
    usage="""
Usage:
  whisk gate complete [options] <gate>

Options:
  --status=<status>          passed, failed or overridden.
  --override-reason=<text>   Why it is overridden.
  --work-item=<id>           Taken as everywhere; the gate knows its work item.
  --actor=<name>             In whose name; else $WHISK_ACTOR, else yours. An agent is refused.

Examples:
  whisk gate complete gate_01 -status passed
  whisk gate complete gate_01 -status overridden -override-reason "hotfix"
""",
    run=complete,
)
