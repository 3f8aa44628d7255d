"""`whisk notify …`: notices to a person's phone or screen."""

from __future__ import annotations

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import OK, REFUSED

_PATIENCE = 190.0


def status(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/notify", timeout=_PATIENCE)
    if args.flag("json"):
        return context.out.json(found)
    if not found["enabled"]:
        context.out.line("nobody is notified: put addresses into `urls` of [notify] in the settings")
    if not found["installed"]:
        context.out.line("apprise is not installed: pip install 'whisk[notify]'")
    for target in found["targets"]:
        context.out.line(f"{target['url']}: {target.get('error') or 'ok'}")
    if found["enabled"]:
        counts = [f"{name} {found.get(name, 0)}" for name in ("sent", "withdrawn", "failed", "waiting")]
        context.out.line(", ".join(counts) + (", quiet now" if found.get("quiet") else ""))
    return None


def test(context: Context, args: Arguments) -> int:
    results = context.client.post("/v1/notify/test", timeout=_PATIENCE)
    if args.flag("json"):
        context.out.json(results)
    else:
        for each in results:
            context.out.fields(each["target"], "sent" if each["delivered"] else each["error"])
    return OK if all(each["delivered"] for each in results) else REFUSED


STATUS = Command(
    words="notify status",
    usage="""
Usage:
  whisk notify status [options]

Examples:
  whisk notify status
""",
    run=status,
)

TEST = Command(
    words="notify test",
    usage="""
Usage:
  whisk notify test [options]

Sends one notice to every address in the settings; exit code 1 when one of them does not take it.

Examples:
  whisk notify test
""",
    run=test,
)
