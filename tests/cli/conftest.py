"""`whisk …` as processes, against a real server over real actors of work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from tests.http.conftest import TOKEN, make_api
from tests.work_desk import Desk
from whisk.actors.system import ActorSystem
from whisk.actors.worktrees import Worktrees
from whisk.http.app import build_app
from whisk.http.server import Server
from whisk.http.table import all_routes
from whisk.work.item import WorkItem

HERE = Path(__file__).resolve().parents[2]


class Whisk:
    """The command with the state folder of a daemon; it runs on a real thread, so that the hub can serve it."""

    def __init__(self, desk: Desk, state: Path) -> None:
        self.desk = desk
        self.state = state
        state.mkdir(mode=0o700)
        (state / "control-token").write_text(TOKEN + "\n")
        self.server: Server | None = None
        self.serve()

    def serve(self, port: int = 0) -> None:
        desk = self.desk
        api = make_api(
            system=desk.system,
            store=desk.store,
            journal=desk.journal,
            events=desk.events,
            work=desk.work,
            sessions=desk.sessions(),
            worktrees=Worktrees(dict(os.environ)),
        )
        self.server = Server(build_app(api, all_routes()), "127.0.0.1", port)
        self.url = self.server.url
        self.server.start()

    def start(self, *arguments: str, stdin: str = "", **env: str) -> gevent.Greenlet:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("WHISK", "XDG_"))}
        clean |= {
            "HOME": "/nonexistent",
            "WHISK_STATE_DIR": str(self.state),
            "WHISKD_URL": self.url,
            "USER": "ann",
            **env,
        }
        command = [sys.executable, "-m", "whisk.cli.main", *arguments]

        def run() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                command, input=stdin, capture_output=True, text=True, env=clean, cwd=HERE, timeout=60, check=False
            )

        return gevent.spawn(gevent.get_hub().threadpool.apply, run)

    def __call__(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = self.start(*arguments, stdin=stdin, **env).get(timeout=60)
        return done

    def json(self, *arguments: str, **env: str) -> Any:
        done = self(*arguments, "-json", **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def until_awaited(self, item: WorkItem) -> None:
        """Wait until somebody waits for an answer about this item."""
        system, name = self.desk.system, f"work-item:{item.id}"
        with gevent.Timeout(30):
            while system.find(name) is None or not system.describe(name).facts.get("awaitedQuestions"):
                gevent.sleep(0.005)


@pytest.fixture
def whisk(system: ActorSystem, tmp_path: Path) -> Iterator[Whisk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    whisk = Whisk(desk, tmp_path / "state")
    yield whisk
    assert whisk.server is not None
    whisk.server.stop(timeout=2.0)
    desk.system.close(timeout=5.0)
    desk.store.close()
