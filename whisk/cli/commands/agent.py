"""`whisk agent …`: which agents whisk knows how to start."""

from __future__ import annotations

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context


def profiles(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/agent-profiles")
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (
            each["id"],
            each["provider"],
            each["source"],
            each.get("pluginId"),
            each["launchable"],
            "yes" if each.get("installed") else "no",
            each["label"],
            each.get("description"),
        )
        for each in found
    ]
    header = ["ID", "PROVIDER", "SOURCE", "PLUGIN", "LAUNCHABLE", "INSTALLED", "LABEL", "DESCRIPTION"]
    return context.out.table(header, rows, optional=["SOURCE"])


def detected(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/agents/detected")
    if args.flag("json"):
        return context.out.json(found)
    rows = [(each["profileId"], each["provider"], each["label"], each["path"]) for each in found]
    return context.out.table(["PROFILE", "PROVIDER", "LABEL", "PATH"], rows)


PROFILES = Command(
    words="agent profiles",
    usage="""
Usage:
  whisk agent profiles [options]

INSTALLED says whether the program was found on whiskd's PATH. More profiles come from [profiles.<id>] of the settings.

Examples:
  whisk agent profiles
  whisk agent profiles -json
""",
    run=profiles,
)

DETECTED = Command(
    words="agent detected",
    usage="""
Usage:
  whisk agent detected [options]

Lists the profiles whose programs whiskd finds, and where.

Examples:
  whisk agent detected
""",
    run=detected,
)
