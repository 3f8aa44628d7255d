"""`whisk run …`."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.moment import moment
from whisk.cli.person import actor

# Starting an agent means starting its terminal; on a loaded machine that takes longer than a look-up.
LAUNCH_SECONDS = 60.0


def list_runs(context: Context, args: Arguments) -> None:
    found = context.client.get("/v1/work-item-runs", {"workItemId": args.text("work-item")})
    if args.flag("json"):
        return context.out.json(found)
    rows = [
        (
            each["id"],
            each["workItemId"],
            each["status"],
            each["preset"],
            each["promptTemplateId"],
            each.get("sessionId"),
            each.get("ptyId"),
        )
        for each in found
    ]
    return context.out.table(["ID", "WORK_ITEM", "STATUS", "PRESET", "TEMPLATE", "SESSION", "PTY"], rows)


def start(context: Context, args: Arguments) -> None:
    body = {
        "workItemId": args.need("work-item", "WHISK_WORK_ITEM_ID"),
        "preset": args.text("preset") or "",
        "promptTemplateId": args.text("template") or "",
        "sessionId": args.text("session") or "",
        "ptyId": args.text("pty") or "",
        "launch": args.flag("launch"),
        "agentProfileId": args.text("agent-profile", "WHISK_AGENT_PROFILE") or "",
        "systemPrompt": args.text("system-prompt") or "",
        "actor": actor(args, context.env),
    }
    print_run(context, args, context.client.post("/v1/work-item-runs", body, timeout=LAUNCH_SECONDS))


def cancel(context: Context, args: Arguments) -> None:
    body = {"actor": actor(args, context.env)}
    print_run(context, args, context.client.post(path("work-item-runs", args.need("run"), "cancel"), body))


def launch(context: Context, args: Arguments) -> None:
    body = {
        "agentProfileId": args.text("agent-profile") or "",
        "systemPrompt": args.text("system-prompt") or "",
        "worktreeOverridePath": args.text("worktree") or "",
        "actor": actor(args, context.env),
    }
    route = path("work-item-runs", args.need("run"), "launch")
    print_run(context, args, context.client.post(route, body, timeout=LAUNCH_SECONDS))


def show(context: Context, args: Arguments) -> None:
    run = context.client.get(path("work-item-runs", args.need("run")))
    if args.flag("json"):
        return context.out.json(run)
    facts = {
        "run": run["id"],
        "status": run["status"] + (f" (exit code {run['exitCode']})" if "exitCode" in run else ""),
        "work item": run["workItemId"],
        "preset": f"{run['preset']}, prompt template {run['promptTemplateId']}",
        "agent": run.get("agentProfileId"),
        "session": run.get("sessionId"),
        "terminal": run.get("ptyId"),
    }
    for name, value in facts.items():
        if value:
            context.out.line(f"{name:<10} {value}")
    context.out.line()
    rows = [(moment(each["at"]), each["type"], each.get("actor"), each.get("message")) for each in run["history"]]
    return context.out.table(["AT", "EVENT", "BY", "MESSAGE"], rows)


def print_run(context: Context, args: Arguments, run: dict[str, Any]) -> None:
    if args.flag("json"):
        return context.out.json(run)
    return context.out.fields(run["id"], run["status"], run["preset"], run.get("sessionId"), run.get("ptyId"))


LIST = Command(
    words="run list",
    usage="""
Usage:
  whisk run list [options]

Options:
  --work-item=<id>  Only this work item's runs.

Examples:
  whisk run list
  whisk run list -work-item item_01 -json
""",
    run=list_runs,
)

START = Command(
    words="run start",
    usage="""
Usage:
  whisk run start [options]

Options:
  --work-item=<id>        The work item; else $WHISK_WORK_ITEM_ID.
  --agent-profile=<id>    The agent; else $WHISK_AGENT_PROFILE, the project's, or the preset's own.
  --preset=<preset>       reader, writer, reviewer or manager; else the stage's.
  --template=<id>         Prompt template: plan, implement or review; else the stage's.
  --system-prompt=<text>  Added to the agent's own system prompt, where it has one.
  --launch                Start the agent now; -launch=false leaves the run in the queue. [default: true]
  --session=<id>          With -launch=false: the session it belongs to.
  --pty=<id>              With -launch=false: the terminal it belongs to.
  --actor=<name>          In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk run start -work-item item_01 -agent-profile claude
  whisk run start -work-item item_01 -launch=false -json
""",
    run=start,
)

CANCEL = Command(
    words="run cancel",
    usage="""
Usage:
  whisk run cancel [options] <run>

Options:
  --actor=<name>  In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk run cancel run_01
""",
    run=cancel,
)

LAUNCH = Command(
    words="run launch",
    usage="""
Usage:
  whisk run launch [options] <run>

Options:
  --agent-profile=<id>    The agent; else the one it was queued with, the project's, or the preset's own.
  --system-prompt=<text>  Added to the agent's own system prompt, where it has one.
  --worktree=<path>       Work in this folder.
  --actor=<name>          In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk run launch run_01 -agent-profile claude
""",
    run=launch,
)

SHOW = Command(
    words="run show",
    usage="""
Usage:
  whisk run show [options] <run>

Examples:
  whisk run show run_01
""",
    run=show,
)
