"""`whisk project …`."""

from __future__ import annotations

import os

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context


def list_projects(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/projects")
    if args.flag("json"):
        return context.out.json(found)
    rows = [(each["id"], each["name"], each["slug"], each["rootDir"]) for each in found]
    return context.out.table(["ID", "NAME", "SLUG", "ROOT"], rows)


def create(context: Context, args: Arguments) -> None:
    body = {
        # The daemon lives elsewhere: a relative path means this folder, not the daemon's.
        "rootDir": os.path.abspath(args.text("root") or "."),
        "name": args.text("name") or "",
        "description": args.text("description") or "",
        "slug": args.text("slug") or "",
        "workflowId": args.text("workflow") or "",
    }
    made = context.client.post("/v1/projects", body)
    if not os.path.isdir(body["rootDir"]):
        context.out.note(f"warning: {body['rootDir']} is not a folder; nothing can be started there until it is")
    for each in context.client.get("/v1/projects"):
        if each["id"] != made["id"] and os.path.realpath(each["rootDir"]) == os.path.realpath(made["rootDir"]):
            context.out.note(f"warning: {each['id']} ({each['name']}) has this folder too")
    context.out.json(made) if args.flag("json") else context.out.line(made["id"])


def show(context: Context, args: Arguments) -> None:
    detail = context.client.get(path("projects", args.need("project"), "detail"))
    if args.flag("json"):
        return context.out.json(detail)
    out, project = context.out, detail["project"]
    out.line(project["id"])
    out.line(f"name      {project['name']}")
    out.line(f"root      {project['rootDir']}")
    out.line(f"workflow  {project['workflow']['name']}")
    if description := project.get("description"):
        out.line(f"about     {description}")
    out.line(f"sessions  {len(detail['sessions'])}")
    if items := detail["workItems"]:
        runs: dict[str, int] = {}
        for run in detail["runs"]:
            runs[run["workItemId"]] = runs.get(run["workItemId"], 0) + 1
        out.line()
        out.table(
            ["ID", "NO", "TITLE", "STAGE", "RUN", "RUNS"],
            [
                (
                    each["id"],
                    f"#{each['number']}",
                    each["title"],
                    each["stageId"],
                    each["runState"],
                    runs.get(each["id"]),
                )
                for each in items
            ],
            flexible=["TITLE"],
        )
    return None


LIST = Command(
    words="project list",
    usage="""
Usage:
  whisk project list [options]

Examples:
  whisk project list
""",
    run=list_projects,
)

CREATE = Command(
    words="project create",
    usage="""
Usage:
  whisk project create [options]

Options:
  --root=<dir>          The project's folder; else the current one.
  --name=<name>         Its name; else the folder's.
  --description=<text>  What it is.
  --slug=<slug>         Short name for branches; else made from the name.
  --workflow=<id>       Workflow template; there is one, default.

Examples:
  whisk project create
  whisk project create -root ~/src/app -name App -json
""",
    run=create,
)

SHOW = Command(
    words="project show",
    usage="""
Usage:
  whisk project show [options] <project>

Examples:
  whisk project show proj_01
""",
    run=show,
)
