"""`whisk status …`: what an agent says of itself, and who has seen it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.moment import moment
from whisk.cli.person import actor

# Which option goes into which field, and the variables of an agent's terminal that stand in for it.
_PLACES = {
    "project": ("projectId", "WHISK_PROJECT_ID", "WHISK_PROJECT"),
    "work-item": ("workItemId", "WHISK_WORK_ITEM_ID"),
    "run": ("runId", "WHISK_RUN_ID"),
    "session": ("sessionId", "WHISK_SESSION_ID"),
    "pty": ("ptyId", "WHISK_PTY_ID"),
}
_NO_PLACE = "status context required; run inside a Whisk PTY or pass -run, -session, -pty, or -work-item"


def _report(kind: str) -> Callable[[Context, Arguments], None]:
    def report(context: Context, args: Arguments) -> None:
        message = args.need("message")
        ids = {field: args.text(option, *names) or "" for option, (field, *names) in _PLACES.items()}
        if not any(ids[field] for field in ("runId", "sessionId", "ptyId", "workItemId")):
            raise UsageError(_NO_PLACE)
        body = {
            "kind": kind,
            "message": context.read_stdin() if message == "-" else message,
            "actor": actor(args, context.env),
            **ids,
        }
        reported = context.client.post("/v1/status", body)
        if args.flag("json"):
            return context.out.json(reported)
        event = reported["event"]
        return context.out.fields(event["id"], event["kind"], event["scope"])

    return report


def list_events(context: Context, args: Arguments) -> None:
    query: dict[str, Any] = {field: args.text(option) for option, (field, *_) in _PLACES.items()}
    query |= {"unreadOnly": args.flag("unread") or None, "limit": args.number("limit", least=1)}
    found = context.client.get("/v1/status-events", query)
    if args.flag("json"):
        return context.out.json(found)
    header = ["ID", "AT", "KIND", "READ", "ABOUT", "MESSAGE"]
    rows = [
        (each["id"], moment(each["createdAt"]), each["kind"], "readAt" in each, _about(each), each["message"])
        for each in found
    ]
    return context.out.table(header, rows, flexible=["MESSAGE"], optional=["READ", "AT"])


def read(context: Context, args: Arguments) -> None:
    event = context.client.post(path("status-events", args.need("report"), "read"))
    context.out.json(event) if args.flag("json") else context.out.fields(event["id"], event["readAt"])


def _about(event: dict[str, Any]) -> str:
    """The most particular thing that it is about, as an address."""
    scope = event["scope"]
    field = {"run": "runId", "pty": "ptyId", "session": "sessionId", "work-item": "workItemId"}[scope]
    return f"{scope}:{event.get(field, '')}"


def _command(kind: str, what: str, message: str) -> Command:
    return Command(
        words=f"status {kind}",
        usage=f"""
Usage:
  whisk status {kind} [options]

{what} Inside a terminal of whisk the ids are known.

Options:
  --message=<text>    What a person should read; - reads it from stdin.
  --run=<id>          The run; else $WHISK_RUN_ID.
  --pty=<id>          The terminal; else $WHISK_PTY_ID.
  --session=<id>      The session; else $WHISK_SESSION_ID.
  --work-item=<id>    The work item; else $WHISK_WORK_ITEM_ID, else the run's.
  --project=<id>      The project; else $WHISK_PROJECT_ID, else the run's.
  --actor=<name>      In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk status {kind} -message "{message}"
  whisk status {kind} -run run_01 -message "{message}" -json
""",
        run=_report(kind),
    )


QUESTION = _command(
    "question",
    "Says that a person has to answer something. A run that is named waits for input from now on.",
    "Which of the two tables is the right one?",
)
DONE = _command(
    "done",
    "Says that the work is done. A run that is named is completed; gates and approvals are left as they are.",
    "Tests are green, ready for review",
)
BLOCKED = _command(
    "blocked",
    "Says that the work cannot go on. A run that is named waits for input from now on.",
    "No access to the staging database",
)

LIST = Command(
    words="status list",
    usage="""
Usage:
  whisk status list [options]

Options:
  --unread            Only what nobody has marked read.
  --project=<id>      Only of this project.
  --work-item=<id>    Only of this work item.
  --run=<id>          Only of this run.
  --session=<id>      Only of this session.
  --pty=<id>          Only of this terminal.
  --limit=<n>         The newest so many. [default: 200]

Examples:
  whisk status list -unread
  whisk status list -run run_01 -json
""",
    run=list_events,
)

READ = Command(
    words="status read",
    usage="""
Usage:
  whisk status read [options] <report>

Examples:
  whisk status read stat_01
""",
    run=read,
)
