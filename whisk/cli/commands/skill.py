"""`whisk skill list`: the skills that agents here have."""

from __future__ import annotations

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context


def list_skills(context: Context, args: Arguments) -> None:
    asked = {
        "projectId": args.text("project", "WHISK_PROJECT_ID", "WHISK_PROJECT"),
        "sessionId": args.text("session"),
    }
    query = {name: value for name, value in asked.items() if value}
    if args.flag("rescan"):
        found = context.client.post("/v1/skills/rescan", query, timeout=60.0)
    else:
        found = context.client.get("/v1/skills", query, timeout=60.0)
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["name"], each["sourceLabel"], ",".join(each["providers"]), each["directoryPath"], each.get("description"))
        for each in found["skills"]
    ]
    context.out.table(["NAME", "SOURCE", "AGENTS", "FOLDER", "DESCRIPTION"], rows)
    for source in found["sources"]:
        if source.get("skippedReason"):
            context.out.note(f"{source['label']}: {source['skippedReason']}")
    return None


LIST = Command(
    words="skill list",
    usage="""
Usage:
  whisk skill list [options]

Options:
  --project=<id>    Those of this project too; else $WHISK_PROJECT_ID.
  --session=<id>    Those of this session's folder too.
  --rescan          Look for them anew; else what was found last is listed.

Examples:
  whisk skill list
  whisk skill list -rescan -json
""",
    run=list_skills,
)
