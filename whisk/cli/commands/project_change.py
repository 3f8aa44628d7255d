"""`whisk project update|delete|set-workflow|migration-plan`."""

from __future__ import annotations

from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.commands.definition import split_definition
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.person import actor

_SWITCHES = {"login-shell": "useInteractiveAgentShell", "complete-runs-on-stop": "completeRunsOnStop"}
# Everybody who works for the project ends first.
_DELETE_SECONDS = 35.0


def update(context: Context, args: Arguments) -> None:
    body: dict[str, Any] = {
        name: args.text(name) for name in ("name", "description", "slug") if args.text(name) is not None
    }
    body |= {field: switch(args, name) for name, field in _SWITCHES.items() if args.given(name)}
    if agents := args.csv("agent"):
        body["defaultPhaseAgents"] = dict(_pair(each) for each in agents)
    if not body:
        raise UsageError("say what is to change: -name, -description, -slug, -agent, -login-shell, …")
    _print(context, args, context.client.post(path("projects", args.need("project"), "update"), body))


def delete(context: Context, args: Arguments) -> None:
    if not args.flag("yes"):
        raise UsageError("project delete requires -yes: its work items go with it")
    body = {"actor": actor(args, context.env)}
    where = path("projects", args.need("project"), "delete")
    _print(context, args, context.client.post(where, body, timeout=_DELETE_SECONDS))


def set_workflow(context: Context, args: Arguments) -> None:
    where = path("projects", args.need("project"), "workflow-definition")
    _print(context, args, context.client.post(where, _wanted(args)))


def plan(context: Context, args: Arguments) -> None:
    found = context.client.post(path("projects", args.need("project"), "workflow-migration-plan"), _wanted(args))
    if args.flag("json"):
        return context.out.json(found)
    now, then = (f"{found[f'{name}Id']}@{found[f'{name}Version']}" for name in ("current", "target"))
    context.out.line(f"{now} to {then}: {found['compatibleItems']} of {found['existingItems']} work items would fit")
    if rows := [
        (each["workItemId"], f"#{each['number']}", each["currentStageId"], each["title"], each.get("reason", "fits"))
        for each in found["items"]
    ]:
        context.out.table(["ID", "NO", "STAGE", "TITLE", "RESULT"], rows, flexible=["TITLE", "RESULT"])
    return None


def switch(args: Arguments, name: str) -> bool:
    text = args.text(name)
    if text not in ("yes", "no"):
        raise UsageError(f"-{name} is yes or no, not {text!r}")
    return text == "yes"


def _pair(text: str) -> tuple[str, str]:
    preset, equals, agent = text.partition("=")
    if not equals or not preset:
        raise UsageError(f"-agent is preset=profile, such as writer=codex, not {text!r}")
    return preset, agent


def _wanted(args: Arguments) -> dict[str, Any]:
    id, version = split_definition(args.need("definition"))
    return {"id": id, "version": version}


def _print(context: Context, args: Arguments, project: dict[str, Any]) -> None:
    context.out.json(project) if args.flag("json") else context.out.line(project["id"])


UPDATE = Command(
    words="project update",
    usage="""
Usage:
  whisk project update [options] [--agent=<preset=profile>]... <project>

Options:
  --name=<name>                    Its name.
  --description=<text>             What it is; an empty text takes it away.
  --slug=<slug>                    Short name for branches; an empty one is made anew from the name.
  --agent=<preset=profile>         The agent that runs of a preset get, such as writer=codex; writer= takes it away.
  --login-shell=<yes|no>           Whether agents are started through your login shell.
  --complete-runs-on-stop=<yes|no>  Whether an agent that stops has completed its run.

Examples:
  whisk project update proj_01 -name "New name"
  whisk project update proj_01 -agent writer=codex -login-shell yes
""",
    run=update,
)

DELETE = Command(
    words="project delete",
    usage="""
Usage:
  whisk project delete [options] <project>

Options:
  --yes             You mean it: its work items, runs, questions and gates go. Sessions and terminals stay.
  --actor=<name>    In whose name; else $WHISK_ACTOR, else yours.

Examples:
  whisk project delete proj_01 -yes
""",
    run=delete,
)

SET_WORKFLOW = Command(
    words="project set-workflow",
    usage="""
Usage:
  whisk project set-workflow [options] <project> <definition>

Examples:
  whisk project set-workflow proj_01 ship@2
""",
    run=set_workflow,
)

PLAN = Command(
    words="project migration-plan",
    usage="""
Usage:
  whisk project migration-plan [options] <project> <definition>

Examples:
  whisk project migration-plan proj_01 ship@2
""",
    run=plan,
)
