"""`whisk question …`: what an agent asks when its provider has no hook for it."""

from __future__ import annotations

import time
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import Waiting, path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, REFUSED, RefusedError, UnreachableError, UsageError
from whisk.cli.person import actor

_WAIT_SECONDS = 600.0
_REMIND_SECONDS = 15.0
# One request waits at most this long, so that a dead connection is noticed now and then.
_LEG_SECONDS = 300.0
_RETRY_SECONDS = 0.5


def ask(context: Context, args: Arguments) -> int:
    prompt = args.need("prompt")
    run = args.text("run", "WHISK_RUN_ID")
    item = args.text("work-item", "WHISK_WORK_ITEM_ID")
    if not run and not item:
        raise UsageError("-work-item is required, or set WHISK_WORK_ITEM_ID or WHISK_RUN_ID")
    seconds = _seconds(args)
    body = {
        "prompt": context.read_stdin() if prompt == "-" else prompt,
        "workItemId": item or "",
        "runId": run or "",
        "sessionId": context.env.get("WHISK_SESSION_ID", ""),
        "ptyId": context.env.get("WHISK_PTY_ID", ""),
        "actor": actor(args, context.env),
    }
    asked = context.client.post("/v1/questions", body)
    if args.flag("wait"):
        return _await_answer(context, args, asked, seconds)
    context.out.json(asked) if args.flag("json") else context.out.fields(asked["id"], asked["status"])
    return OK


def wait(context: Context, args: Arguments) -> int:
    return _await_answer(context, args, {"id": args.need("question")}, _seconds(args))


def list_questions(context: Context, args: Arguments) -> None:
    query = {"workItemId": args.text("work-item", "WHISK_WORK_ITEM_ID"), "status": args.text("status")}
    found = context.client.get("/v1/questions", query)
    if args.flag("json"):
        return context.out.json(found)
    rows = [(each["id"], each["workItemId"], each["status"], each["prompt"], each.get("answer")) for each in found]
    return context.out.table(["ID", "WORK_ITEM", "STATUS", "PROMPT", "ANSWER"], rows, flexible=["PROMPT", "ANSWER"])


def answer(context: Context, args: Arguments) -> None:
    text = args.need("answer")
    body = {
        "answer": context.read_stdin() if text == "-" else text,
        "actor": actor(args, context.env),
    }
    answered = context.client.post(path("questions", args.need("question"), "answer"), body)
    if args.flag("json"):
        return context.out.json(answered)
    return context.out.fields(answered["id"], answered["status"], answered["answer"])


def _await_answer(context: Context, args: Arguments, question: dict[str, Any], seconds: float) -> int:
    """Print the answer, and nothing else, on stdout. A daemon that restarts meanwhile is waited for as well."""
    deadline = time.monotonic() + seconds
    reminder = Waiting(_REMIND_SECONDS, lambda: context.out.note("waiting for an answer..."))
    route = path("questions", question["id"], "wait")
    while (left := deadline - time.monotonic()) > 0 and question.get("status") != "answered":
        leg = min(left, _LEG_SECONDS)
        try:
            question = context.client.get(
                route, {"timeoutMs": max(1, round(leg * 1000))}, timeout=leg + 10, waiting=reminder
            )
        except (UnreachableError, RefusedError) as error:
            # A daemon that stops says 503, one that is not up yet nothing at all; its successor knows the question.
            gone = isinstance(error, UnreachableError) or error.status == 503
            if not gone or deadline - time.monotonic() < _RETRY_SECONDS:
                raise
            _pause()
    answered = question.get("status") == "answered"
    if args.flag("json"):
        context.out.json(question)
    elif answered:
        context.out.line(question["answer"])
    if not answered:
        context.out.note(f"no answer yet; go on waiting with: whisk question wait {question['id']}")
    return OK if answered else REFUSED


def _pause() -> None:
    import select

    select.select([], [], [], _RETRY_SECONDS)


def _seconds(args: Arguments) -> float:
    seconds = args.seconds("timeout", _WAIT_SECONDS)
    return _WAIT_SECONDS if seconds is None else seconds


ASK = Command(
    words="question ask",
    usage="""
Usage:
  whisk question ask [options]

Options:
  --prompt=<text>     The question; - reads it from stdin.
  --wait              Block until it is answered and print the answer alone.
  --timeout=<time>    With -wait: give up after this, with exit code 1. [default: 10m]
  --work-item=<id>    What it is about; else $WHISK_WORK_ITEM_ID, else the run's.
  --run=<id>          Who asks; else $WHISK_RUN_ID.
  --actor=<name>      In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk question ask -prompt "Postgres or SQLite?" -wait
  whisk question ask -prompt "Postgres or SQLite?" -json
""",
    run=ask,
)

WAIT = Command(
    words="question wait",
    usage="""
Usage:
  whisk question wait [options] <question>

Options:
  --timeout=<time>    Give up after this, with exit code 1. [default: 10m]

Examples:
  whisk question wait q_01 -timeout 90s
""",
    run=wait,
)

LIST = Command(
    words="question list",
    usage="""
Usage:
  whisk question list [options]

Options:
  --work-item=<id>    Only this work item's; else $WHISK_WORK_ITEM_ID's, else all.
  --status=<status>   Only open or only answered ones.
  --actor=<name>      Taken as everywhere; to look is nobody's act.

Examples:
  whisk question list
  whisk question list -status open -json
""",
    run=list_questions,
)

ANSWER = Command(
    words="question answer",
    usage="""
Usage:
  whisk question answer [options] <question>

Options:
  --answer=<text>   The answer; - reads it from stdin.
  --work-item=<id>  Taken as everywhere; the question knows its work item.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk question answer q_01 -answer "SQLite"
""",
    run=answer,
)
