"""`whisk webhook …`: addresses that are told of what happens."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, REFUSED
from whisk.cli.moment import moment
from whisk.cli.person import actor

_PATIENCE = 95.0


def add(context: Context, args: Arguments) -> None:
    body = {
        "url": args.need("address"),
        "types": args.csv("types"),
        "projectId": args.text("project") or "",
        "secret": _secret(context, args),
        "actor": actor(args, context.env),
    }
    made = context.client.post("/v1/webhooks", body)
    if made["webhook"].get("insecure"):
        context.out.note("warning: plain http to another machine: what is sent there can be read on the way")
    if args.flag("json"):
        return context.out.json(made)
    context.out.note("this is the only time that the secret is shown")
    return context.out.fields(made["webhook"]["id"], made["secret"])


def _secret(context: Context, args: Arguments) -> str:
    given = args.text("secret") or ""
    return context.read_stdin().strip() if given == "-" else given


def list_webhooks(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/webhooks")
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["id"], _state(each), each["delivered"], each["behind"], each["deadLetters"], each["url"])
        for each in found
    ]
    return context.out.table(["ID", "STATE", "DELIVERED", "BEHIND", "DEAD", "URL"], rows)


def show(context: Context, args: Arguments) -> None:
    found = context.client.get(path("webhooks", args.need("webhook")))
    if args.flag("json"):
        return context.out.json(found)
    facts = {
        "state": _state(found),
        "url": found["url"],
        "types": ", ".join(found["types"]) or "all",
        "project": found.get("projectId"),
        "added": f"{moment(found['createdAt'])} by {found.get('createdBy') or 'nobody'}",
        "delivered": f"{found['delivered']}, the last {found.get('lastDeliveredAt', 'never')}",
        "behind": found["behind"],
        "dead letters": found["deadLetters"],
        "missed": found["missed"] or None,
        "last error": found.get("lastError"),
    }
    context.out.line(found["id"])
    for name, value in facts.items():
        if value not in (None, ""):
            context.out.line(f"  {name:<14}{value}")
    return None


def remove(context: Context, args: Arguments) -> None:
    where = path("webhooks", args.need("webhook"))
    removed = context.client.delete(where, {"actor": actor(args, context.env)})
    context.out.json(removed) if args.flag("json") else context.out.line(removed["id"])


def pause(context: Context, args: Arguments) -> None:
    _change(context, args, "pause")


def resume(context: Context, args: Arguments) -> None:
    _change(context, args, "resume")


def rotate(context: Context, args: Arguments) -> None:
    made = _post(context, args, "rotate")
    context.out.json(made) if args.flag("json") else context.out.fields(made["webhook"]["id"], made["secret"])


def test(context: Context, args: Arguments) -> int:
    tried = _post(context, args, "test")
    if args.flag("json"):
        context.out.json(tried)
    else:
        context.out.line(_told(tried))
    return OK if tried["delivered"] else REFUSED


def dead_letters(context: Context, args: Arguments) -> None:
    found = context.client.get(path("webhooks", args.need("webhook"), "dead-letters"))
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["id"], moment(each["at"]), each["type"], each["thing"], each["attempts"], each["error"]) for each in found
    ]
    return context.out.table(["ID", "GIVEN UP", "TYPE", "THING", "ATTEMPTS", "ERROR"], rows)


def redeliver(context: Context, args: Arguments) -> int:
    letter = args.text("letter")
    parts = ["dead-letters", letter, "redeliver"] if letter else ["dead-letters", "redeliver"]
    done = _post(context, args, *parts)
    results = [done] if letter else done
    if args.flag("json"):
        context.out.json(done)
    else:
        for each in results:
            tried = each.get("attempt")
            context.out.fields(each["letter"]["id"], _told(tried) if tried else each["error"])
    failed = [each for each in results if not (each.get("attempt") or {}).get("delivered")]
    return REFUSED if failed else OK


def _change(context: Context, args: Arguments, what: str) -> None:
    changed = _post(context, args, what)
    context.out.json(changed) if args.flag("json") else context.out.fields(changed["id"], _state(changed))


def _post(context: Context, args: Arguments, *parts: str) -> Any:
    where = path("webhooks", args.need("webhook"), *parts)
    return context.client.post(where, {"actor": actor(args, context.env)}, timeout=_PATIENCE)


def _state(webhook: dict[str, Any]) -> str:
    if webhook["paused"]:
        return "paused"
    return f"failing ({webhook['attempts']})" if webhook.get("attempts") else "ok"


def _told(tried: dict[str, Any]) -> str:
    if tried["delivered"]:
        return f"delivered: {tried['status']} in {tried['milliseconds']} ms"
    return f"not delivered: {tried['error']}"


_ACTOR = "  --actor=<name>      In whose name; else $WHISK_ACTOR, else yours."

ADD = Command(
    words="webhook add",
    usage=f"""
Usage:
  whisk webhook add [options] [--types=<types>]... <address>

Prints the webhook's id and the secret that signs its requests. It is told of what happens from now on.

Options:
  --types=<types>     Only these, joined by commas or repeated: prompt.opened, prompt.closed, question.asked,
                      question.answered, gate.opened, gate.completed, status.reported, run.ended, mail.escalated,
                      artifact.drafted, item.blocked.
  --project=<id>      Only in this project.
  --secret=<text>     Use this secret, of at least 16 characters; - reads it from stdin, where nobody sees it.
{_ACTOR}

Examples:
  whisk webhook add http://127.0.0.1:9000/whisk
  whisk webhook add https://example.org/hook -types prompt.opened,run.ended
""",
    run=add,
)

LIST = Command(
    words="webhook list",
    usage="""
Usage:
  whisk webhook list [options]

Examples:
  whisk webhook list
""",
    run=list_webhooks,
)

SHOW = Command(
    words="webhook show",
    usage="""
Usage:
  whisk webhook show [options] <webhook>

Examples:
  whisk webhook show wh_01
""",
    run=show,
)


def _one(verb: str, about: str, run: Any) -> Command:
    return Command(
        words=f"webhook {verb}",
        usage=f"""
Usage:
  whisk webhook {verb} [options] <webhook>

{about}

Options:
{_ACTOR}

Examples:
  whisk webhook {verb} wh_01
""",
        run=run,
    )


REMOVE = _one("remove", "Its dead letters go with it.", remove)
PAUSE = _one("pause", "It keeps its place: what happens meanwhile is told later.", pause)
RESUME = _one("resume", "It goes on where it was.", resume)
ROTATE = _one("rotate", "Prints a new secret, which signs from now on.", rotate)
TEST = _one("test", "Sends one request that is no matter; exit code 1 when it is not taken.", test)

DEAD_LETTERS = Command(
    words="webhook dead-letters",
    usage="""
Usage:
  whisk webhook dead-letters [options] <webhook>

Examples:
  whisk webhook dead-letters wh_01
""",
    run=dead_letters,
)

REDELIVER = Command(
    words="webhook redeliver",
    usage=f"""
Usage:
  whisk webhook redeliver [options] <webhook> [<letter>]

Sends one dead letter again, or all of them in order until one fails. What is delivered is no dead letter any more.

Options:
{_ACTOR}

Examples:
  whisk webhook redeliver wh_01
""",
    run=redeliver,
)
