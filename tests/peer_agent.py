"""An agent that is a process of its own: it runs its hooks as real ones do, through a shell, and can be killed.

    python peer_agent.py RELAY

It reads lines of JSON: `["hook", payload]` runs a hook to its end, `["hold", payload]` leaves it waiting, and
`["inner", [payload, …]]` runs another agent by a tool, which sends these and ends. It answers with one line each.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

from tests.captured import raw
from tests.hook_agent import RELAY

HELD: list[subprocess.Popen[bytes]] = []


class PeerAgent:
    """`env` is the surroundings that its terminal gives it."""

    def __init__(self, env: dict[str, str], cwd: str) -> None:
        command = [sys.executable, "-m", "tests.peer_agent", *RELAY]
        self.process = subprocess.Popen(
            command, env=env | {"PYTHONPATH": cwd}, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def hook(self, name: str, **changes: object) -> None:
        self._say("hook", raw("claude", name, **changes).decode())

    def hold(self, name: str, **changes: object) -> None:
        self._say("hold", raw("claude", name, **changes).decode())

    def inner(self, *payloads: bytes) -> None:
        self._say("inner", [payload.decode() for payload in payloads])

    def kill(self) -> None:
        self.process.kill()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _say(self, what: str, about: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([what, about]) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


def _run(relay: list[str], what: str, about: Any) -> None:
    # Two commands, so that the shell stays between the agent and its hook.
    shell = ["/bin/sh", "-c", f"{shlex.join(relay)}; exit 0"]
    if what == "inner":
        lines = "".join(json.dumps(["hook", payload]) + "\n" for payload in about)
        command = [sys.executable, "-m", "tests.peer_agent", *relay]
        subprocess.run(command, input=lines.encode(), stdout=subprocess.DEVNULL, check=True)
    elif what == "hook":
        subprocess.run(shell, input=about.encode(), stdout=subprocess.DEVNULL, check=True)
    else:
        held = subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        assert held.stdin is not None
        held.stdin.write(about.encode())
        held.stdin.close()
        HELD.append(held)


if __name__ == "__main__":
    for line in sys.stdin:
        _run(sys.argv[1:], *json.loads(line))
        sys.stdout.write("done\n")
        sys.stdout.flush()
