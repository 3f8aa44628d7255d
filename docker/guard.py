#!/usr/bin/env python3
"""The guard: a person's answer reaches Claude Code in exactly the bytes that it expects.

Only the `claude` binary is a fake. It does what Claude Code does at an AskUserQuestion: it runs the hook command with
the tool call as JSON on stdin. Everything else is real: the daemon, the terminal, the hook command, `prompt resolve`.
Needs nothing but Python and `whisk` on the PATH (or named by `--whisk`); runs the same in a container and outside.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

QUESTION = "Which language should the parser be written in?"
LABELS = ["Python", "Go", "Rust", "Something, else"]
QUESTIONS = [
    {
        "question": QUESTION,
        "header": "Language",
        "options": [{"label": label, "description": f"Use {label}"} for label in LABELS],
        "multiSelect": False,
    }
]
PAYLOAD = {
    "session_id": "00000000-0000-4000-8000-000000000001",
    "transcript_path": "/tmp/transcript.jsonl",
    "cwd": "/tmp",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "AskUserQuestion",
    "tool_input": {"questions": QUESTIONS},
    "tool_use_id": "toolu_guard",
}
EXPECTED = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"questions": QUESTIONS, "answers": {QUESTION: "Python"}},
    }
}
FAKE_CLAUDE = """#!/bin/sh
echo "fake claude started"
"$WHISK_CLI" agent-bridge hook < '{payload}'
echo "fake claude hook completed"
"""


class GuardError(Exception):
    """Something was not as promised."""


class Guard:
    """One run in a home of its own."""

    def __init__(self, home: Path, whisk: str) -> None:
        self.home = home
        self.whisk = whisk
        fakes = home / ".local" / "bin"
        env = {name: value for name, value in os.environ.items() if not name.startswith(("WHISK", "XDG_"))}
        self.env = env | {
            "HOME": str(home),
            "PATH": os.pathsep.join([str(fakes), env.get("PATH", os.defpath)]),
            "WHISKD_ADDR": "127.0.0.1:0",
        }
        fakes.mkdir(parents=True)
        payload = home / "payload.json"
        payload.write_text(json.dumps(PAYLOAD))
        self.claude = fakes / "claude"
        self.claude.write_text(FAKE_CLAUDE.format(payload=payload))
        self.claude.chmod(0o755)

    def call(self, *arguments: str) -> str:
        """`whisk <arguments>`; what it prints on stdout."""
        done = subprocess.run(
            [self.whisk, *arguments], env=self.env, capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip
        if done.returncode != 0:
            raise GuardError(f"whisk {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.call(*arguments, "-json"))

    def run(self) -> None:
        self.call("daemon", "start")
        try:
            self._guard()
        finally:
            self.call("daemon", "stop", "-kill-ptys")

    def _guard(self) -> None:
        found = {profile["id"]: profile.get("path") for profile in self.json("agent", "profiles")}
        check("the claude that would be run", found.get("claude"), str(self.claude))
        root = self.home / "project"
        root.mkdir()
        project = self.call("project", "create", "-name", "Guard", "-root", str(root)).strip()
        item = self.call("work-item", "create", "-project", project, "-title", "Ask").split()[0]
        run = self.json("run", "start", "-work-item", item, "-preset", "writer", "-agent-profile", "claude")
        pty = run["ptyId"]
        say(f"run {run['id']} started the fake claude in {pty}")

        prompt = self._only_prompt()
        for key, value in {"provider": "claude", "eventName": "PreToolUse", "toolName": "AskUserQuestion"}.items():
            check(f"the prompt's {key}", prompt.get(key), value)
        check("the prompt's message", prompt["message"][: len(QUESTION)], QUESTION)
        check("the prompt's options", [option["label"] for option in prompt["options"]], LABELS)
        say(f"prompt {prompt['id']} waits: {prompt['message']}")

        resolved = self.call("prompt", "resolve", prompt["id"], "-answer", "Python", "-json")
        first = resolved.split('"id": "', 1)[1].split('"', 1)[0]
        check("the first id in the JSON", first, prompt["id"])
        check("the prompt's status", json.loads(resolved)["status"], "resolved")
        check("the prompt's answer", json.loads(resolved)["answer"], "Python")

        self.call("session", "pty", "expect", pty, "fake claude hook completed", "-timeout", "20s", "-from", "0")
        lines = self.call("session", "pty", "output", pty).replace("\r\n", "\n").splitlines()
        answers = [line for line in lines if "hookSpecificOutput" in line]
        compact = json.dumps(EXPECTED, separators=(",", ":"), ensure_ascii=False)
        check("what the hook printed", answers, [compact])
        say(f"the hook printed {answers[0]}")

    def _only_prompt(self) -> dict[str, Any]:
        """The prompt, as soon as the hook has brought it; there must be just one."""
        deadline = time.monotonic() + 30
        while not (prompts := self.json("prompt", "list")):
            if time.monotonic() > deadline:
                raise GuardError("no prompt came within 30 s")
        check("how many prompts wait", len(prompts), 1)
        return dict(prompts[0])


def check(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise GuardError(f"{what}:\n  wanted {wanted!r}\n  found  {found!r}")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> int:
    whisk = sys.argv[2] if sys.argv[1:2] == ["--whisk"] else "whisk"
    with tempfile.TemporaryDirectory(prefix="whisk-guard-") as home:
        try:
            Guard(Path(home), whisk).run()
        except (GuardError, subprocess.TimeoutExpired, OSError) as error:
            sys.stderr.write(f"guard: {error}\n")
            return 1
    say("guard: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
