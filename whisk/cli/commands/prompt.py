"""`whisk prompt …`: what agents wait for, and a person's answers."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.commands.prompt_text import describe
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.person import actor


def list_prompts(context: Context, args: Arguments) -> None:
    found = context.client.get(
        "/v1/agent-prompts", {"status": args.text("status") or "", "limit": args.number("limit")}
    )
    if args.flag("json"):
        return context.out.json(found)
    columns = {"ID": "id", "KIND": "kind", "PROVIDER": "provider", "OUTCOME": "outcome", "MESSAGE": "message"}
    if args.text("status") == "pending":
        del columns["OUTCOME"]
    return context.out.table(list(columns), [[each[name] for name in columns.values()] for each in found])


def show(context: Context, args: Arguments) -> None:
    prompt = context.client.get(path("agent-prompts", args.need("prompt")))
    if args.flag("json"):
        return context.out.json(prompt)
    return context.out.line(describe(prompt))


def resolve(context: Context, args: Arguments) -> None:
    body = _who(context, args) | _answer(context, args)
    answers = body.get("answers", [body.get("answer")])
    if args.given("answer") and any(_numbers(text) for text in answers):
        prompt = context.client.get(path("agent-prompts", args.need("prompt")))
        body = {name: value for name, value in body.items() if name != "answer"}
        body["answers"] = _by_number(prompt.get("questions", []), answers)
    _print(context, args, context.client.post(path("agent-prompts", args.need("prompt"), "resolve"), body, timeout=30))


def release(context: Context, args: Arguments) -> None:
    body = _who(context, args) | {"reason": args.text("reason") or ""}
    _print(context, args, context.client.post(path("agent-prompts", args.need("prompt"), "release"), body))


def _who(context: Context, args: Arguments) -> dict[str, Any]:
    return {"actor": actor(args, context.env), "ptyId": context.env.get("WHISK_PTY_ID", "")}


def _answer(context: Context, args: Arguments) -> dict[str, Any]:
    """What the options say; exactly one kind of answer."""
    kinds = [name for name in ("answer", "answers-json", "deny", "action", "input-json") if args.given(name)]
    if len(kinds) != 1:
        given = " and ".join(f"-{name}" for name in kinds) or "none"
        raise UsageError(f"give one of -answer, -answers-json, -deny, -action and -input-json; given: {given}")
    reason = {"reason": args.text("reason") or ""}
    match kinds[0]:
        case "answer":
            answers = [context.read_stdin().removesuffix("\n") if text == "-" else text for text in args.many("answer")]
            return reason | ({"answer": answers[0]} if len(answers) == 1 else {"answers": answers})
        case "answers-json":
            return reason | {"answers": _json(context, args, "answers-json", list | dict, "a list or an object")}
        case "input-json":
            return reason | {"updatedInput": _json(context, args, "input-json", dict, "an object")}
        case "deny":
            return reason | {"action": "deny"}
        case _:
            return reason | {"action": args.need("action")}


def _numbers(text: str) -> list[int]:
    """`2` or `1, 3` as numbers; empty for anything else."""
    parts = [part.strip() for part in text.split(",")]
    return [int(part) for part in parts] if all(re.fullmatch("[0-9]{1,3}", part) for part in parts) else []


def _by_number(questions: list[dict[str, Any]], answers: list[Any]) -> list[Any]:
    """`answers` with the numbers of options, as `prompt show` counts them, in place of texts that are such numbers."""
    found = list(answers)
    for at, (question, text) in enumerate(zip(questions, answers, strict=False)):
        numbers, labels = _numbers(text), [option["label"] for option in question["options"]]
        if text in labels or not all(1 <= number <= len(labels) for number in numbers):
            continue
        if not numbers or (len(numbers) > 1 and not question["multiSelect"]):
            continue
        meant = numbers if question["multiSelect"] else numbers[0]
        if any(label[:1].isdigit() for label in labels):
            exact = [json.dumps([*found[:at], each, *found[at + 1 :]]) for each in (meant, text)]
            raise UsageError(
                f"is {text!r} an option's number or the answer to {question['question']!r}? For the number give "
                f"-answers-json {shlex.quote(exact[0])}, for the text -answers-json {shlex.quote(exact[1])}"
            )
        found[at] = meant
    return found


def _json(context: Context, args: Arguments, name: str, kind: Any, wanted: str) -> Any:
    text = args.need(name)
    try:
        value = json.loads(context.read_stdin() if text == "-" else text)
    except ValueError as error:
        raise UsageError(f"-{name} is not JSON: {error}") from None
    if not isinstance(value, kind):
        raise UsageError(f"-{name} must be {wanted}, not {type(value).__name__}")
    return value


def _print(context: Context, args: Arguments, prompt: dict[str, Any]) -> None:
    if args.flag("json"):
        return context.out.json(prompt)
    return context.out.fields(prompt["id"], prompt["status"], prompt.get("answer") or prompt["outcome"])


LIST = Command(
    words="prompt list",
    usage="""
Usage:
  whisk prompt list [options]

Options:
  --status=<status>   Which: a status (pending, resolved, timed_out, cancelled) or an outcome (answered, denied,
                      withdrawn, released, orphaned), or several joined by commas; "" for all. [default: pending]
  --limit=<count>     At most so many, the newest. [default: 1000]

Examples:
  whisk prompt list
  whisk prompt list -status answered,denied -limit 20
""",
    run=list_prompts,
)

SHOW = Command(
    words="prompt show",
    usage="""
Usage:
  whisk prompt show [options] <prompt>

Examples:
  whisk prompt show prompt_01
""",
    run=show,
)

RESOLVE = Command(
    words="prompt resolve",
    usage="""
Usage:
  whisk prompt resolve [options] [--answer=<text>]... <prompt>

Options:
  --answer=<text>         An answer; one for each question, in order: a label, its number, or any other text. Several
                          choices of one question are joined by ", ". An approval takes allow or deny, a form one
                          text for each field. - reads stdin.
  --answers-json=<json>   Any answer exactly: a list with a text, an option's number or a list of these for each
                          question, or an object by question text; for a form its content. - reads stdin.
  --deny                  Refuse; the agent reads the reason.
  --reason=<text>         The reason of a denial.
  --action=<word>         allow, deny, ask, accept, decline or cancel, where the prompt takes it.
  --input-json=<json>     Allow, but with this input in place of the call's own. - reads stdin.
  --actor=<name>          In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk prompt resolve prompt_01 -answer Python
  whisk prompt resolve prompt_01 -answer Blue -answer "Cheese, Olives"
  whisk prompt resolve prompt_01 -answers-json '[2, [1, 3]]'
  whisk prompt resolve appr_01 -answer allow
  whisk prompt resolve appr_01 -deny -reason "not on main"
  whisk prompt resolve appr_01 -input-json '{"command": "git push origin feature"}'
""",
    run=resolve,
)

RELEASE = Command(
    words="prompt release",
    usage="""
Usage:
  whisk prompt release [options] <prompt>

Options:
  --reason=<text>   Why, for the record.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk prompt release prompt_01
""",
    run=release,
)
