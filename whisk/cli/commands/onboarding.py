"""`whisk onboarding …`: what whisk may add to the agents on this machine."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.commands.hook_setup import FOLDERS, agent_folder, is_local
from whisk.cli.context import Context
from whisk.cli.failure import OK, REFUSED, UsageError


def status(context: Context, args: Arguments) -> int:
    return _print(context, args, context.client.get("/v1/onboarding", _folders(context), timeout=30.0))


def apply(context: Context, args: Arguments) -> int:
    """Exit 1 when one of them was refused; the others are applied all the same."""
    items = args.csv("items")
    if not items:
        raise UsageError(
            "-items is required: nothing is applied unless it is named; `whisk onboarding status` lists them"
        )
    body = {"itemIds": items, **_folders(context)}
    return _print(context, args, context.client.post("/v1/onboarding/apply", body, timeout=60.0))


def _print(context: Context, args: Arguments, found: dict[str, Any]) -> int:
    if args.flag("json"):
        context.out.json(found)
    else:
        rows = [
            (
                each["id"],
                each["status"],
                each.get("result") or ("suggested" if each["selectedByDefault"] else ""),
                each.get("path"),
                each.get("detail"),
            )
            for each in found["items"]
        ]
        context.out.table(["ID", "STATUS", "RESULT", "PATH", "DETAIL"], rows)
    return REFUSED if any(each.get("result") == "refused" for each in found["items"]) else OK


def _folders(context: Context) -> dict[str, str]:
    """Those of this shell; another machine's daemon knows its own."""
    if not is_local(context):
        return {}
    return {f"{provider}Dir": agent_folder(context.env, provider) for provider in FOLDERS}


STATUS = Command(
    words="onboarding status",
    usage="""
Usage:
  whisk onboarding status [options]

Lists what whisk may add to the agents on this machine: its hooks, and a skill that tells them of the whisk command.
Suggested is what suits this machine and is not in place.

Examples:
  whisk onboarding status
""",
    run=status,
)

APPLY = Command(
    words="onboarding apply",
    usage="""
Usage:
  whisk onboarding apply [options] [--items=<ids>]...

Options:
  --items=<ids>     What to add, separated by commas, or given several times. Nothing else is added.

Examples:
  whisk onboarding apply -items hook:claude,skill:claude
""",
    run=apply,
)
