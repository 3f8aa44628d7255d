"""`whisk workflow definitions …`."""

from __future__ import annotations

import os
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import CommandError, UsageError

_BASE = "/v1/workflow-definitions"


def list_definitions(context: Context, args: Arguments) -> None:
    project = args.text("project")
    if project:
        files = context.client.get(path("projects", project, "workflow-files"))
        if args.flag("json"):
            return context.out.json(files)
        states = [(each.get("identity", "-"), each["state"], each["path"]) for each in files]
        return context.out.table(["DEFINITION", "STATE", "PATH"], states)
    found = context.client.get(_BASE)
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (f"{each['id']}@{each['version']}", each["source"], len(each["definition"]["actions"]), _stages(each))
        for each in found
    ]
    return context.out.table(["DEFINITION", "SOURCE", "ACTIONS", "STAGES"], rows)


def show(context: Context, args: Arguments) -> None:
    """The definition itself, as a file would hold it; with -json the record that it is kept in."""
    id, version = split_definition(args.need("definition"))
    for each in context.client.get(_BASE):
        if (each["id"], each["version"]) == (id, version):
            return context.out.json(each if args.flag("json") else each["definition"])
    raise CommandError(f"workflow definition {id}@{version} not found")


def validate(context: Context, args: Arguments) -> int:
    """1 when it is not valid, so that a script may go by it."""
    report = context.client.post(f"{_BASE}/validate-file", {"path": _file(args)})
    if args.flag("json"):
        context.out.json(report)
    elif report["valid"]:
        context.out.line(f"{report['identity']} is valid")
    for error in () if args.flag("json") else report.get("errors", ()):
        where = f"{error['path']}: " if error.get("path") else ""
        context.out.line(f"{where}{error['message']}")
    return 0 if report["valid"] else 1


def import_file(context: Context, args: Arguments) -> None:
    _print(context, args, context.client.post(f"{_BASE}/import-file", {"path": _file(args)}))


def export(context: Context, args: Arguments) -> None:
    id, version = split_definition(args.need("definition"))
    target = _file(args)
    context.client.post(f"{_BASE}/export-file", {"id": id, "version": version, "path": target})
    context.out.json({"path": target}) if args.flag("json") else context.out.line(target)


def delete(context: Context, args: Arguments) -> None:
    id, version = split_definition(args.need("definition"))
    if not args.flag("yes"):
        raise UsageError("workflow definitions delete requires -yes")
    _print(context, args, context.client.post(path("workflow-definitions", id, version, "delete")))


def split_definition(text: str) -> tuple[str, int]:
    """`ship@2`, or `ship` for its first version."""
    id, _, version = text.partition("@")
    if not id or (version and not (version.isascii() and version.isdigit())) or text.endswith("@"):
        raise UsageError(f"a definition is named as id@version, such as ship@2, not {text!r}")
    return id, int(version or "1")


def _file(args: Arguments) -> str:
    # The daemon lives elsewhere: a relative path means this folder, not the daemon's.
    return os.path.abspath(args.need("file"))


def _print(context: Context, args: Arguments, record: dict[str, Any]) -> None:
    shown = (f"{record['id']}@{record['version']}", record["source"], record["contentHash"][:12])
    context.out.json(record) if args.flag("json") else context.out.fields(*shown)


def _stages(record: dict[str, Any]) -> str:
    return " ".join(record["definition"]["stages"])


LIST = Command(
    words="workflow definitions list",
    usage="""
Usage:
  whisk workflow definitions list [options]

Options:
  --project=<id>    Instead, the files in this project's .whisk/workflows, and what became of them.

Examples:
  whisk workflow definitions list
  whisk workflow definitions list -project proj_01
""",
    run=list_definitions,
)

SHOW = Command(
    words="workflow definitions show",
    usage="""
Usage:
  whisk workflow definitions show [options] <definition>

Examples:
  whisk workflow definitions show plan-execute-review@1 > .whisk/workflows/mine.json
""",
    run=show,
)

VALIDATE = Command(
    words="workflow definitions validate",
    usage="""
Usage:
  whisk workflow definitions validate [options] <file>

Examples:
  whisk workflow definitions validate .whisk/workflows/ship.json
""",
    run=validate,
)

IMPORT = Command(
    words="workflow definitions import",
    usage="""
Usage:
  whisk workflow definitions import [options] <file>

Examples:
  whisk workflow definitions import .whisk/workflows/ship.json
""",
    run=import_file,
)

EXPORT = Command(
    words="workflow definitions export",
    usage="""
Usage:
  whisk workflow definitions export [options] <definition> <file>

Examples:
  whisk workflow definitions export ship@2 .whisk/workflows/ship.json
""",
    run=export,
)

DELETE = Command(
    words="workflow definitions delete",
    usage="""
Usage:
  whisk workflow definitions delete [options] <definition>

Options:
  --yes             You mean it.

Examples:
  whisk workflow definitions delete ship@2 -yes
""",
    run=delete,
)
