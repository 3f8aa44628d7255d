"""`whisk demo`: the main job, played for real in a private daemon."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.demo import question
from whisk.cli.demo.stage import Stage
from whisk.cli.demo.story import Story
from whisk.cli.failure import OK, CommandError
from whisk.cli.process import wait_until

_ANSWER = "JSON lines"


def demo(context: Context, args: Arguments) -> int:
    began = time.monotonic()
    story = Story(context.out, whole_ids=args.flag("keep"))
    stage = Stage(context.env, story)
    kept = False
    try:
        context.out.line("Two agents, a task, a question and its answer, all in a private daemon in")
        context.out.line(f"{stage.folder}; nothing of yours is touched.")
        _play(stage)
        if args.flag("keep"):
            kept = True
            _say_how(stage)
            return OK
        story.chapter("The end: daemon, agents and files are gone")
        stage.stop()
        stage.remove()
        story.note(f"No process and no file is left. It took {time.monotonic() - began:.1f} s.")
        return OK
    except (CommandError, OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"the demo went wrong: {error}{_log_tail(stage)}") from None
    finally:
        if not kept and os.path.exists(stage.folder):
            with contextlib.suppress(CommandError):
                stage.stop()
            stage.end_all()
            stage.remove()


def _play(stage: Stage) -> None:
    story = stage.story
    _write_profiles(stage)
    story.chapter("A private whiskd starts")
    stage.show("daemon", "start", "-addr", "127.0.0.1:0")

    story.chapter("A project with two work items, and an agent on each, in a terminal of its own")
    root = os.path.join(stage.folder, "project")
    os.mkdir(root)
    project = stage.show("project", "create", "-name", "Demo", "-root", root).strip()
    builder = _start(stage, project, "Add the flag", "demo-builder")
    reviewer = _start(stage, project, "Review the flag", "demo-reviewer")

    story.chapter("You write once, to everybody who works on the project")
    _dispatch(stage, project, builder, reviewer)

    story.chapter("The builder asks a question in its hook, which waits for you")
    prompt = _wait_prompt(stage)
    stage.show("prompt", "list")
    stage.show("prompt", "resolve", prompt["id"], "-answer", _ANSWER)

    story.chapter("The answer reaches the agent, and the agents finish among themselves")
    _wait_screen(stage, reviewer["ptyId"], "reviewer: done")
    _wait_screen(stage, builder["ptyId"], "builder: done")
    for run in (builder, reviewer):
        story.command(["session", "pty", "output", "-plain", run["ptyId"]])
        story.screen(stage.call("session", "pty", "output", "-plain", run["ptyId"]))
    story.note("The hook's answer, byte for byte as Claude Code expects it:")
    story.whole(_hook_output(stage, builder["ptyId"]))

    story.chapter("What is on record")
    stage.show("mail", "list")
    stage.show("run", "list")
    _check_record(stage, builder, reviewer)
    story.note("Both runs are completed since their agents said so: a worker_done from a run's own address ends it.")


def _write_profiles(stage: Stage) -> None:
    """The agents are profiles of the settings file, like any agent that whisk does not know."""
    tables = []
    for name in ("builder", "reviewer"):
        argv = json.dumps([sys.executable, "-m", f"whisk.cli.demo.{name}"])
        hooks = 'prompt_injection = "none"\nhook_provider = "claude"'
        tables.append(f"[profiles.demo-{name}]\nargv = {argv}\n{hooks}\n")
    stage.write("config.toml", "\n".join(tables))


def _start(stage: Stage, project: str, title: str, profile: str) -> dict[str, Any]:
    item = stage.show("work-item", "create", "-project", project, "-title", title).split()[0]
    started = stage.show("run", "start", "-work-item", item, "-preset", "writer", "-agent-profile", profile)
    run_id = started.split()[0]
    run: dict[str, Any] = next(run for run in stage.json("run", "list", "-work-item", item) if run["id"] == run_id)
    return run


def _dispatch(stage: Stage, project: str, builder: dict[str, Any], reviewer: dict[str, Any]) -> None:
    stage.show(
        "mail", "send", "-from", f"project:{project}", "-to", f"@project:{project}", "-type", "dispatch",
        "-subject", "Add a flag for machine-readable output", "-body", "- keep the text output as it is",
        "-payload-json", json.dumps({"reviewer": f"run:{reviewer['id']}"}),
    )  # fmt: skip
    (sent,) = stage.json("mail", "list", "-types", "dispatch")
    to = sorted(recipient["address"]["id"] for recipient in sent["recipients"])
    stage.check("who the selector meant", to, sorted([builder["id"], reviewer["id"]]))
    stage.story.note(f"@project:{project} became {' and '.join('run:' + one for one in to)}.")


def _wait_prompt(stage: Stage) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def asked() -> bool:
        found[:] = stage.json("prompt", "list")
        return bool(found)

    if not wait_until(asked, 30.0):
        raise CommandError("the builder's question did not arrive within 30 s")
    stage.check("how many prompts wait", len(found), 1)
    stage.check("what the prompt says", found[0]["message"], question.QUESTION)
    return found[0]


def _wait_screen(stage: Stage, pty: str, text: str) -> None:
    stage.call("session", "pty", "expect", pty, text, "-from", "0", "-timeout", "30s")


def _hook_output(stage: Stage, pty: str) -> str:
    """The hook's stdout, after making sure that it is exactly what Claude Code reads."""
    screen = stage.call("session", "pty", "output", pty).replace("\r\n", "\n")
    lines = [line for line in screen.splitlines() if line.startswith('{"hookSpecificOutput"')]
    asked = json.loads(question.hook_payload())["tool_input"]
    expected = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": asked | {"answers": {question.QUESTION: _ANSWER}},
        }
    }
    stage.check("what the hook printed", lines, [json.dumps(expected, separators=(",", ":"), ensure_ascii=False)])
    return lines[0]


def _check_record(stage: Stage, builder: dict[str, Any], reviewer: dict[str, Any]) -> None:
    kinds = sorted(message["type"] for message in stage.json("mail", "list"))
    stage.check("the mail on record", kinds, ["dispatch", "handoff", "status", "worker_done", "worker_done"])
    states = {run["id"]: run["status"] for run in stage.json("run", "list")}
    stage.check("how the runs ended", states, {builder["id"]: "completed", reviewer["id"]: "completed"})


def _say_how(stage: Stage) -> None:
    state, config = stage.env["WHISK_STATE_DIR"], stage.env["WHISK_CONFIG"]
    story = stage.story
    story.chapter("It keeps running. To look around:")
    story.whole(f"$ export WHISK_STATE_DIR={shlex.quote(state)} WHISK_CONFIG={shlex.quote(config)}")
    story.whole("$ whisk actor tree -watch")
    story.whole("$ whisk mail list")
    story.whole("")
    story.whole("To end it and remove everything:")
    story.whole(f"$ whisk daemon stop -kill-ptys && rm -r {shlex.quote(stage.folder)}")


def _log_tail(stage: Stage) -> str:
    try:
        with open(os.path.join(stage.env["WHISK_STATE_DIR"], "whiskd.log"), encoding="utf-8") as file:
            lines = file.read().splitlines()[-8:]
    except OSError:
        return ""
    return "\nthe end of the daemon's log:\n  " + "\n  ".join(lines) if lines else ""


DEMO = Command(
    words="demo",
    usage="""
Usage:
  whisk demo [options]

Options:
  --keep            Leave the daemon running at the end, and say how to look around and stop it.

Examples:
  whisk demo
  whisk demo -keep
""",
    run=demo,
    common=(),
)
