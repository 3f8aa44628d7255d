"""`whisk audit`: who decided what, when, by which rule."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

from whisk.cli.argument import Arguments, parse_duration
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.moment import moment

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d")


def audit(context: Context, args: Arguments) -> None:
    query: dict[str, Any] = {
        "who": args.text("who"),
        "noun": args.text("noun"),
        "id": args.text("id"),
        "action": args.text("action"),
        "outcome": args.text("outcome"),
        "surface": args.text("surface"),
        "projectId": args.text("project"),
        "since": _moment(args.text("since")),
        "until": _moment(args.text("until")),
        "after": args.number("after"),
    }
    if args.flag("jsonl"):
        if args.given("limit"):
            found = context.client.get("/v1/audit", query | {"limit": args.number("limit", least=1)})
            return context.out.json_lines(found)
        # All there is, however much: each line goes out as it comes.
        return context.out.json_lines(_documents(context.client.stream("/v1/audit/export", query)))
    found = context.client.get("/v1/audit", query | {"limit": args.number("limit", 50, least=1)})
    if args.flag("json"):
        return context.out.json(found)
    return context.out.table(
        ["AT", "WHO", "ACTION", "NOUN", "ID", "OUTCOME", "RULE", "ABOUT"],
        [_row(each) for each in found],
        flexible=["ABOUT"],
        optional=["RULE"],
    )


def _documents(pieces: Iterable[bytes]) -> Iterator[Any]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (json.loads(line) for line in lines)


def _row(entry: dict[str, Any]) -> list[object]:
    surface = entry.get("surface")
    who = f"{entry['who']} ({surface})" if surface and surface != entry["who"] else entry["who"]
    about = " - ".join(text for text in (entry.get("about"), entry.get("reason")) if text)
    at = moment(entry["at"])
    return [
        at,
        who,
        entry["action"],
        entry["noun"],
        entry["id"],
        entry.get("outcome"),
        entry.get("ruleId"),
        about,
    ]


def _moment(text: str | None) -> str | None:
    """RFC 3339 as it is, a date as its beginning (UTC), a duration as so long ago."""
    if text is None or "T" in text:
        return text
    if _MOMENT.fullmatch(text):
        return f"{text}T00:00:00Z"
    then = time.time() - parse_duration(text, "-since and -until")
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(then))


AUDIT = Command(
    words="audit",
    usage="""
Usage:
  whisk audit [options]

The newest decisions, oldest first: prompts and approvals answered, denied, released, timed out; rules; gates; runs
that were cancelled; what was deleted. Never what was answered.

Options:
  --who=<name>        Only what this actor did: a person's name, rule, limit, agent or whiskd.
  --noun=<noun>       Only about this kind of thing: prompt, approval, policy, gate, run, webhook, daemon, …
  --id=<id>           Only about this thing.
  --action=<word>     Only this action: allow, deny, answer, release, time-out, add, remove, complete, …
  --outcome=<word>    Only with this outcome.
  --surface=<word>    Only what came in this way: cli, http, hook, mail, rule or whiskd.
  --project=<id>      Only in this project.
  --since=<when>      From then on: 2026-01-02, 2026-01-02T15:04:05Z, or so long ago (2h).
  --until=<when>      Before then.
  --after=<number>    Only entries behind this number (`seq` in -json), the first ones.
  --limit=<count>     At most so many; 50 unless said otherwise, with -jsonl all.
  --jsonl             Print JSON lines: one entry in each.

Examples:
  whisk audit -since 8h
  whisk audit -noun approval -outcome denied -limit 20
  whisk audit -jsonl > audit.jsonl
""",
    run=audit,
)
