"""A daemon under load for a moment: terminals without end, terminals that cannot start, viewers that are killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import psutil
import pytest

from tests.daemon.conftest import COMMAND, Whiskd
from whisk.cli.failure import RefusedError
from whisk.cli.process import start_time, wait_until

SECONDS = 20.0
TRANSCRIPT = 1_000_000


@pytest.fixture(scope="module")
def small_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whiskd]:
    """It keeps no more than a megabyte of a terminal."""
    home = tmp_path_factory.mktemp("small") / "home"
    whiskd = Whiskd(home, {"WHISK_CONFIG": str(home / "config.toml")})
    (home / "config.toml").write_text(f"[terminal]\nring_bytes = 65536\ntranscript_bytes = {TRANSCRIPT}\n")
    whiskd.start()
    yield whiskd
    whiskd.close()


def start(place: Whiskd, *argv: str) -> str:
    pty = {"exec": True, "command": argv[0], "args": argv[1:]}
    return str(place.post("/v1/sessions", {"rootDir": str(place.home), "initialPty": pty})["ptyId"])


def expect(place: Whiskd, pty: str, pattern: str) -> None:
    place.post(f"/v1/ptys/{pty}/expect", {"patterns": [pattern], "timeoutMs": SECONDS * 1000, "from": 0})


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_output_without_end_stays_within_its_bounds_and_keeps_nobody_waiting(small_daemon: Whiskd) -> None:
    others = size_of(small_daemon.state_dir)
    pty = start(small_daemon, "yes", "0123456789abcdef" * 4)
    waited = []
    while small_daemon.get(f"/v1/ptys/{pty}")["outputOffset"] < 8 * TRANSCRIPT:
        began = time.monotonic()
        small_daemon.get("/v1/health")
        waited.append(time.monotonic() - began)
    assert size_of(small_daemon.state_dir) - others < TRANSCRIPT + 500_000
    assert sorted(waited)[len(waited) // 2] < 0.1, sorted(waited)[-5:]
    told = small_daemon.get(f"/v1/ptys/{pty}/output", {"from": 0})
    assert told["start"] >= 6 * TRANSCRIPT, "what is not kept any more is skipped, and the reader is told"
    killed = small_daemon.post(f"/v1/ptys/{pty}/kill")
    assert (killed["status"], killed["running"]) == ("killed", False)


BAD: tuple[tuple[str, ...], ...] = (("/no/such/program",), ("/etc/passwd",), ("/etc",))


def test_terminals_that_end_and_terminals_that_never_start_leave_nothing_open(small_daemon: Whiskd) -> None:
    daemon = psutil.Process(small_daemon.pid)
    (host,) = [each for each in small_daemon.processes() if "ptyhost" in " ".join(each.cmdline())]

    def used() -> tuple[int, int, int]:
        return daemon.num_fds(), host.num_fds(), len(host.children())

    def turn() -> None:
        for argv in BAD:
            with pytest.raises(RefusedError):
                start(small_daemon, *argv)
        ptys = [start(small_daemon, "/bin/sh", "-c", f"exit {code}") for code in range(5)]
        for code, pty in enumerate(ptys):
            assert wait_until(lambda pty=pty: not small_daemon.get(f"/v1/ptys/{pty}")["running"], SECONDS)  # type: ignore[misc]
            assert small_daemon.get(f"/v1/ptys/{pty}")["exitCode"] == code

    for _ in range(2):
        turn()  # threads and connections that are there to stay
    before = used()
    for _ in range(4):
        turn()
    assert wait_until(lambda: used() <= before, SECONDS), (before, used())
    assert not [each for each in small_daemon.get("/v1/ptys") if each["status"] == "failed"], (
        "a refusal leaves no session"
    )


@pytest.mark.parametrize("script", ["stty -echo; echo up; read x; echo got $x; sleep 600", "yes up"])
def test_a_viewer_that_is_killed_leaves_the_agent_and_nothing_else(small_daemon: Whiskd, script: str) -> None:
    pty = start(small_daemon, "/bin/sh", "-c", script)
    command = [*COMMAND[1:], "session", "pty", "attach", pty]
    viewers = [pexpect.spawn(COMMAND[0], command, env=small_daemon.env, timeout=SECONDS) for _ in range(2)]
    try:
        for viewer in viewers:
            viewer.expect_exact("up")

        def followers() -> int:
            return int(small_daemon.get(f"/v1/actors/pty:{pty}")["facts"]["followers"])

        viewers[0].kill(signal.SIGKILL)
        assert wait_until(lambda: not viewers[0].isalive(), SECONDS)
        pid = small_daemon.get(f"/v1/ptys/{pty}")["pid"]
        assert start_time(pid) is not None
        if "read" in script:
            assert wait_until(lambda: followers() == 1, SECONDS)
            viewers[1].send("word\r")
            viewers[1].expect_exact("got word")
        else:
            at = small_daemon.get(f"/v1/ptys/{pty}")["outputOffset"]
            assert wait_until(lambda: small_daemon.get(f"/v1/ptys/{pty}")["outputOffset"] > at, SECONDS)
    finally:
        for viewer in viewers:
            viewer.close(force=True)
        small_daemon.post(f"/v1/ptys/{pty}/kill")
    assert start_time(pid) is None
