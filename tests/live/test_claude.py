"""Real Claude Code, through OpenRouter, asks a person. Opt-in: it needs the binary, a key, and costs a few cents.

OPENROUTER_API_KEY=… pytest -m live tests/live/test_claude.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

COLOURS = ("Teal", "Maroon")
TASK = (
    "Call the AskUserQuestion tool exactly once, with one question, 'Which colour?', and the options "
    f"'{COLOURS[0]}' and '{COLOURS[1]}'. After the answer, reply with the chosen colour in capital letters and stop."
)


class Person:
    """Somebody with Claude Code and a private whisk."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "project"
        self.root.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHISK", "XDG_", "CLAUDE"))}
        self.env = kept | {"HOME": str(home), "WHISKD_ADDR": "127.0.0.1:0", "IS_SANDBOX": "1"}
        self._write_claude_files()
        self._write_profile()

    def _write_claude_files(self) -> None:
        folder = self.home / ".claude"
        folder.mkdir()
        trusted = {str(self.root): {"hasTrustDialogAccepted": True}}
        (self.home / ".claude.json").write_text(
            json.dumps({"hasCompletedOnboarding": True, "theme": "dark", "projects": trusted})
        )
        command = '"$WHISK_CLI" agent-bridge hook'
        entry = {"matcher": "AskUserQuestion", "hooks": [{"type": "command", "command": command, "timeout": 600}]}
        (folder / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [entry]}}))

    def _write_profile(self) -> None:
        """The built-in claude-openrouter prints one answer and ends; a question needs Claude Code's own window."""
        model = os.environ.get("WHISK_LIVE_MODEL", "~anthropic/claude-haiku-latest")
        models = "\n".join(f'ANTHROPIC_DEFAULT_{kind}_MODEL = "{model}"' for kind in ("OPUS", "SONNET", "HAIKU"))
        config = self.home / ".config/whisk/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            f"""[profiles.live-claude]
argv = ["claude", "{{prompt}}"]
hook_provider = "claude"
[profiles.live-claude.env]
ANTHROPIC_BASE_URL = "https://openrouter.ai/api"
ANTHROPIC_AUTH_TOKEN = "${{OPENROUTER_API_KEY}}"
ANTHROPIC_API_KEY = ""
CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
DISABLE_AUTOUPDATER = "1"
{models}
"""
        )

    def whisk(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "whisk.cli.main", *arguments],
            env=self.env, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"whisk {arguments}: {done.stderr}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.whisk(*arguments, "-json"))


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    if shutil.which("claude") is None or not os.environ.get("OPENROUTER_API_KEY"):
        pytest.skip("needs claude on the PATH and OPENROUTER_API_KEY")
    who = Person(tmp_path / "home")
    who.whisk("daemon", "start")
    yield who
    who.whisk("daemon", "stop", "-kill-ptys")


def test_a_native_question_reaches_whisk_and_the_answer_reaches_claude(person: Person) -> None:
    project = person.whisk("project", "create", "-name", "Live", "-root", str(person.root)).strip()
    item = person.whisk("work-item", "create", "-project", project, "-title", "Ask", "-body", TASK).split()[0]
    run = person.json("run", "start", "-work-item", item, "-preset", "writer", "-agent-profile", "live-claude")

    deadline = time.monotonic() + 180
    while not (prompts := person.json("prompt", "list")):
        assert time.monotonic() < deadline, person.whisk("session", "pty", "output", "-plain", run["ptyId"])
    [prompt] = prompts
    assert (prompt["provider"], prompt["toolName"]) == ("claude", "AskUserQuestion")
    assert [option["label"] for option in prompt["options"]][:2] == list(COLOURS)

    person.whisk("prompt", "resolve", prompt["id"], "-answer", COLOURS[0])
    person.whisk(
        "session", "pty", "expect", run["ptyId"], COLOURS[0].upper(), "-from", "0", "-timeout", "120s"
    )  # fmt: skip
