"""A real agent binary in a terminal of a real daemon, with a model that a script plays. Nothing leaves the machine.

WHISK_LIVE_FAKES names a folder with `fake_anthropic.py`, `fake_openai.py` and `mcp_elicit.py`: stateless servers that
answer as `--script FILE` says and write every request, which is what the model sees, to `--log FILE`. `claude` and
`codex` are looked for on the PATH, or named by WHISK_LIVE_CLAUDE and WHISK_LIVE_CODEX.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import Whiskd
from whisk.cli.process import wait_until

DEADLINE = 40.0
HOOK = '"$WHISK_CLI" agent-bridge hook'
NETWORKLESS = {
    "ANTHROPIC_API_KEY": "dummy",
    "FAKE_KEY": "dummy",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "IS_SANDBOX": "1",
}
CLAUDE_EVENTS = (
    "PreToolUse", "PermissionRequest", "Elicitation", "ElicitationResult", "PostToolUse", "PostToolUseFailure",
    "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "StopFailure", "Notification",
)  # fmt: skip
CODEX_EVENTS = (
    "PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop", "Interrupt",
)  # fmt: skip


def find_fakes() -> Path:
    folder = os.environ.get("WHISK_LIVE_FAKES", "")
    if not folder or not (Path(folder) / "fake_anthropic.py").exists():
        pytest.skip("WHISK_LIVE_FAKES names no folder with fake_anthropic.py and its companions")
    return Path(folder)


def find_binary(name: str) -> str:
    found = os.environ.get(f"WHISK_LIVE_{name.upper()}") or shutil.which(name)
    if not found or not Path(found).exists():
        pytest.skip(f"no {name} on the PATH; WHISK_LIVE_{name.upper()} may name it")
    return str(Path(found).absolute())


class Model:
    """A fake model API: what it says is a script, what it was told is a log."""

    def __init__(self, folder: Path, server: str) -> None:
        self.script, self.log = folder / "script.json", folder / "requests.jsonl"
        self.log.touch()
        self.plays([])
        command = [sys.executable, str(find_fakes() / server), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--script", str(self.script), "--log", str(self.log)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]

    def plays(self, tools: list[dict[str, Any]]) -> None:
        """Its first reply to a prompt calls these tools, its second ends the turn."""
        self.plays_steps([{"text": "Calling.", "tools": tools}, {"text": "TURN-DONE"}])

    def plays_steps(self, steps: list[dict[str, Any]]) -> None:
        """Its replies to a prompt, one after the other; see the server for what a step may hold."""
        title = {"match": "^Generate a concise, single-line task title", "first": True, "steps": [{"text": "Title"}]}
        part = self.script.with_suffix(".part")
        part.write_text(json.dumps({"rules": [title, {"match": "GO-AHEAD", "steps": steps}]}))
        part.replace(self.script)

    def requests(self) -> list[dict[str, Any]]:
        # A line that is being written has no end yet.
        lines = self.log.read_text().rpartition("\n")[0].splitlines()
        return [entry["body"] for line in lines if (entry := json.loads(line))["body"]]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class RealAgent:
    """One terminal in which the binary runs; `told()` is what its model got back for each tool call."""

    provider = ""
    server = ""

    def __init__(self, home: Path, events: tuple[str, ...], tools: list[dict[str, Any]]) -> None:
        self.binary = find_binary(self.provider)
        find_fakes()
        home.mkdir(parents=True)
        self.model = Model(home, self.server)
        self.model.plays(tools)
        self.whiskd = Whiskd(home, env=NETWORKLESS)
        self.root = home / "project"
        self.root.mkdir()
        argv = self.configure(events)
        (home / ".config/whisk").mkdir(parents=True)
        profile = f'[profiles.real]\nargv = {json.dumps([*argv, "{prompt}"])}\nhook_provider = "{self.provider}"\n'
        env = "".join(f"{name} = {json.dumps(value)}\n" for name, value in (NETWORKLESS | self.environment()).items())
        (home / ".config/whisk/config.toml").write_text(f"{profile}[profiles.real.env]\n{env}")
        self.whiskd.start()
        if not events:
            # As a person does it, instead of by hand.
            self.whiskd.cli("hook", "install", self.provider, check=0, **self.environment())
        self.pty = ""

    def configure(self, events: tuple[str, ...]) -> list[str]:
        """Write the agent's own files; returns its command line."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {}

    def told(self) -> list[str]:
        raise NotImplementedError

    def go(self) -> None:
        """Start it with its first prompt."""
        started = self.whiskd.json(
            "session", "create", "-root", str(self.root), "-agent-profile", "real", "-prompt", "GO-AHEAD",
            "-cols", "100", "-rows", "40",
        )  # fmt: skip
        self.pty = started["ptyId"]

    def screen(self) -> str:
        return self.whiskd.cli("session", "pty", "output", "-plain", self.pty, check=0).stdout

    def shows(self, pattern: str) -> None:
        """Wait until the terminal has shown it; blanks count for nothing, as agents move the cursor over them."""
        wanted = re.compile(pattern)
        found = wait_until(lambda: bool(wanted.search(re.sub(r"\s+", "", self.screen()))), DEADLINE)
        assert found, self.screen()[-3000:]

    def types(self, text: str) -> None:
        self.whiskd.cli("session", "pty", "write", self.pty, "-data", text, check=0)

    def pending(self, count: int = 1) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = self.whiskd.json("prompt", "list")
            return len(found) == count

        assert wait_until(there, DEADLINE), f"{found}\n{self.screen()[-3000:]}"
        return found

    def asks(self) -> dict[str, Any]:
        return self.pending()[0]

    def outcome(self, prompt: dict[str, Any], wanted: str) -> dict[str, Any]:
        """The prompt, as soon as it has ended so."""

        def show() -> dict[str, Any]:
            return dict(self.whiskd.json("prompt", "show", prompt["id"]))

        assert wait_until(lambda: show()["outcome"] == wanted, DEADLINE), f"{show()}\n{self.screen()[-3000:]}"
        return show()

    def resolve(self, prompt: dict[str, Any], *arguments: str) -> None:
        self.whiskd.cli("prompt", "resolve", prompt["id"], *arguments, check=0)

    def reads(self, count: int = 1) -> list[str]:
        """What the model got for its calls, once it got it."""
        assert wait_until(lambda: len(self.told()) >= count, DEADLINE), f"{self.told()}\n{self.screen()[-3000:]}"
        return self.told()

    def close(self) -> None:
        try:
            self.whiskd.close()
        finally:
            self.model.close()


class Claude(RealAgent):
    provider, server = "claude", "fake_anthropic.py"

    def configure(self, events: tuple[str, ...]) -> list[str]:
        home = self.whiskd.home
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "projects": {str(self.root): {"hasTrustDialogAccepted": True}},
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        }
        (home / ".claude").mkdir()
        (home / ".claude/.claude.json").write_text(json.dumps(known))
        hooks = {event: [{"hooks": [{"type": "command", "command": HOOK}]}] for event in events}
        settings = home / "hooks.json"
        settings.write_text(json.dumps({"hooks": hooks, "permissions": {"allow": ["mcp__elicit"]}}))
        servers = {"elicit": {"command": sys.executable, "args": [str(find_fakes() / "mcp_elicit.py")]}}
        (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        return [self.binary, "--settings", str(settings), f"--mcp-config={home / 'mcp.json'}"]

    def environment(self) -> dict[str, str]:
        return {"ANTHROPIC_BASE_URL": self.model.url, "CLAUDE_CONFIG_DIR": str(self.whiskd.home / ".claude")}

    def told(self) -> list[str]:
        found: dict[str, str] = {}
        for request in self.model.requests():
            for message in request.get("messages", []):
                for block in message["content"] if isinstance(message["content"], list) else []:
                    if block.get("type") == "tool_result":
                        found[block["tool_use_id"]] = _text(block["content"])
        return list(found.values())


class Codex(RealAgent):
    provider, server = "codex", "fake_openai.py"

    def configure(self, events: tuple[str, ...]) -> list[str]:
        folder = self.whiskd.home / ".codex"
        folder.mkdir()
        hooks = folder / "hooks.json"
        entry = {"hooks": [{"type": "command", "command": HOOK}]}
        hooks.write_text(json.dumps({"hooks": {event: [entry] for event in events}}))
        trust = "".join(_trust(hooks, event) for event in events)
        (folder / "config.toml").write_text(
            f"""model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
[features]
daemon_auto_start = false
[model_providers.fake]
name = "fake"
base_url = "{self.model.url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
[projects.{json.dumps(str(self.root))}]
trust_level = "trusted"
{trust}"""
        )
        return [self.binary]

    def environment(self) -> dict[str, str]:
        return {"CODEX_HOME": str(self.whiskd.home / ".codex")}

    def go(self) -> None:
        super().go()
        self.shows("Trynewmodel|Calling")
        if not self.model.requests():
            # It advertises a newer model before the first turn: keep the one it has.
            self.types("2")

    def told(self) -> list[str]:
        found: dict[str, str] = {}
        for request in self.model.requests():
            for item in request.get("input", []):
                if item.get("type") in ("function_call_output", "custom_tool_call_output"):
                    found[item["call_id"]] = _text(item["output"])
        return list(found.values())


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content if isinstance(content, str) else json.dumps(content)


def _trust(hooks: Path, event: str) -> str:
    """Codex runs a hook only when its settings hold this hash of it."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
    handler = {"type": "command", "command": HOOK, "timeout": 1 if name == "interrupt" else 600, "async": False}
    text = json.dumps({"event_name": name, "hooks": [handler]}, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'[hooks.state.{json.dumps(f"{hooks}:{name}:0:0")}]\ntrusted_hash = "sha256:{digest}"\n'
