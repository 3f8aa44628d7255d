"""The named steps of `whisk workflow`: from `start-planning` to `approve-done`."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.commands.run import LAUNCH_SECONDS, print_run
from whisk.cli.commands.workflow import ITEM_ENV, print_item
from whisk.cli.context import Context
from whisk.cli.person import actor


def start_planning(context: Context, args: Arguments) -> None:
    _start(context, args, "start-planning", {})


def start_execution(context: Context, args: Arguments) -> None:
    _start(context, args, "start-execution", {"worktreeOverridePath": args.text("worktree") or ""})


def submit_plan(context: Context, args: Arguments) -> None:
    said = {"runId": args.text("run", "WHISK_RUN_ID") or "", "title": args.text("title"), "body": _body(context, args)}
    _print_artifact(context, args, _post(context, args, "plan-drafts", said))


def approve_plan(context: Context, args: Arguments) -> None:
    print_item(context, args, _post(context, args, "approve-plan", {"artifactId": args.need("artifact")}))


def complete_execution(context: Context, args: Arguments) -> None:
    said = {"message": args.text("message") or "", "actor": actor(args, context.env)}
    route = path("work-item-runs", args.need("run", "WHISK_RUN_ID"), "complete-execution")
    print_item(context, args, context.client.post(route, said))


def feedback(context: Context, args: Arguments) -> None:
    said = {"runId": args.text("run") or "", "body": _body(context, args)}
    _print_artifact(context, args, _post(context, args, "review-feedback", said))


def approve_done(context: Context, args: Arguments) -> None:
    print_item(context, args, _post(context, args, "approve-done", {"reason": args.text("reason") or ""}))


def _post(context: Context, args: Arguments, step: str, said: dict[str, Any], timeout: float = 5.0) -> dict[str, Any]:
    route = path("work-items", args.need("work-item", ITEM_ENV), step)
    body = {**said, "actor": actor(args, context.env)}
    answer: dict[str, Any] = context.client.post(route, body, timeout=timeout)
    return answer


def _start(context: Context, args: Arguments, step: str, more: dict[str, str]) -> None:
    said = {
        "sessionId": args.text("session") or "",
        "ptyId": args.text("pty") or "",
        "launch": args.flag("launch"),
        "agentProfileId": args.text("agent-profile", "WHISK_AGENT_PROFILE") or "",
        "systemPrompt": args.text("system-prompt") or "",
        **more,
    }
    print_run(context, args, _post(context, args, step, said, timeout=LAUNCH_SECONDS))


def _body(context: Context, args: Arguments) -> str:
    text = args.need("body")
    return context.read_stdin() if text == "-" else text


def _print_artifact(context: Context, args: Arguments, artifact: dict[str, Any]) -> None:
    if args.flag("json"):
        return context.out.json(artifact)
    return context.out.fields(artifact["id"], artifact["workItemId"], artifact["kind"], artifact["status"])


START_PLANNING = Command(
    words="workflow start-planning",
    usage="""
Usage:
  whisk workflow start-planning [options]

Options:
  --work-item=<id>        The work item; else $WHISK_WORK_ITEM_ID.
  --launch                Start the agent now; else the run waits in the queue.
  --agent-profile=<id>    The agent; else $WHISK_AGENT_PROFILE, the project's, or claude-plan.
  --system-prompt=<text>  Added to the agent's own system prompt, where it has one.
  --session=<id>          Without -launch: the session in which somebody plans.
  --pty=<id>              Without -launch: the terminal in which somebody plans.
  --actor=<name>          In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk workflow start-planning -work-item item_01 -launch
  whisk workflow start-planning -work-item item_01 -json
""",
    run=start_planning,
)

SUBMIT_PLAN = Command(
    words="workflow submit-plan",
    usage="""
Usage:
  whisk workflow submit-plan [options]

Options:
  --body=<text>      The plan; - reads it from stdin.
  --title=<text>     Its title. [default: Plan]
  --run=<id>         The planning run; else $WHISK_RUN_ID. It is completed by this.
  --work-item=<id>   The work item; else $WHISK_WORK_ITEM_ID.
  --actor=<name>     In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk workflow submit-plan -body "1. Test. 2. Fix."
  whisk workflow submit-plan -work-item item_01 -body - < plan.md
""",
    run=submit_plan,
)

APPROVE_PLAN = Command(
    words="workflow approve-plan",
    usage="""
Usage:
  whisk workflow approve-plan [options]

Options:
  --artifact=<id>    The plan.
  --work-item=<id>   The work item; else $WHISK_WORK_ITEM_ID.
  --actor=<name>     In whose name; else $WHISK_ACTOR, else yours. An agent is refused.

Examples:
  whisk workflow approve-plan -work-item item_01 -artifact art_01
""",
    run=approve_plan,
)

START_EXECUTION = Command(
    words="workflow start-execution",
    usage="""
Usage:
  whisk workflow start-execution [options]

Options:
  --work-item=<id>        The work item; else $WHISK_WORK_ITEM_ID.
  --launch                Start the agent now; else the run waits in the queue.
  --agent-profile=<id>    The agent; else $WHISK_AGENT_PROFILE, the project's, or claude.
  --system-prompt=<text>  Added to the agent's own system prompt, where it has one.
  --worktree=<path>       With -launch: work in this folder.
  --session=<id>          Without -launch: the session in which somebody works.
  --pty=<id>              Without -launch: the terminal in which somebody works.
  --actor=<name>          In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk workflow start-execution -work-item item_01 -launch -agent-profile codex
""",
    run=start_execution,
)

COMPLETE_EXECUTION = Command(
    words="workflow complete-execution",
    usage="""
Usage:
  whisk workflow complete-execution [options]

Options:
  --run=<id>         The run that did the work; else $WHISK_RUN_ID.
  --message=<text>   What was done.
  --work-item=<id>   Accepted for symmetry; the run knows its work item.
  --actor=<name>     In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk workflow complete-execution -message "fixed, with a test"
  whisk workflow complete-execution -run run_01
""",
    run=complete_execution,
)

FEEDBACK = Command(
    words="workflow feedback",
    usage="""
Usage:
  whisk workflow feedback [options]

Options:
  --body=<text>      What is to be done better; - reads it from stdin.
  --run=<id>         The run that goes on; else the newest that executed.
  --work-item=<id>   The work item; else $WHISK_WORK_ITEM_ID.
  --actor=<name>     In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk workflow feedback -work-item item_01 -body "handle the empty file too"
""",
    run=feedback,
)

APPROVE_DONE = Command(
    words="workflow approve-done",
    usage="""
Usage:
  whisk workflow approve-done [options]

Options:
  --reason=<text>    Why.
  --work-item=<id>   The work item; else $WHISK_WORK_ITEM_ID.
  --actor=<name>     In whose name; else $WHISK_ACTOR, else yours. An agent is refused.

Examples:
  whisk workflow approve-done -work-item item_01
""",
    run=approve_done,
)
