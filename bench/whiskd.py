"""A private whiskd for a benchmark: a temporary home, a port of its own, and nothing left when it is over."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from whisk.cli.client import Client
from whisk.cli.process import wait_until

ROOT = Path(__file__).resolve().parents[1]
_START_SECONDS = 30.0
_STOP_SECONDS = 20.0


def environment(home: Path) -> dict[str, str]:
    """What a person has who never used whisk or an agent."""
    dropped = ("WHISK", "XDG_", "CLAUDE", "CODEX", "GEMINI")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return env | {"HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}


class Whiskd:
    """A context manager: inside it the daemon serves. `variant` is given to `bench.variant` instead of the product's
    own start; see there.
    """

    def __init__(self, *variant: str) -> None:
        self._variant = variant

    def __enter__(self) -> Self:
        # Short, for a unix socket must fit below it.
        self.home = Path(os.path.realpath(tempfile.mkdtemp(prefix="whisk-bench-")))
        self.state_dir = self.home / ".local/state/whisk"
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def _start(self) -> None:
        reading, writing = os.pipe()
        module = "bench.variant" if self._variant else "whisk.daemon"
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *self._variant, "--addr=127.0.0.1:0", f"--ready-fd={writing}"],
            stdin=subprocess.DEVNULL,
            env=environment(self.home),
            cwd=ROOT,
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            word = json.loads(pipe.readline() or "{}")
        self.start_seconds = time.perf_counter() - began
        if "url" not in word:
            raise RuntimeError(f"whiskd did not start: {word}")
        self.url: str = word["url"]
        self.pid: int = word["pid"]
        self.token = (self.state_dir / "control-token").read_text().strip()
        self.client = Client(self.url, self.token)
        self.host, self.port = self.client.host, self.client.port

    def head(self, method: str, path: str, length: int = 0) -> bytes:
        """The head of a keep-alive request, for clients that speak raw HTTP."""
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ).encode()

    def request(self, method: str, path: str, body: object) -> bytes:
        data = json.dumps(body).encode()
        return self.head(method, path, len(data)) + data

    def memory(self) -> int:
        """Resident bytes of the daemon."""
        return psutil.Process(self.pid).memory_info().rss

    def cpu(self) -> float:
        """Seconds of processor that the daemon has used so far."""
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    def terminal(self, command: str, *arguments: str, bridge: str = "", name: str = "bench") -> str:
        """Start a program in a terminal; returns the terminal's id."""
        options: dict[str, Any] = {"exec": True, "command": command, "args": list(arguments)}
        if bridge:
            options["agentBridge"] = {"enabled": True, "provider": bridge}
        made = self.client.post(
            "/v1/sessions", {"name": name, "rootDir": str(self.home), "initialPty": options}, timeout=30.0
        )
        return str(made["ptyId"])

    def processes(self) -> list[psutil.Process]:
        """Everything that runs with this home: daemon, pty host, terminals and what they started."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("HOME") == str(self.home):
                    found.append(process)
        return found

    def _end(self) -> None:
        if hasattr(self, "client"):
            with contextlib.suppress(Exception):
                self.client.post("/v1/shutdown", {"killPtys": True})
                self.process.wait(_STOP_SECONDS)
        wait_until(lambda: not self.processes(), 3.0)
        for process in self.processes():
            print(f"had to end {process.pid} {process.name()}", file=sys.stderr)
            with contextlib.suppress(psutil.Error):
                process.kill()
        if hasattr(self, "process"):
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def raise_descriptor_limit() -> None:
    """Let this process open as many descriptors as it may: a waiter is a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 65536, hard))
