"""`whisk search`: words in mail, questions, artifacts and what terminals have printed."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.moment import moment
from whisk.cli.output import one_line

# What the daemon puts around each word that was found.
_OPEN, _CLOSE = "\u27e6", "\u27e7"


def search(context: Context, args: Arguments) -> None:
    query = {
        "q": " ".join(args.many("text")),
        "kinds": args.csv("kinds"),
        "projectId": args.text("project"),
        "workItemId": args.text("work-item"),
        "after": args.text("after"),
        "limit": args.number("limit", least=1),
    }
    found = context.client.get("/v1/search", query, timeout=45)
    if found.get("unreadBytes"):
        context.out.note("some output of terminals is still being read; search again in a moment for the rest")
    if args.flag("jsonl"):
        return context.out.json_lines(found["hits"])
    if args.flag("json"):
        return context.out.json(found)
    for hit in found["hits"]:
        _show(context, hit)
    return None


def _show(context: Context, hit: dict[str, Any]) -> None:
    """One line that says where, and below it what."""
    out = context.out
    when = moment(hit["at"])
    place = [hit[name] for name in ("workItemId", "runId", "projectId", "sessionId") if hit.get(name)][:1]
    head = "  ".join(one_line(part) for part in (hit["kind"], hit["id"], when, *place, hit.get("title", "")) if part)
    out.styled(out.style(head, "1"))
    snippet = one_line(hit["snippet"])
    if out.colours:
        for mark, code in ((_OPEN, "\x1b[33m"), (_CLOSE, "\x1b[0m")):
            snippet = snippet.replace(mark, code)
    else:
        snippet = snippet.replace(_OPEN, "[").replace(_CLOSE, "]")
    out.styled(f"    {snippet}")


SEARCH = Command(
    words="search",
    usage="""
Usage:
  whisk search [options] [--kinds=<kinds>]... <text>...

All the words must be there; "quoted words" stand together, and a * at the end of a word finds longer ones too.
Everything else is text to look for. Behind -- the text may begin with a dash.

Options:
  --kinds=<kinds>     Only these: mail, question, artifact, transcript; joined by commas or repeated.
  --project=<id>      Only in this project.
  --work-item=<id>    Only about this work item.
  --limit=<n>         At most so many, the best. [default: 20]
  --after=<id>        The next page: behind the hit with this id.
  --jsonl             Print JSON lines: one hit in each.

Examples:
  whisk search refund race
  whisk search '"exit code" deploy*' -kinds transcript
  whisk search POL-358 -kinds mail,question -jsonl
""",
    run=search,
)
