"""`whisk session split` and `whisk session pane …`: the parts of a session's window."""

from __future__ import annotations

import os
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.start import TERMINAL_OPTIONS, start_options

_START_SECONDS = 30.0
# Programs that ignore the polite signals get some seconds each.
_CLOSE_SECONDS = 60.0


def split(context: Context, args: Arguments) -> None:
    session, options = args.need("session"), start_options(args, args.many("program"))
    if not args.flag("pty") and options:
        raise UsageError("what is to be started needs a terminal; it does not go with -pty=false")
    panes = context.client.get(path("sessions", session))["panes"]
    target = args.text("pane") or next(iter(panes), "")
    body: dict[str, Any] = {
        "windowId": panes.get(target, {}).get("windowId", ""),
        "targetPaneId": target,
        "direction": args.text("direction") or "",
    }
    if args.flag("pty"):
        body["initialPty"] = options
    made = context.client.post(path("sessions", session, "split"), body, timeout=_START_SECONDS)
    if args.flag("json"):
        return context.out.json(made)
    return context.out.fields(*(made[name] for name in ("paneId", "ptyId") if made.get(name)))


def close(context: Context, args: Arguments) -> None:
    session, pane = args.need("session"), args.need("pane")
    window = _pane(context, session, pane).get("windowId", "-")
    at = path("sessions", session, "windows", window, "panes", pane, "close")
    rest = context.client.post(at, timeout=_CLOSE_SECONDS)
    context.out.json(rest) if args.flag("json") else context.out.line(pane)


def set_dir(context: Context, args: Arguments) -> None:
    session, pane = args.need("session"), args.need("pane")
    # The daemon lives elsewhere: a relative path means this folder, not the daemon's.
    body = {"workingDir": os.path.abspath(args.need("dir"))}
    changed = context.client.post(path("sessions", session, "panes", pane, "set-working-dir"), body)
    if args.flag("json"):
        return context.out.json(changed)
    return context.out.fields(pane, changed["panes"][pane]["workingDir"])


def _pane(context: Context, session: str, pane: str) -> dict[str, Any]:
    """Empty for a pane that is not there: the daemon says so better when it is asked."""
    return dict(context.client.get(path("sessions", session))["panes"].get(pane, {}))


SPLIT = Command(
    words="session split",
    usage=f"""
Usage:
  whisk session split [--env=<name=value>]... [options] <session> [<program>...]

Puts a pane after another one, in that one's folder, and starts a shell, an agent, or a program in it. Prints the ids of
the pane and of its terminal.

Options:
  --pane=<id>             The pane that is split; else the session's first.
  --direction=<way>       horizontal (beside it) or vertical (below it). [default: horizontal]
  --pty                   Start a terminal in it; -pty=false leaves it empty. [default: true]
{TERMINAL_OPTIONS}
Examples:
  whisk session split sess_01
  whisk session split sess_01 -pane pane_02 -direction vertical -- htop -d 20
  whisk session split sess_01 -pty=false -json
""",
    run=split,
)

CLOSE = Command(
    words="session pane close",
    usage="""
Usage:
  whisk session pane close [options] <session> <pane>

Ends what runs in the pane and takes it away. The last pane of a window stays; close the session instead.

Examples:
  whisk session pane close sess_01 pane_02
""",
    run=close,
)

SET_DIR = Command(
    words="session pane set-dir",
    usage="""
Usage:
  whisk session pane set-dir [options] <session> <pane> <dir>

The next terminal in the pane starts in that folder. Refused while one runs there.

Examples:
  whisk session pane set-dir sess_01 pane_01 ~/src/app/docs
""",
    run=set_dir,
)
