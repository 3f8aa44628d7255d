"""`whisk event …`: what the daemon announces, as it happens."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK
from whisk.cli.feed import Feed

_NEXT_SECONDS = 30.0


def tail(context: Context, args: Arguments) -> int:
    after = args.number("after")
    feed = Feed(context, args.csv("types"), None if after is None else str(after))
    try:
        for event in feed.follow():
            if args.flag("json"):
                context.out.json_lines([event])
            else:
                _show(context, event)
            context.out.flush()
    except KeyboardInterrupt:
        # That is how one ends it.
        return OK
    return OK


def wait_for_next(context: Context, args: Arguments) -> None:
    seconds = args.seconds("timeout", _NEXT_SECONDS)
    after = args.number("after")
    query = {
        "afterSeq": _here(context) if after is None else after,
        "timeoutMs": round((seconds or 0) * 1000),
        "types": args.csv("types"),
    }
    found = context.client.get("/v1/events/next", query, timeout=seconds + 10.0 if seconds else None)
    if args.flag("json"):
        return context.out.json(found)
    if found["missed"]:
        _show(context, {"type": "missed"})
    if found["event"]["type"] != "none":
        return _show(context, found["event"])
    return context.out.note("no event")


def _here(context: Context) -> str:
    """The number of the newest event."""
    feed = Feed(context)
    next(feed.connect(context.client))
    return feed.position or "0"


def _show(context: Context, event: dict[str, Any]) -> None:
    if event["type"] == "missed":
        return context.out.note("some events were missed: what you show of the daemon may have changed")
    return context.out.fields(event["type"], event.get("id") or event.get("ptyId", ""))


TAIL = Command(
    words="event tail",
    usage="""
Usage:
  whisk event tail [options]

Prints one line for each event from now on, until Ctrl-C. It goes on when whiskd was restarted, and says when it has
missed some. -json prints JSON lines.

Options:
  --types=<types>   Only these, separated by commas, such as mailbox.changed,status.changed.
  --after=<seq>     Begin behind this event, at 0 with the oldest that is kept.

Examples:
  whisk event tail
  whisk event tail -types status.changed,agent_prompts.changed -json
""",
    run=tail,
)

NEXT = Command(
    words="event next",
    usage="""
Usage:
  whisk event next [options]

Options:
  --types=<types>    Only one of these, separated by commas.
  --after=<seq>      The first behind this one, at 0 the oldest that is kept; else the next that happens.
  --timeout=<time>   Give up after this; 0 waits without limit. [default: 30s]

Examples:
  whisk event next -types mailbox.changed -timeout 10m
  whisk event next -after 1796078997888494 -json
""",
    run=wait_for_next,
)
