"""`whisk session …`: a folder, its panes, and the terminals in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.start import TERMINAL_OPTIONS, start_options

# Starting a process is quick; on a loaded machine finding its program may not be.
_START_SECONDS = 30.0
# Programs that ignore the polite signals get some seconds each.
_CLOSE_SECONDS = 60.0


def list_sessions(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/sessions")
    if (project := args.text("project")) is not None:
        found = [each for each in found if each.get("projectId", "") == project]
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["id"], each.get("projectId"), each["name"], each["rootDir"], len(each["panes"] or {})) for each in found
    ]
    return context.out.table(["ID", "PROJECT", "NAME", "ROOT", "PANES"], rows, flexible=["ROOT", "NAME"])


def show(context: Context, args: Arguments) -> None:
    session = context.client.get(path("sessions", args.need("session")))
    if args.flag("json"):
        return context.out.json(session)
    out = context.out
    status = {each["id"]: each["status"] for each in context.client.get("/v1/ptys")}
    out.line(session["id"])
    out.line(f"name     {session['name']}")
    out.line(f"root     {session['rootDir']}")
    if project := session.get("projectId"):
        out.line(f"project  {project}")
    rows = []
    for window in session["windows"].values():
        for pane_id, place in _panes(window["layout"]):
            pane = session["panes"][pane_id]
            pty = pane.get("currentPtyId")
            rows.append((pane_id, place, pty, status.get(pty), pane["workingDir"]))
    shown = {row[2] for row in rows}
    rows += [("", "", pty, status.get(pty), "") for pty in session.get("ptyIds", ()) if pty not in shown]
    out.line()
    return out.table(["PANE", "PLACE", "PTY", "STATUS", "DIR"], rows, optional=["PLACE"])


def _panes(node: dict[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """Each pane of a split tree, and where it is: `h2.v1` is the upper part of the second column."""
    if node["kind"] == "leaf":
        yield node["paneId"], place
    for number, child in enumerate(node.get("children", ()), start=1):
        step = f"{node['direction'][0]}{number}"
        yield from _panes(child, f"{place}.{step}" if place else step)


def create(context: Context, args: Arguments) -> None:
    wanted = ("command", "agent-profile", "prompt", "system-prompt", "env", "cols", "rows")
    if not args.flag("pty") and (extra := [name for name in wanted if args.given(name)]):
        raise UsageError(f"-{extra[0]} needs a terminal; it does not go with -pty=false")
    body: dict[str, Any] = {
        "name": args.text("name") or "",
        # The daemon lives elsewhere: a relative path means this folder, not the daemon's.
        "rootDir": os.path.abspath(args.need("root")),
        "projectId": args.text("project", "WHISK_PROJECT_ID", "WHISK_PROJECT") or "",
    }
    if (working := args.text("working-dir")) is not None:
        body["workingDir"] = os.path.abspath(working)
    if args.flag("pty"):
        body["initialPty"] = start_options(args)
    made = context.client.post("/v1/sessions", body, timeout=_START_SECONDS)
    context.out.json(made) if args.flag("json") else context.out.line(made["session"]["id"])


def update(context: Context, args: Arguments) -> None:
    if args.given("project") == args.flag("clear-project"):
        raise UsageError("give exactly one of -project and -clear-project")
    body = {"projectId": "" if args.flag("clear-project") else args.need("project")}
    _print(context, args, context.client.post(path("sessions", args.need("session"), "set-project"), body))


def set_root(context: Context, args: Arguments) -> None:
    body = {"rootDir": os.path.abspath(args.need("dir"))}
    changed = context.client.post(path("sessions", args.need("session"), "set-root-dir"), body)
    if args.flag("json"):
        return context.out.json(changed)
    return context.out.fields(changed["id"], changed["rootDir"])


def close(context: Context, args: Arguments) -> None:
    session = args.need("session")
    rest = context.client.delete(path("sessions", session), timeout=_CLOSE_SECONDS)
    context.out.json(rest) if args.flag("json") else context.out.line(session)


def _print(context: Context, args: Arguments, session: dict[str, Any]) -> None:
    context.out.json(session) if args.flag("json") else context.out.line(session["id"])


LIST = Command(
    words="session list",
    usage="""
Usage:
  whisk session list [options]

Options:
  --project=<id>   Only this project's sessions.

Examples:
  whisk session list
  whisk session list -project proj_01 -json
""",
    run=list_sessions,
)

SHOW = Command(
    words="session show",
    usage="""
Usage:
  whisk session show [options] <session>

Shows its panes in the order in which they are drawn, and which terminal is in each; terminals without a pane come last.
A place such as `h2.v1` is the first of the second column.

Examples:
  whisk session show sess_01
""",
    run=show,
)

CREATE = Command(
    words="session create",
    usage=f"""
Usage:
  whisk session create --root=<dir> [--env=<name=value>]... [options]

Prints the session's id; with -json also the ids of its window, pane and terminal.

Options:
  --root=<dir>            The folder it is about.
  --working-dir=<dir>     Where its first pane begins, if not there.
  --project=<id>          The project it belongs to; else $WHISK_PROJECT_ID.
  --name=<name>           Its name; else the last part of the folder.
  --pty                   Start a terminal in it; -pty=false leaves the pane empty. [default: true]
{TERMINAL_OPTIONS}
Examples:
  whisk session create -root .
  whisk session create -root ~/src/app -name tests -command "npm test"
  whisk session create -root . -agent-profile claude -prompt "Fix the failing test" -json
""",
    run=create,
)

UPDATE = Command(
    words="session update",
    usage="""
Usage:
  whisk session update [options] <session>

Options:
  --project=<id>     Assign the session to this project.
  --clear-project    Take it out of its project.

Examples:
  whisk session update sess_01 -project proj_01
  whisk session update sess_01 -clear-project
""",
    run=update,
)

SET_ROOT = Command(
    words="session set-root",
    usage="""
Usage:
  whisk session set-root [options] <session> <dir>

Panes that are at the old folder move along. Refused while a terminal in it runs.

Examples:
  whisk session set-root sess_01 ~/src/elsewhere
""",
    run=set_root,
)

CLOSE = Command(
    words="session close",
    usage="""
Usage:
  whisk session close [options] <session>

Ends its terminals and everything that runs in them, and cancels the runs that were started there.

Examples:
  whisk session close sess_01
""",
    run=close,
)
