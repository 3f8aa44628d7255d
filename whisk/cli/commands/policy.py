"""`whisk policy …`: rules that allow, deny or ask without waiting for a person."""

from __future__ import annotations

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.person import actor

_EFFECTS = ("allow", "deny", "ask")


def add(context: Context, args: Arguments) -> None:
    effect = args.need("effect")
    if effect not in _EFFECTS:
        raise UsageError(f"the effect must be allow, deny or ask, not {effect!r}")
    body = {
        "effect": effect,
        "rule": args.need("rule"),
        "provider": args.text("provider") or "",
        "projectId": args.text("project") or "",
        "reason": args.text("reason") or "",
        "actor": actor(args, context.env),
    }
    added = context.client.post("/v1/policies", body)
    context.out.json(added) if args.flag("json") else context.out.fields(added["id"], added["effect"], added["rule"])


def list_policies(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/policies")
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (each["id"], each["effect"], each["rule"], each.get("provider"), each.get("projectId"), each.get("reason"))
        for each in found
    ]
    return context.out.table(["ID", "EFFECT", "RULE", "PROVIDER", "PROJECT", "REASON"], rows, flexible=["REASON"])


def remove(context: Context, args: Arguments) -> None:
    removed = context.client.delete(path("policies", args.need("policy")), {"actor": actor(args, context.env)})
    context.out.json(removed) if args.flag("json") else context.out.line(removed["id"])


ADD = Command(
    words="policy add",
    usage="""
Usage:
  whisk policy add [options] <effect> <rule>

A rule is a tool (Bash), a tool with a glob for what it would do (Bash(git status *), Read(src/**),
WebFetch(domain:example.org)) or the tools of an MCP server (mcp__github__*). Deny beats ask, ask beats allow. An
allowing glob never matches a command line that holds a second command; a denying one is tried against each command in
it. A path lies below the folder the agent works in, unless it begins with / or **; a denying name without a folder
(Read(*.pem)) means files of that name everywhere.

Options:
  --provider=<name>   Only for this agent: claude or codex.
  --project=<id>      Only in this project.
  --reason=<text>     What the agent reads when the rule denies.
  --actor=<name>      In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk policy add allow "Bash(git status *)"
  whisk policy add deny "Bash(rm *)" -reason "use trash"
  whisk policy add ask "mcp__github__*" -provider claude
""",
    run=add,
)

LIST = Command(
    words="policy list",
    usage="""
Usage:
  whisk policy list [options]

Examples:
  whisk policy list
""",
    run=list_policies,
)

REMOVE = Command(
    words="policy remove",
    usage="""
Usage:
  whisk policy remove [options] <policy>

Options:
  --actor=<name>      In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk policy remove pol_01
""",
    run=remove,
)
