"""`whisk hook events|log`: what agents have reported, and whether it is kept."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError


def events(context: Context, args: Arguments) -> None:
    query = {
        "status": args.text("status"),
        "provider": args.text("provider"),
        "eventName": args.text("event"),
        "ptyId": args.text("pty"),
        "sessionId": args.text("session"),
        "limit": args.number("limit", least=1),
    }
    found = context.client.get("/v1/agent-bridge-events", query)
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (
            each["createdAt"][11:23],
            each["provider"],
            each["eventName"],
            each.get("toolName"),
            each["result"],
            each.get("ptyId"),
            each.get("message"),
        )
        for each in found
    ]
    return context.out.table(["TIME", "PROVIDER", "EVENT", "TOOL", "RESULT", "PTY", "MESSAGE"], rows)


def mark_read(context: Context, args: Arguments) -> None:
    found = context.client.post(path("agent-bridge-events", args.need("event"), "read"))
    if args.flag("json"):
        return context.out.json(found)
    return context.out.fields(found["id"], found["status"])


def log(context: Context, args: Arguments) -> None:
    options = (("enabled", "enable"), ("clearAfterSession", "clear-after-session"))
    changes = {name: switch for name, option in options if (switch := _switch(args, option)) is not None}
    if changes:
        return _show(context, args, context.client.post("/v1/agent-hook-log/settings", changes))
    return _show(context, args, context.client.get("/v1/agent-hook-log"))


def clear(context: Context, args: Arguments) -> None:
    if not args.flag("yes"):
        raise UsageError("hook log clear requires -yes: it deletes what agents have reported")
    _show(context, args, context.client.post("/v1/agent-hook-log/clear", timeout=30.0))


def _switch(args: Arguments, name: str) -> bool | None:
    """true or false behind an option, None without it."""
    value = args.text(name)
    if value is None or value in ("true", "false"):
        return None if value is None else value == "true"
    raise UsageError(f"-{name} is true or false, not {value!r}")


def _show(context: Context, args: Arguments, found: dict[str, Any]) -> None:
    if args.flag("json"):
        return context.out.json(found)
    kept = "on" if found["enabled"] else "off: only that events came is kept, not what agents said"
    context.out.line(f"the hook log is {kept}")
    noun = "entry" if found["entries"] == 1 else "entries"
    context.out.line(f"{found['entries']} {noun}, {found['sizeBytes']} bytes, in {found['path']}")
    if found["clearAfterSession"]:
        context.out.line("it is emptied when whiskd stops")
    return None


EVENTS = Command(
    words="hook events",
    usage="""
Usage:
  whisk hook events [options]

Lists what agents have reported through their hooks and what became of it, the newest last.

Options:
  --limit=<count>     At most so many, the newest. [default: 50]
  --pty=<id>          Only of this terminal.
  --session=<id>      Only of this session.
  --provider=<name>   Only of this agent.
  --event=<name>      Only this event, as the agent calls it.
  --status=<status>   pending or read.

Examples:
  whisk hook events
  whisk hook events -event PreToolUse -limit 10 -json
""",
    run=events,
)

READ = Command(
    words="hook events read",
    usage="""
Usage:
  whisk hook events read [options] <event>

Examples:
  whisk hook events read hev_01M8
""",
    run=mark_read,
)

LOG = Command(
    words="hook log",
    usage="""
Usage:
  whisk hook log [options]

Says where the hook log is, how large, and whether it keeps what agents say. `whisk hook events` lists what it holds.

Options:
  --enable=<bool>                 false keeps only that events came, not what agents said; true keeps that again.
  --clear-after-session=<bool>    true empties the log whenever whiskd stops.

Examples:
  whisk hook log
  whisk hook log -enable=false
""",
    run=log,
)

CLEAR = Command(
    words="hook log clear",
    usage="""
Usage:
  whisk hook log clear [options]

Deletes what agents have reported. @idle knows nothing of them then until their next event.

Options:
  --yes             You mean it.

Examples:
  whisk hook log clear -yes
""",
    run=clear,
)
