"""`whisk mail …`: durable messages between agents, and from and to the people who run them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.commands.mail_check import CHECK
from whisk.cli.commands.mail_text import letters, table, whole
from whisk.cli.context import Context
from whisk.cli.failure import UsageError

_SENDERS = (("pty", "WHISK_PTY_ID"), ("run", "WHISK_RUN_ID"), ("session", "WHISK_SESSION_ID"))


def send(context: Context, args: Arguments) -> None:
    to = args.csv("to")
    if not to:
        raise UsageError("-to is required")
    body = {
        "from": _sender(context, args),
        "to": to,
        "type": args.need("type"),
        "subject": args.text("subject"),
        "threadId": args.text("thread"),
        "replyToId": args.text("reply-to"),
        "projectId": args.text("project", "WHISK_PROJECT_ID", "WHISK_PROJECT"),
        "workItemId": args.text("work-item", "WHISK_WORK_ITEM_ID"),
        "runId": args.text("run", "WHISK_RUN_ID"),
        "sessionId": args.text("session", "WHISK_SESSION_ID"),
        "ptyId": args.text("pty", "WHISK_PTY_ID"),
        "dispatchId": args.text("dispatch", "WHISK_DISPATCH_ID"),
        **_content(context, args),
    }
    _sent(context, args, context.client.post("/v1/mail", body, timeout=35))


def reply(context: Context, args: Arguments) -> None:
    body = {
        "from": _sender(context, args),
        "type": args.text("type"),
        "subject": args.text("subject"),
        **_content(context, args),
    }
    _sent(context, args, context.client.post(path("mail", args.need("mail"), "reply"), body, timeout=35))


def read(context: Context, args: Arguments) -> None:
    """Inside a terminal only this reader's row is marked; outside, with no -to, all of them."""
    to = args.text("to") or _own_address(context.env)
    message = context.client.post(path("mail", args.need("mail"), "read"), {"to": to} if to else {})
    context.out.json(message) if args.flag("json") else context.out.line(whole(message))


def list_mail(context: Context, args: Arguments) -> None:
    _show_list(context, args, context.client.get("/v1/mail", _filter(args), timeout=35))


def search(context: Context, args: Arguments) -> None:
    query = {"q": " ".join(args.many("text")), **_filter(args)}
    _show_list(context, args, context.client.get("/v1/mail/search", query, timeout=35))


def thread(context: Context, args: Arguments) -> None:
    messages = context.client.get(path("mail", args.need("mail"), "thread"))
    context.out.json(messages) if args.flag("json") else context.out.line(letters(messages))


def _filter(args: Arguments) -> dict[str, object]:
    return {
        "to": args.csv("to"),
        "unread": args.flag("unread") or None,
        "types": args.csv("types"),
        "projectId": args.text("project"),
        "workItemId": args.text("work-item"),
        "runId": args.text("run"),
        "threadId": args.text("thread"),
        "before": args.text("before"),
        "after": args.text("after"),
        "limit": args.number("limit"),
    }


def _show_list(context: Context, args: Arguments, messages: list[dict[str, Any]]) -> None:
    context.out.json(messages) if args.flag("json") else table(context.out, messages)


def _sent(context: Context, args: Arguments, message: dict[str, Any]) -> None:
    for warning in message.get("warnings", ()):
        context.out.note(f"warning: {warning}")
    context.out.json(message) if args.flag("json") else table(context.out, [message])


def _sender(context: Context, args: Arguments) -> str:
    sender = args.text("from") or _own_address(context.env)
    if not sender:
        raise UsageError("mail sender required; run inside a Whisk PTY or pass -from")
    return sender


def _own_address(env: Mapping[str, str]) -> str | None:
    return next((f"{kind}:{env[name]}" for kind, name in _SENDERS if env.get(name)), None)


def _content(context: Context, args: Arguments) -> dict[str, Any]:
    """What `send` and `reply` share; None is left out by the daemon like an absent field."""
    content: dict[str, Any] = {
        "priority": args.text("priority"),
        "body": _body(args),
        "idempotencyKey": args.text("key"),
        "strict": args.flag("strict"),
    }
    text = args.text("payload-json")
    if text is not None:
        import json

        try:
            content["payload"] = json.loads(text)
        except ValueError as error:
            raise UsageError(f"payload-json must be valid JSON: {error}") from None
    return content


def _body(args: Arguments) -> str | None:
    name = args.text("body-file")
    if name is None:
        return args.text("body")
    if args.given("body"):
        raise UsageError("use either -body or -body-file, not both")
    try:
        # As bytes, so that neither line ends nor a byte order mark are touched.
        with open(0 if name == "-" else name, "rb", closefd=name != "-") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"-body-file {os.fsdecode(name)}: {error.strerror}") from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"-body-file {name} is not UTF-8 text (byte {error.start})") from None


_CONTENT = """  --priority=<p>          low, normal, high or urgent. [default: normal]
  --body=<text>           The body; it may begin with a dash.
  --body-file=<path>      The body as this file has it; - reads stdin.
  --payload-json=<json>   Data for programs, beside the body.
  --key=<text>            Idempotency key: the same again stores nothing and gets the first message.
  --strict                Refuse, instead of keeping, mail for an address that nobody has heard of."""

_FILTER = """  --to=<addresses>    Mail for any of these, as kind:id, joined by commas or repeated.
  --unread            Only what is unread: by those of -to, or by anybody.
  --types=<types>     Only these types, joined by commas. Heartbeats are listed only when named.
  --project=<id>      Only mail about this project.
  --work-item=<id>    Only mail about this work item.
  --run=<id>          Only mail about this run.
  --thread=<id>       Only this thread; any message of it will do.
  --before=<id>       Only what was stored before this message.
  --after=<id>        Only what was stored after this message."""

SEND = Command(
    words="mail send",
    usage=f"""
Usage:
  whisk mail send [options] [--to=<addresses>]... --type=<type>

Options:
  --to=<addresses>        Recipients, joined by commas or repeated: pty:, run:, session:, work-item:, project: and an
                          id, or @project:, @work-item:, @idle: for whoever works there now.
  --type=<type>           status, dispatch, worker_done, escalation, handoff, decision_gate or heartbeat.
  --subject=<text>        One line; only a heartbeat needs none.
{_CONTENT}
  --from=<address>        The sender; else this terminal, its run, or its session.
  --thread=<id>           Put it into this thread.
  --reply-to=<id>         The message that this one answers.
  --project=<id>          What it is about; else $WHISK_PROJECT_ID.
  --work-item=<id>        What it is about; else $WHISK_WORK_ITEM_ID.
  --run=<id>              What it is about; else $WHISK_RUN_ID.
  --session=<id>          What it is about; else $WHISK_SESSION_ID.
  --pty=<id>              What it is about; else $WHISK_PTY_ID.
  --dispatch=<id>         The dispatch it belongs to; else $WHISK_DISPATCH_ID.

Examples:
  whisk mail send -to run:run_01 -type dispatch -subject "Implement task" -body "- keep the old flag"
  whisk mail send -to @project:proj_01 -type status -subject "Main is red" -body-file notes.md -key main-red-7
""",
    run=send,
)

REPLY = Command(
    words="mail reply",
    usage=f"""
Usage:
  whisk mail reply [options] <mail>

Options:
  --type=<type>           Its type. [default: status]
  --subject=<text>        Its subject; else the original's, with `Re:`.
{_CONTENT}
  --from=<address>        The sender; else this terminal, its run, or its session.

Examples:
  whisk mail reply mail_01 -body "Done" -json
""",
    run=reply,
)

READ = Command(
    words="mail read",
    usage="""
Usage:
  whisk mail read [options] <mail>

Options:
  --to=<address>    The recipient that has read it; else this terminal, its run, or its session; else all.

Examples:
  whisk mail read mail_01 -to run:run_01
""",
    run=read,
)

LIST = Command(
    words="mail list",
    usage=f"""
Usage:
  whisk mail list [options] [--to=<addresses>]...

Options:
{_FILTER}
  --limit=<n>         At most so many, the newest; 0 means all. [default: 0]

Examples:
  whisk mail list -to run:run_01 -unread
  whisk mail list -project proj_01 -types worker_done -limit 20
""",
    run=list_mail,
)

SEARCH = Command(
    words="mail search",
    usage=f"""
Usage:
  whisk mail search [options] [--to=<addresses>]... [<text>...]

Any text will do; a message is found when it holds every word, or a longer one that begins so.

Options:
{_FILTER}
  --limit=<n>         At most so many, the newest; 0 means all. [default: 50]

Examples:
  whisk mail search POL-358 staging
  whisk mail search -unread -- "--force"
""",
    run=search,
)

THREAD = Command(
    words="mail thread",
    usage="""
Usage:
  whisk mail thread [options] <mail>

Examples:
  whisk mail thread mail_01
""",
    run=thread,
)

__all__ = ["CHECK", "LIST", "READ", "REPLY", "SEARCH", "SEND", "THREAD"]
