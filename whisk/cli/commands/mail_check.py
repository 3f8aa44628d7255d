"""`whisk mail check`: the next message, printed before it is acknowledged.

A reader that dies between the daemon's answer and its own last byte must not take the message with it. So `-ack` is a
claim: the daemon sets the message aside, it is printed and flushed, and only then confirmed. An unconfirmed claim goes
back to the queue, and no second reader is given the message meanwhile.
"""

from __future__ import annotations

import time
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import Waiting, path
from whisk.cli.command import Command
from whisk.cli.commands.mail_text import whole
from whisk.cli.context import Context
from whisk.cli.failure import OK, CommandError, RefusedError, UnreachableError, UsageError

# Enough to print a message to a slow terminal; a killed reader's message is back after it.
_CLAIM_SECONDS = 60
_WAIT_SECONDS = 600.0
_REMIND_SECONDS = 15.0
# One request waits at most this long, so that a dead connection is noticed now and then.
_LEG_SECONDS = 300.0
_RETRY_SECONDS = 0.5

# Where a worker's mail may be, and the variables of its terminal that say so.
_PLACES = (
    ("pty", ("WHISK_PTY_ID",)),
    ("run", ("WHISK_RUN_ID",)),
    ("session", ("WHISK_SESSION_ID",)),
    ("work-item", ("WHISK_WORK_ITEM_ID",)),
    ("project", ("WHISK_PROJECT_ID", "WHISK_PROJECT")),
)


def check(context: Context, args: Arguments) -> int:
    query: dict[str, object] = {
        "to": _addresses(context, args),
        "types": args.csv("types"),
        "projectId": args.text("project"),
        "claim": _CLAIM_SECONDS if args.flag("ack") else None,
        "timeoutMs": 0,
    }
    seconds = args.seconds("timeout", _WAIT_SECONDS)
    found = context.client.get("/v1/mail/next", query)
    if args.flag("wait") and "message" not in found:
        found = _wait(context, query, _WAIT_SECONDS if seconds is None else seconds, found)
    claim = found.pop("claim", None)
    if args.flag("json"):
        context.out.json(found)
    elif "message" in found:
        context.out.line(whole(found["message"]))
    else:
        context.out.line("no mail")
    if claim is not None:
        context.out.flush()
        _confirm(context, found["message"]["id"], claim["token"])
    return OK


def _wait(context: Context, query: dict[str, object], seconds: float, found: dict[str, Any]) -> dict[str, Any]:
    """Wait for a message; a daemon that restarts meanwhile is waited for as well."""
    deadline = time.monotonic() + seconds
    reminder = Waiting(_REMIND_SECONDS, lambda: context.out.note("waiting for mail..."))
    while (left := deadline - time.monotonic()) > 0 and "message" not in found:
        leg = min(left, _LEG_SECONDS)
        timed = {**query, "timeoutMs": max(1, round(leg * 1000))}
        try:
            found = context.client.get("/v1/mail/next", timed, timeout=leg + 10, waiting=reminder)
        except (UnreachableError, RefusedError) as error:
            # A daemon that stops says 503, one that is not up yet nothing at all; its successor has the same mail.
            gone = isinstance(error, UnreachableError) or error.status == 503
            if not gone or deadline - time.monotonic() < _RETRY_SECONDS:
                raise
            _pause()
    return found


def _confirm(context: Context, mail_id: str, token: str) -> None:
    try:
        context.client.post(path("mail", mail_id, "read"), {"claim": token})
    except CommandError:
        context.out.note(f"mail {mail_id} was shown but could not be acknowledged; it will be given again")
        raise


def _addresses(context: Context, args: Arguments) -> list[str]:
    given = args.csv("to")
    if given or args.given("to"):
        return given
    found = [
        (kind, next((context.env[name] for name in names if context.env.get(name)), "")) for kind, names in _PLACES
    ]
    addresses = [f"{kind}:{id_}" for kind, id_ in found if id_]
    if not addresses:
        raise UsageError("mail check recipient required; run inside a Whisk PTY or pass -to")
    return addresses


def _pause() -> None:
    import select

    select.select([], [], [], _RETRY_SECONDS)


CHECK = Command(
    words="mail check",
    usage="""
Usage:
  whisk mail check [options] [--to=<addresses>]...

Options:
  --to=<addresses>    Whose mail, as kind:id, several joined by commas or repeated; else this terminal's own
                      pty, run, session, work item and project.
  --types=<types>     Only these types, joined by commas. A heartbeat is only given when it is named.
  --project=<id>      Only mail about this project.
  --wait              Wait until there is a message.
  --timeout=<time>    With -wait: how long; then `no mail`, with exit code 0. [default: 10m]
  --ack               Mark it read once it is printed. Without, it is only shown and comes again.

Examples:
  whisk mail check -wait -ack -json
  whisk mail check -to run:run_01 -types dispatch,handoff
""",
    run=check,
)
