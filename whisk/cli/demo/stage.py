"""A private daemon in a temporary folder, and the person's side of the story: commands, what they print, and checks."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import psutil

from whisk.cli.demo.story import Story
from whisk.cli.failure import CommandError
from whisk.cli.process import wait_until

_CALL_SECONDS = 60.0


class Stage:
    """`show` runs a command as the person would; `stop` and `remove` leave neither process nor file behind."""

    def __init__(self, env: Mapping[str, str], story: Story) -> None:
        self.story = story
        # Short, for a unix socket must fit below it.
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="whisk-demo-"))
        kept = {name: value for name, value in env.items() if not name.startswith("WHISK")}
        self.env = kept | {
            "WHISK_STATE_DIR": os.path.join(self.folder, "state"),
            "WHISK_CONFIG": os.path.join(self.folder, "config.toml"),
            "PYTHONPATH": _python_path(env),
        }

    def write(self, name: str, text: str) -> str:
        """Write a file of the stage and return its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def show(self, *arguments: str) -> str:
        """`call`, told as a part of the story."""
        self.story.command(arguments)
        printed = self.call(*arguments)
        self.story.printed(printed)
        return printed

    def call(self, *arguments: str) -> str:
        """What `whisk <arguments>` prints; raises `CommandError` when it fails."""
        done = subprocess.run(
            [sys.executable, "-m", "whisk.cli.main", *arguments],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CALL_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise CommandError(f"whisk {shlex.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.call(*arguments, "-json"))

    def check(self, what: str, found: object, wanted: object) -> None:
        """The story is only worth something if it is true."""
        if found != wanted:
            raise CommandError(f"{what}: wanted {wanted!r}, found {found!r}")

    def stop(self) -> None:
        """Stop the daemon and every terminal; raises `CommandError` when a process is left."""
        if os.path.exists(os.path.join(self.env["WHISK_STATE_DIR"], "daemon.json")):
            self.call("daemon", "stop", "-kill-ptys")
        if not wait_until(lambda: not self.processes(), 5.0):
            raise CommandError(f"still running: {', '.join(self.processes())}")

    def end_all(self) -> None:
        """Kill what is left, for an ending that did not go by the book (an interrupted start, a failed stop)."""
        for process in self._processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        wait_until(lambda: not self._processes(), 5.0)

    def processes(self) -> list[str]:
        """Everything that runs for this stage, as `pid name`."""
        return [f"{process.pid} {process.name()}" for process in self._processes()]

    def _processes(self) -> list[psutil.Process]:
        """What was told this stage's state folder, or was started with its path."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                mine = process.environ().get("WHISK_STATE_DIR") == self.env["WHISK_STATE_DIR"]
                mine = mine or any(self.folder in word for word in process.cmdline())
                if mine and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        if os.path.exists(self.folder):
            raise CommandError(f"could not remove {self.folder}")


def _python_path(env: Mapping[str, str]) -> str:
    """With this a fresh Python finds this very whisk, installed or not."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return os.pathsep.join(part for part in (root, env.get("PYTHONPATH", "")) if part)
