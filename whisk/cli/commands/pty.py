"""`whisk session pty …`: looking at terminals and working them from outside."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import RefusedError, UsageError
from whisk.cli.start import TERMINAL_OPTIONS, start_options

_START_SECONDS = 30.0
_KILL_SECONDS = 30.0


def list_ptys(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/ptys")
    if (session := args.text("session")) is not None:
        found = [each for each in found if each["sessionId"] == session]
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["id"], each["status"], agent(each), each["sessionId"], each["paneId"], each["workingDir"])
        for each in found
    ]
    return context.out.table(["ID", "STATUS", "AGENT", "SESSION", "PANE", "DIR"], rows)


def agent(pty: dict[str, Any]) -> str:
    """Which agent, and what it does; a state that is only guessed has a question mark."""
    status = pty.get("agentStatus")
    if status is None:
        return ""
    guessed = "?" if status["confidence"] == "fallback" else ""
    return f"{status['agent']} {status['state']}{guessed}" if status["agent"] != "unknown" else status["state"]


def start(context: Context, args: Arguments) -> None:
    session_id = args.need("session", "WHISK_SESSION_ID")
    options = start_options(args, args.many("program"))
    pane_id, client = args.text("pane"), context.client
    if args.given("split"):
        session = _session(context, session_id)
        target = pane_id or next(iter(session["panes"]), "")
        body = {
            "windowId": session["panes"].get(target, {}).get("windowId", ""),
            "targetPaneId": target,
            "direction": args.need("split"),
            "initialPty": options,
        }
        made = client.post(path("sessions", session_id, "split"), body, timeout=_START_SECONDS)
    else:
        pane_id = pane_id or _empty_pane(_session(context, session_id))
        at = path("sessions", session_id, "panes", pane_id, "start-pty")
        made = client.post(at, {"options": options}, timeout=_START_SECONDS)
    context.out.json(made) if args.flag("json") else context.out.line(made["ptyId"])


def resize(context: Context, args: Arguments) -> None:
    body = {"cols": args.number("cols", least=1), "rows": args.number("rows", least=1)}
    context.client.post(path("ptys", args.need("pty"), "resize"), body)


def kill(context: Context, args: Arguments) -> None:
    info = context.client.post(path("ptys", args.need("pty"), "kill"), timeout=_KILL_SECONDS)
    for left in info.get("left", ()):
        context.out.note(f"whisk: process {left['pid']} ({left['command']}) could not be ended")
    context.out.json(info) if args.flag("json") else context.out.fields(info["id"], info["status"])


def restart(context: Context, args: Arguments) -> None:
    options = start_options(args, args.many("program"))
    session_id, pane_id = _place(context, args.need("pty"))
    at = path("sessions", session_id, "panes", pane_id, "restart-pty")
    made = context.client.post(at, {"options": options}, timeout=_START_SECONDS)
    context.out.json(made) if args.flag("json") else context.out.line(made["ptyId"])


def detach(context: Context, args: Arguments) -> None:
    session_id, pane_id = _place(context, args.need("pty"))
    emptied = context.client.post(path("sessions", session_id, "panes", pane_id, "detach-pty"))
    context.out.json(emptied) if args.flag("json") else context.out.line(emptied["ptyId"])


def delete(context: Context, args: Arguments) -> None:
    pty = args.need("pty")
    context.client.delete(path("ptys", pty))
    context.out.line(pty)


def attach(context: Context, args: Arguments) -> int:
    from whisk.cli.attach import Attachment
    from whisk.cli.detach import DEFAULT, Detach, parse_keys
    from whisk.cli.terminal import Interrupted

    keys = parse_keys(args.text("detach-keys", "WHISK_DETACH_KEYS") or DEFAULT)
    attachment = Attachment(context.client, args.need("pty"), Detach(keys), read_only=args.flag("read-only"))
    try:
        context.out.note(attachment.run())
    except Interrupted as signal:
        return 128 + signal.number
    return 0


def _session(context: Context, session_id: str) -> dict[str, Any]:
    return dict(context.client.get(path("sessions", session_id)))


def _place(context: Context, pty: str) -> tuple[str, str]:
    """The session and the pane in which a terminal is shown."""
    info = context.client.get(path("ptys", pty))
    if not info["paneId"]:
        raise RefusedError(f"pty {pty} is in no pane", status=400, code="refused")
    return info["sessionId"], info["paneId"]


def _empty_pane(session: dict[str, Any]) -> str:
    for pane_id, pane in session["panes"].items():
        if pane.get("currentPtyId") is None:
            return str(pane_id)
    raise UsageError("every pane of this session has a terminal; make another with -split")


LIST = Command(
    words="session pty list",
    usage="""
Usage:
  whisk session pty list [options] [<session>]

Examples:
  whisk session pty list
  whisk session pty list sess_01 -json
""",
    run=list_ptys,
)

START = Command(
    words="session pty start",
    usage=f"""
Usage:
  whisk session pty start [--env=<name=value>]... [options] <session> [<program>...]

Starts a shell, an agent, or a program with its arguments, and prints the terminal's id. Without -pane it takes the
first pane that is empty.

Options:
  --pane=<id>             The pane; with -split the pane that is split.
  --split=<direction>     Make a new pane for it: horizontal or vertical.
{TERMINAL_OPTIONS}
Examples:
  whisk session pty start sess_01
  whisk session pty start sess_01 -split vertical -- htop -d 20
  whisk session pty start sess_01 -agent-profile codex -prompt "Review the last commit"
""",
    run=start,
)

RESTART = Command(
    words="session pty restart",
    usage=f"""
Usage:
  whisk session pty restart [--env=<name=value>]... [options] <pty> [<program>...]

Starts another terminal in the pane of one that has ended, and prints the new id: a shell, unless an agent or a program
is named. The old one can still be read.

Options:
{TERMINAL_OPTIONS}
Examples:
  whisk session pty restart pty_01
  whisk session pty restart pty_01 -- make test
  whisk session pty restart pty_01 -agent-profile claude -prompt "Go on"
""",
    run=restart,
)

DETACH = Command(
    words="session pty detach",
    usage="""
Usage:
  whisk session pty detach [options] <pty>

Empties the terminal's pane. The terminal runs on and still belongs to the session.

Examples:
  whisk session pty detach pty_01
""",
    run=detach,
)

DELETE = Command(
    words="session pty delete",
    usage="""
Usage:
  whisk session pty delete [options] <pty>

Deletes a terminal that has ended, and everything that it has shown.

Examples:
  whisk session pty delete pty_01
""",
    run=delete,
    common=("url",),
)

RESIZE = Command(
    words="session pty resize",
    usage="""
Usage:
  whisk session pty resize --cols=<n> --rows=<n> [options] <pty>

Options:
  --cols=<n>   Columns, 1 to 1000.
  --rows=<n>   Rows, 1 to 1000.

Examples:
  whisk session pty resize pty_01 -cols 120 -rows 40
""",
    run=resize,
    common=("url",),
)

KILL = Command(
    words="session pty kill",
    usage="""
Usage:
  whisk session pty kill [options] <pty>

Ends everything that runs in it: hang-up, then TERM, then KILL.

Examples:
  whisk session pty kill pty_01
""",
    run=kill,
)

ATTACH = Command(
    words="session pty attach",
    usage="""
Usage:
  whisk session pty attach [options] <pty>

This terminal becomes a window onto that one: everything typed goes there, and its size follows this window. Ctrl-] then
d leaves it running and comes back; Ctrl-] twice types one Ctrl-]. Of several who are attached, the one who typed or
resized last decides the size.

Options:
  --read-only             Only look: nothing is typed, and the size stays.
  --detach-keys=<keys>    Other keys to leave with, such as ctrl-q or ctrl-a,d, or none; else $WHISK_DETACH_KEYS.

Examples:
  whisk session pty attach pty_01
  whisk session pty attach pty_01 -read-only -detach-keys ctrl-q
""",
    run=attach,
    common=("url",),
)
