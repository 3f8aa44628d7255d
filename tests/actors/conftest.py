"""Real terminals: a pty host of the test's own, a real database, real children."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.bridge_house import House
from whisk.actors.events import EventsActor, EventsHandle
from whisk.actors.future import get, wait
from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.pty import PtyActor, PtyHandle, PtyServices
from whisk.actors.pty_host import PtyHostActor, PtyHostHandle
from whisk.actors.pty_link import host_paths
from whisk.actors.system import ActorSystem
from whisk.bridges.setting import PromptSettings
from whisk.ids import new_id
from whisk.storage.database import Store
from whisk.storage.landing import Landing
from whisk.terminal.pty import KillReport, PtyInfo, PtySpec

SECONDS = 20.0


class Terminals:
    """What a daemon has around its terminals, in `folder`."""

    def __init__(self, system: ActorSystem, folder: Path, **sizes: int) -> None:
        self.system = system
        self.folder = folder
        self.store = Store.open(folder / "db.sqlite")
        self.journal = system.spawn(JournalActor, self.store, name="journal", handle=JournalHandle)
        self.events = system.spawn(EventsActor, name="events", handle=EventsHandle)
        self.host = system.spawn(PtyHostActor, host_paths(folder, folder), 1.0, name="pty-host", handle=PtyHostHandle)
        transcripts = folder / "transcripts"
        self.landing = Landing.open(folder / "landing", transcripts)
        self.services = PtyServices(
            self.store, self.journal, self.events, self.host, transcripts, self.landing, **sizes
        )  # fmt: skip

    def adopt(self, pty_id: str) -> PtyHandle:
        """Start the actor of a terminal, known or new."""
        return self.system.spawn(PtyActor, pty_id, self.services, name=f"pty:{pty_id}", handle=PtyHandle)

    def launch(self, *argv: str, env: dict[str, str] | None = None, **spec: Any) -> PtyHandle:
        """Start a program in a new terminal; returns when it runs."""
        pty_id = new_id("pty")
        variables = {"PATH": os.environ["PATH"], "PS1": "$ ", "WHISK_PTY_ID": pty_id} | (env or {})
        pty = self.adopt(pty_id)
        get(pty.launch.remote(PtySpec(argv=argv, env=variables, **{"working_dir": "/"} | spec)), SECONDS)
        return pty

    def sh(self, script: str, **spec: Any) -> PtyHandle:
        return self.launch("/bin/sh", "-c", script, **spec)

    def everyone(self) -> list[PtyHandle]:
        return [self.system.get(name, PtyHandle) for name in self.system.names() if name.startswith("pty:")]

    def close(self) -> None:
        """End all terminals and the host."""
        kills = [pty.kill.options(timeout=None).remote(0.2) for pty in self.everyone()]
        wait(kills, num_returns=len(kills), timeout=SECONDS)
        self.system.drain([("pty:*",), ("pty-host",)], timeout=5.0)
        self.landing.close()
        self.store.close()


def ended(pty: PtyHandle) -> PtyInfo:
    """Wait for the terminal's end."""
    return get(pty.wait_exit.options(timeout=None).remote(), SECONDS)


def killed(pty: PtyHandle, grace: float = 2.0) -> KillReport:
    return get(pty.kill.options(timeout=None).remote(grace), SECONDS)


def all_output(pty: PtyHandle) -> bytes:
    """Follow from the start to the end."""
    data, at = b"", 0
    while True:
        output = get(pty.follow.options(timeout=None).remote(at, 1 << 20, 20.0), SECONDS)
        assert not output.skipped
        data += output.data
        at = output.next
        if output.ended and not output.data:
            return data


def seen(pty: PtyHandle, pattern: str, start: int = 0) -> int:
    """Wait until that was printed; returns the offset behind it."""
    return get(pty.expect.options(timeout=None).remote((pattern,), SECONDS, start), SECONDS + 5).offset


def wait_gone(pid: int) -> None:
    """Until the process has ended, whenever its parent may look at that."""
    if sys.platform != "linux":
        psutil.Process(pid).wait(SECONDS)
        return
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    gone = select.select([fd], [], [], SECONDS)[0]
    os.close(fd)
    assert gone, f"process {pid} still runs"


@pytest.fixture
def terminals(tmp_path: Path, system: ActorSystem) -> Iterator[Terminals]:
    terminals = Terminals(system, tmp_path)
    yield terminals
    terminals.close()


@pytest.fixture
def make_terminals(tmp_path: Path) -> Iterator[Callable[..., Terminals]]:
    """Lives of a daemon, one after the other, in one folder; the last one is ended with its terminals."""
    lives: list[Terminals] = []

    def make(**sizes: int) -> Terminals:
        lives.append(Terminals(ActorSystem(sweep_every=0.05), tmp_path, **sizes))
        return lives[-1]

    yield make
    if lives:
        lives[-1].close()
        assert not lives[-1].system.close(timeout=5.0).left


@pytest.fixture
def build(system: ActorSystem, tmp_path: Path) -> Iterator[Callable[..., House]]:
    """`build(limit=…)` makes a house with these prompt settings; the next one takes over its database."""
    made: list[House] = []

    def open_house(group: int = 500, **settings: Any) -> House:
        made.append(House(system, tmp_path / "whisk.sqlite3", PromptSettings(**settings), group))
        return made[-1]

    yield open_house
    for house in made:
        house.close()
