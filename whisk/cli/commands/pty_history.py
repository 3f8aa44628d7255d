"""`whisk pty history …`: what terminals have printed, ended ones and those of closed sessions too."""

from __future__ import annotations

import base64

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.moment import moment
from whisk.cli.plain import PlainStream

# A long transcript is some megabytes of text.
_SECONDS = 30.0


def list_history(context: Context, args: Arguments) -> None:
    query = {"sessionId": args.text("session"), "limit": args.number("limit", least=1)}
    found = context.client.get("/v1/pty-history", query)
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["ptyId"], each["status"], each.get("exitCode"), moment(each["createdAt"]), " ".join(each["argv"]))
        for each in found
    ]
    return context.out.table(["ID", "STATUS", "EXIT", "STARTED", "COMMAND"], rows, optional=["STARTED"])


def show(context: Context, args: Arguments) -> None:
    forms = [name for name in ("plain", "json") if args.flag(name)]
    if len(forms) > 1:
        raise UsageError("give -plain or -json, not both")
    query = {
        "from": args.number("from"),
        "limit": args.number("limit", least=1),
        "base64": None if args.flag("json") else "true",
    }
    told = context.client.get(path("pty-history", args.need("pty")), query, timeout=_SECONDS)
    if args.flag("json"):
        return context.out.json(told)
    if skipped := told.get("skipped"):
        context.out.note(f"whisk: {skipped} bytes are no longer kept")
    data = base64.b64decode(told["outputBase64"])
    return context.out.raw(PlainStream().feed(data, final=True).encode() if args.flag("plain") else data)


LIST = Command(
    words="pty history list",
    usage="""
Usage:
  whisk pty history list [options]

Lists the terminals that are remembered, oldest first: running ones, ended ones, and those of sessions that are closed.

Options:
  --session=<id>   Only those of this session.
  --limit=<n>      Only the newest.

Examples:
  whisk pty history list
  whisk pty history list -session sess_01 -limit 10 -json
""",
    run=list_history,
)

SHOW = Command(
    words="pty history show",
    usage="""
Usage:
  whisk pty history show [options] <pty>

Prints all that is kept of what the terminal has shown: the bytes as they are, unless -plain.

Options:
  --from=<offset>   Begin at this byte.
  --limit=<bytes>   Print no more than this.
  --plain           Without escape sequences and control characters.

Examples:
  whisk pty history show -plain pty_01
  whisk pty history show pty_01 -from 4096 -json
""",
    run=show,
)
