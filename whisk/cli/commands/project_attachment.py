"""`whisk project attach|attachments|context`, and changes of attachments."""

from __future__ import annotations

import os
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.commands.project_change import switch
from whisk.cli.context import Context

# Option and field of the wire.
_TEXTS = {
    "title": "title",
    "path": "path",
    "attachment-url": "url",
    "note": "note",
    "provider": "provider",
    "target": "target",
}


def attach(context: Context, args: Arguments) -> None:
    project = args.need("project")
    body: dict[str, Any] = {
        "kind": args.text("kind") or "file",
        **_given(args),
        "includeInContext": args.flag("context"),
    }
    if scope := args.text("scope"):
        body["scope"] = scope
    elif body["kind"] == "file" and body.get("path"):
        # Whoever names a file means the one in this folder, wherever the project is.
        body |= {"scope": "external", "path": os.path.abspath(body["path"])}
    made = context.client.post(path("projects", project, "attachments"), body)
    new = made["attachments"][-1]["id"]
    context.out.json(made) if args.flag("json") else context.out.line(new)


def list_attachments(context: Context, args: Arguments) -> None:
    found = context.client.get(path("projects", args.need("project"), "detail"))["project"]["attachments"]
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["id"], each["kind"], each["scope"], each.get("includeInContext", False), each.get("title"), _what(each))
        for each in found
    ]
    return context.out.table(["ID", "KIND", "SCOPE", "CONTEXT", "TITLE", "WHAT"], rows, flexible=["TITLE", "WHAT"])


def update(context: Context, args: Arguments) -> None:
    body: dict[str, Any] = {"projectId": args.need("project"), **_given(args)}
    if args.given("context"):
        body["includeInContext"] = switch(args, "context")
    made = context.client.post(path("project-attachments", args.need("attachment"), "update"), body)
    context.out.json(made) if args.flag("json") else context.out.line(args.need("attachment"))


def detach(context: Context, args: Arguments) -> None:
    body = {"projectId": args.need("project")}
    left = context.client.post(path("project-attachments", args.need("attachment"), "delete"), body)
    context.out.json(left) if args.flag("json") else context.out.line(args.need("attachment"))


def show_context(context: Context, args: Arguments) -> None:
    found = context.client.get(path("projects", args.need("project"), "context"))
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["attachmentId"], each["kind"], each["delivery"], each.get("title"), each.get("error") or _where(each))
        for each in found["items"]
    ]
    return context.out.table(["ID", "KIND", "DELIVERY", "TITLE", "WHAT"], rows, flexible=["TITLE", "WHAT"])


def _given(args: Arguments) -> dict[str, Any]:
    return {field: args.text(name) for name, field in _TEXTS.items() if args.text(name) is not None}


def _what(each: dict[str, Any]) -> str | None:
    named = f"{each['provider']}:{each['target']}" if each.get("provider") else None
    return each.get("path") or each.get("url") or each.get("note") or named


def _where(item: dict[str, Any]) -> str | None:
    return item.get("content") or item.get("sourceUrl") or item.get("target")


_FIELDS = """  --title=<text>           What it is called.
  --path=<file>            The file.
  --attachment-url=<url>   The link.
  --note=<text>            The note, in Markdown.
  --provider=<name>        Whose the external thing is.
  --target=<id>            What it is called there."""

ATTACH = Command(
    words="project attach",
    usage=f"""
Usage:
  whisk project attach [options] <project>

Options:
  --kind=<kind>            file, url, note or external; else file.
  --scope=<scope>          project, worktree or external; for a file else external, which takes any path.
{_FIELDS}
  --context                Agents are told of it.

Examples:
  whisk project attach proj_01 -path docs/plan.md -context
  whisk project attach proj_01 -kind note -note "Never touch main" -context
""",
    run=attach,
)

ATTACHMENTS = Command(
    words="project attachments",
    usage="""
Usage:
  whisk project attachments [options] <project>

Examples:
  whisk project attachments proj_01
""",
    run=list_attachments,
)

UPDATE = Command(
    words="project attachments update",
    usage=f"""
Usage:
  whisk project attachments update [options] <project> <attachment>

Options:
{_FIELDS}
  --context=<yes|no>       Whether agents are told of it.

Examples:
  whisk project attachments update proj_01 att_01 -title "House rules" -context no
""",
    run=update,
)

DETACH = Command(
    words="project detach",
    usage="""
Usage:
  whisk project detach [options] <project> <attachment>

Examples:
  whisk project detach proj_01 att_01
""",
    run=detach,
)

CONTEXT = Command(
    words="project context",
    usage="""
Usage:
  whisk project context [options] <project>

Examples:
  whisk project context proj_01
""",
    run=show_context,
)
