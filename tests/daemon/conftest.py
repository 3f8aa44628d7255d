"""A real whiskd in a home of its own, spoken to as a person and as a program would.

`daemon` is fresh for each test, `shared_daemon` serves all tests of a module. Both are stopped at the end with their
terminals, and the test fails when a process of theirs is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.hook_agent import Agent
from whisk.cli.client import Client, Query
from whisk.cli.process import start_time, wait_until
from whisk.daemon.paths import Paths

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "whisk.cli.main"]


def clean_environment(home: Path) -> dict[str, str]:
    """The environment of a person who has never used whisk or an agent."""
    dropped = ("WHISK", "XDG_", "CLAUDE", "CODEX", "GEMINI", "PYTEST", "COLUMNS", "LINES")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    path = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", os.defpath)])
    return env | {"HOME": str(home), "PATH": path, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}


@dataclass
class Whiskd:
    """One state folder and the daemon in it."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.env = clean_environment(self.home) | {"WHISKD_ADDR": "127.0.0.1:0"} | self.env

    def cli(
        self,
        *arguments: str,
        input: str | bytes | None = None,
        check: int | None = None,
        timeout: float = 60.0,
        **env: str,
    ) -> subprocess.CompletedProcess[str]:
        """`whisk <arguments>`; with `check` the exit code must be that one."""
        data = input.encode() if isinstance(input, str) else input
        done = subprocess.run(
            [*COMMAND, *arguments], input=data, capture_output=True, env=self.env | env, timeout=timeout, check=False
        )  # fmt: skip
        text = subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
        if check is not None:
            assert text.returncode == check, f"whisk {arguments}: exit {text.returncode}\n{text.stdout}\n{text.stderr}"
        return text

    def json(self, *arguments: str, **env: str) -> Any:
        """What `whisk <arguments> -json` prints; it must succeed."""
        return json.loads(self.cli(*arguments, "-json", check=0, **env).stdout)

    def popen(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """`whisk <arguments>` in the background, with pipes; the test ends it."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env | env,
        )

    @property
    def state_dir(self) -> Path:
        return Path(self.env.get("WHISK_STATE_DIR") or self.home / ".local/state/whisk")

    @property
    def state(self) -> dict[str, Any]:
        return dict(json.loads((self.state_dir / "daemon.json").read_text()))

    @property
    def url(self) -> str:
        return str(self.state["url"])

    @property
    def pid(self) -> int:
        return int(self.state["pid"])

    @property
    def token(self) -> str:
        return (self.state_dir / "control-token").read_text().strip()

    @property
    def client(self) -> Client:
        return Client(self.url, self.token)

    @property
    def log(self) -> str:
        return (self.state_dir / "whiskd.log").read_text()

    def get(self, path: str, query: Query | None = None, timeout: float = 30.0) -> Any:
        return self.client.get(path, query, timeout=timeout)

    def post(self, path: str, body: object = None, timeout: float = 30.0) -> Any:
        return self.client.post(path, body, timeout=timeout)

    def start(self, *options: str, **env: str) -> str:
        """`whisk daemon start`; returns the address."""
        self.cli("daemon", "start", *options, check=0, **env)
        return self.url

    def stop(self, *options: str) -> None:
        self.cli("daemon", "stop", *options, check=0)

    def kill9(self) -> None:
        """End the daemon as a power cut would, and wait until it is gone."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        assert wait_until(lambda: start_time(pid) is None, 10)

    def restart(self) -> str:
        self.stop()
        return self.start()

    def processes(self) -> list[psutil.Process]:
        """Everything that runs with this state folder: daemon, pty host, terminals and what they started."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("HOME") == str(self.home):
                    found.append(process)
        return found

    def close(self) -> None:
        """Stop everything; fails when something is left, after ending that too."""
        if (self.state_dir / "daemon.json").exists():
            self.cli("daemon", "stop", "-kill-ptys")
        wait_until(lambda: not self.processes(), 3)
        left = self.processes()
        told = [f"{process.pid} {' '.join(_words(process))}" for process in left]
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        # Ended by force it could not tidy up: the folder of sockets of a long path lies outside its home.
        shutil.rmtree(Paths.from_env({"WHISK_STATE_DIR": str(self.state_dir)}).runtime, ignore_errors=True)
        assert not told, f"left behind: {told}\n{self._log_tail()}"

    def _log_tail(self) -> str:
        with contextlib.suppress(OSError):
            return self.log[-3000:]
        return ""


def _words(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Whiskd]:
    """A state folder in which no daemon was started yet."""
    whiskd = Whiskd(tmp_path / "home")
    yield whiskd
    whiskd.close()


@pytest.fixture
def place_in() -> Iterator[Callable[[Path], Whiskd]]:
    """`place_in(home)` is a `place` with a home of the test's choice."""
    made: list[Whiskd] = []

    def make(home: Path) -> Whiskd:
        made.append(Whiskd(home))
        return made[-1]

    yield make
    for whiskd in made:
        whiskd.close()


@pytest.fixture
def daemon(place: Whiskd) -> Whiskd:
    place.start()
    return place


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whiskd]:
    whiskd = Whiskd(tmp_path_factory.mktemp("whiskd") / "home")
    whiskd.start()
    yield whiskd
    whiskd.close()


@pytest.fixture
def employ() -> Iterator[Callable[..., Agent]]:
    """`employ(whiskd, provider)` starts an agent's terminal; its hooks are ended with the test."""
    made: list[Agent] = []

    def make(whiskd: Whiskd, provider: str = "claude") -> Agent:
        made.append(Agent(whiskd, provider))
        return made[-1]

    yield make
    for each in made:
        each.close()
