"""An agent as hooks see it: a bridged terminal of a real daemon, and the real relay as its child."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.captured import raw
from whisk.cli import relay
from whisk.cli.process import wait_until

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd

DEADLINE = 20.0
RELAY = [sys.executable, "-I", "-S", relay.__file__]
# The child of a bridged terminal writes down what it was told, then waits to be ended.
TELL = 'env > "$0.part" && mv "$0.part" "$0" && exec sleep 600'


class Agent:
    """A terminal with hook credentials, and the hooks that run as its children would."""

    def __init__(self, whiskd: Whiskd, provider: str = "claude") -> None:
        self.whiskd = whiskd
        told = whiskd.home / f"told-{len(list(whiskd.home.glob('told-*')))}"
        pty = {"exec": True, "command": "/bin/sh", "args": ["-c", TELL, str(told)]}
        bridge = {"agentBridge": {"enabled": True, "provider": provider}}
        body = {"name": "agent", "rootDir": str(whiskd.home), "initialPty": pty | bridge}
        self.pty = whiskd.post("/v1/sessions", body)["ptyId"]
        assert wait_until(told.exists, DEADLINE)
        self.env = dict(line.split("=", 1) for line in told.read_text().splitlines() if "=" in line)
        self.provider = provider
        self.hooks: list[subprocess.Popen[bytes]] = []

    def hook(self, name: str, **changes: object) -> subprocess.Popen[bytes]:
        return self.send(raw(self.provider, name, **changes))

    def send(self, payload: bytes) -> subprocess.Popen[bytes]:
        """A hook that has been given this payload and now waits, or has ended."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(RELAY, env=self.env, stdin=pipe, stdout=pipe, stderr=pipe)
        assert process.stdin is not None
        process.stdin.write(payload)
        process.stdin.close()
        process.stdin = None
        self.hooks.append(process)
        return process

    def said(self, name: str, **changes: object) -> bytes:
        return output(self.hook(name, **changes))

    def prompts(self, count: int, status: str = "pending") -> list[dict[str, Any]]:
        """The prompts of this terminal, as soon as there are so many, in the order of the hooks."""

        def found() -> list[dict[str, Any]]:
            listed = self.whiskd.get("/v1/agent-prompts", {"status": status})
            return [each for each in listed if each["ptyId"] == self.pty]

        assert wait_until(lambda: len(found()) == count, DEADLINE), found()
        return found()

    def prompt(self) -> dict[str, Any]:
        return self.prompts(1)[0]

    def outcome(self, prompt: dict[str, Any]) -> dict[str, Any]:
        """The prompt, as soon as it is not pending any more."""
        path = f"/v1/agent-prompts/{prompt['id']}"
        assert wait_until(lambda: self.whiskd.get(path)["status"] != "pending", DEADLINE)
        return dict(self.whiskd.get(path))

    def close(self) -> None:
        for process in self.hooks:
            process.kill()
            process.communicate()


def output(process: subprocess.Popen[bytes]) -> bytes:
    """What a hook printed; it must have ended well."""
    stdout, stderr = process.communicate(timeout=DEADLINE)
    assert (process.returncode, stderr) == (0, b"")
    return stdout


def decision(printed: bytes) -> dict[str, Any]:
    """The one document that a hook printed."""
    assert printed.endswith(b"\n")
    assert printed.count(b"\n") == 1
    return dict(json.loads(printed)["hookSpecificOutput"])
