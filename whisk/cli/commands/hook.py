"""`whisk hook …`: what agents have reported."""

from __future__ import annotations

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context


def log(context: Context, args: Arguments) -> None:
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


LOG = Command(
    words="hook log",
    usage="""
Usage:
  whisk hook log [options]

Options:
  --limit=<count>     At most so many, the newest. [default: 50]
  --pty=<id>          Only of this terminal.
  --session=<id>      Only of this session.
  --provider=<name>   Only of this agent.
  --event=<name>      Only this event, as the agent calls it.
  --status=<status>   pending or read.

Examples:
  whisk hook log
  whisk hook log -event PreToolUse -limit 10 -json
""",
    run=log,
)
