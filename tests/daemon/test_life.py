"""whiskd starts, is found, survives what happens to daemons, and stops."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psutil
import pytest

from whisk import __version__
from whisk.cli.process import start_time, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.daemon.conftest import Whiskd


def daemons(place: Whiskd) -> list[psutil.Process]:
    found = []
    for process in place.processes():
        with contextlib.suppress(psutil.Error):
            if "whisk.daemon" in " ".join(process.cmdline()):
                found.append(process)
    return found


def runs(pid: int) -> bool:
    return start_time(pid) is not None


def test_start_returns_when_healthy_and_says_where(place: Whiskd) -> None:
    done = place.cli("daemon", "start", check=0)
    assert done.stdout == f"whiskd running at {place.url}\n"
    assert place.client.get("/v1/health") == {"ok": True}
    assert place.cli("daemon", "status", check=0).stdout == f"whiskd running at {place.url}\n"
    status = place.json("daemon", "status")
    assert (status["running"], status["pid"], status["version"]) == (True, place.pid, __version__)


def test_nothing_but_health_answers_without_the_token(daemon: Whiskd) -> None:
    stranger = daemon.cli("daemon", "clear", "-yes", WHISK_STATE_DIR=str(daemon.home / "none"), WHISKD_URL=daemon.url)
    assert stranger.returncode == 1
    assert "unauthorized" in stranger.stderr


def test_a_second_start_adopts_the_running_one(daemon: Whiskd) -> None:
    pid = daemon.pid
    done = daemon.cli("daemon", "start", check=0)
    assert done.stdout == f"whiskd running at {daemon.url}\n"
    assert daemon.json("daemon", "start")["started"] is False
    assert daemon.pid == pid


def test_a_newcomer_in_the_foreground_names_the_incumbent(daemon: Whiskd) -> None:
    done = daemon.cli("daemon", "run")
    assert done.returncode == 1
    assert f"already running pid {daemon.pid} at {daemon.url}" in done.stderr
    assert runs(daemon.pid)


def test_two_starts_at_the_same_moment_leave_one(place: Whiskd) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: place.cli("daemon", "start"), range(4)))
    assert [one.returncode for one in done] == [0] * 4, [one.stderr for one in done]
    assert {one.stdout for one in done} == {f"whiskd running at {place.url}\n"}
    assert [process.pid for process in daemons(place)] == [place.pid]


def test_starts_at_the_same_moment_that_cannot_succeed_all_say_why(place: Whiskd) -> None:
    """The one that lost the race for the lock must not wait for the winner's health in vain."""
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        addr = f"127.0.0.1:{foreign.getsockname()[1]}"
        with ThreadPoolExecutor(3) as pool:
            done = list(pool.map(lambda _: place.cli("daemon", "start", "-addr", addr), range(3)))
    assert [one.returncode for one in done] == [1] * 3
    assert all(f"cannot listen on {addr}" in one.stderr for one in done), [one.stderr for one in done]


def test_stop_is_complete_and_can_be_repeated(daemon: Whiskd) -> None:
    url, pid = daemon.url, daemon.pid
    assert daemon.cli("daemon", "stop", check=0).stdout == f"whiskd stopped at {url}\n"
    assert not runs(pid)
    assert not (daemon.state_dir / "daemon.json").exists()
    assert daemon.cli("daemon", "stop", check=0).stdout.startswith("whiskd stopped at ")
    gone = daemon.cli("daemon", "status")
    assert gone.returncode == 3
    assert "whisk daemon start" in gone.stderr


def test_a_killed_daemon_is_replaced_at_the_same_address(daemon: Whiskd) -> None:
    url, pid = daemon.url, daemon.pid
    daemon.kill9()
    assert daemon.cli("daemon", "status").returncode == 3
    daemon.start()
    assert daemon.pid != pid
    assert daemon.url == url


def test_sigterm_ends_it_in_order(daemon: Whiskd) -> None:
    pid = daemon.pid
    os.kill(pid, signal.SIGTERM)
    assert wait_until(lambda: not runs(pid), 15)
    assert not (daemon.state_dir / "daemon.json").exists()
    assert "whiskd stops" in daemon.log


def test_a_stale_state_file_that_names_a_live_stranger_is_seen_through(daemon: Whiskd) -> None:
    """After a crash the pid in the file may be anybody's."""
    state = daemon.state
    daemon.kill9()
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    try:
        (daemon.state_dir / "daemon.json").write_text(json.dumps(state | {"pid": stranger.pid}))
        assert daemon.cli("daemon", "status").returncode == 3
        daemon.cli("daemon", "stop", check=0)
        assert stranger.poll() is None
        daemon.start()
        assert daemon.pid != stranger.pid
        assert stranger.poll() is None
    finally:
        stranger.communicate()


def test_a_wedged_daemon_is_ended_by_its_pid(daemon: Whiskd) -> None:
    pid = daemon.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        stopping = daemon.popen("daemon", "stop")
        # SIGTERM waits in the stopped process until it is let go on.
        assert stopping.stderr is not None
        assert b"does not answer" in stopping.stderr.readline()
    finally:
        os.kill(pid, signal.SIGCONT)
    stopping.communicate(timeout=30)
    assert stopping.returncode == 0
    assert not runs(pid)


def test_an_address_in_use_is_named(place: Whiskd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        addr = f"127.0.0.1:{foreign.getsockname()[1]}"
        done = place.cli("daemon", "start", "-addr", addr)
        assert done.returncode == 1
        assert f"cannot listen on {addr}" in done.stderr
        ran = place.cli("daemon", "run", "-addr", addr)
        assert ran.returncode == 1
        assert f"cannot listen on {addr}" in ran.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[daemon]\nadr = '127.0.0.1:0'\n", "daemon.adr: unknown setting; did you mean daemon.addr?"),
        ("[daemon]\naddr = '0.0.0.0:0'\n", None),
        ("[terminal]\nring_bytes = 'big'\n", "terminal.ring_bytes: expected `int`"),
    ],
)
def test_broken_settings_say_where(place: Whiskd, text: str, said: str | None) -> None:
    config = place.home / ".config/whisk/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(text)
    done = place.cli("daemon", "start", WHISKD_ADDR="")
    assert done.returncode == 1
    assert (said or "-allow-remote") in done.stderr
    if said:
        assert str(config) in done.stderr


def test_a_state_folder_that_cannot_be_had_is_named(place: Whiskd) -> None:
    (place.home / "file").write_text("")
    for words in (["daemon", "start"], ["daemon", "run"]):
        done = place.cli(*words, WHISK_STATE_DIR=str(place.home / "file" / "state"))
        assert done.returncode == 1
        assert "file/state" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_address_comes_from_option_then_variable_then_settings(place: Whiskd) -> None:
    config = place.home / ".config/whisk/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[daemon]\naddr = '127.0.0.2:0'\n")
    place.start(WHISKD_ADDR="")
    assert place.url.startswith("http://127.0.0.2:")
    place.stop()
    place.start(WHISKD_ADDR="127.0.0.3:0")
    assert place.url.startswith("http://127.0.0.3:")
    place.stop()
    place.start("-addr", "127.0.0.4:0", WHISKD_ADDR="127.0.0.3:0")
    assert place.url.startswith("http://127.0.0.4:")


def test_a_remote_address_needs_the_word_and_warns(place: Whiskd) -> None:
    assert place.cli("daemon", "start", "-addr", "0.0.0.0:0").returncode == 1
    place.start("-addr", "0.0.0.0:0", "-allow-remote")
    assert place.url.startswith("http://127.0.0.1:")
    assert "other machines can reach this daemon" in place.log


def test_a_home_of_150_characters_works(tmp_path: Path, place_in: Callable[[Path], Whiskd]) -> None:
    home = tmp_path / ("h" * max(20, 149 - len(str(tmp_path))))
    assert len(str(home)) >= 150
    place = place_in(home)
    place.start()
    assert place.json("daemon", "status")["running"]


def test_started_inside_an_agent_it_forgets_the_agent(place: Whiskd) -> None:
    place.start(CLAUDECODE="1", CLAUDE_CODE_ENTRYPOINT="cli", WHISK_PTY_ID="pty_outer", TMUX="x")
    # /proc shows the environment a process was given; its children are given what it has now.
    assert place.json("daemon", "status")["running"]


def test_a_version_skew_is_said_and_a_protocol_skew_refused(daemon: Whiskd) -> None:
    program = (
        "import sys, whisk\n"
        "whisk.__version__ = '9.9.9'\nwhisk.PROTOCOL_VERSION += int(sys.argv.pop(1))\n"
        "from whisk.cli.main import main\nsys.exit(main())\n"
    )

    def newer(skew: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, str(skew), "daemon", "start"]
        return subprocess.run(command, env=daemon.env, capture_output=True, text=True, timeout=60, check=False)

    same_protocol = newer(0)
    assert same_protocol.returncode == 0
    assert re.search(rf"is version {re.escape(__version__)}, this whisk is 9\.9\.9", same_protocol.stderr)
    other_protocol = newer(1)
    assert other_protocol.returncode == 1
    assert "speaks protocol" in other_protocol.stderr
    assert runs(daemon.pid)


def test_sighup_reopens_the_log(daemon: Whiskd) -> None:
    log = daemon.state_dir / "whiskd.log"
    log.rename(daemon.state_dir / "moved.log")
    os.kill(daemon.pid, signal.SIGHUP)
    assert wait_until(log.exists, 10)
    daemon.stop()
    assert "whiskd stops" in log.read_text()


def test_files_are_the_owners_alone(daemon: Whiskd) -> None:
    assert oct(daemon.state_dir.stat().st_mode & 0o777) == "0o700"
    for file in daemon.state_dir.iterdir():
        if file.is_file():
            assert file.stat().st_mode & 0o077 == 0, file


def test_a_stop_with_nothing_running_leaves_no_file_of_the_run(daemon: Whiskd) -> None:
    daemon.stop()
    left = sorted(path.name for path in daemon.state_dir.iterdir())
    assert "daemon.json" not in left
    assert "run" not in left


def test_a_person_who_asks_twice_does_not_wait(place: Whiskd) -> None:
    process = place.popen("daemon", "run")
    try:
        assert process.stderr is not None
        line = b""
        while b"whiskd is up" not in line:
            line = process.stderr.readline()
            assert line
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        assert process.returncode in (0, 1)
    finally:
        process.kill()
        process.communicate()


def test_an_address_of_somewhere_else_is_pointed_out(daemon: Whiskd) -> None:
    dead = "http://127.0.0.1:1"
    started = daemon.cli("daemon", "start", check=0, WHISKD_URL=dead)
    assert f"$WHISKD_URL names {dead}; the daemon of this state folder is at {daemon.url}" in started.stderr
    listed = daemon.cli("mail", "list", check=3, WHISKD_URL=dead)
    assert f"the daemon of this state folder is at {daemon.url}" in listed.stderr
    assert "-url names" in daemon.cli("mail", "list", "-url", dead, check=3).stderr
    assert daemon.cli("mail", "list", check=0).stderr == ""


def test_a_stop_that_ends_everything_is_nothing_to_warn_of(daemon: Whiskd) -> None:
    daemon.cli("session", "create", "-root", str(daemon.home), check=0)
    daemon.stop("-kill-ptys")
    assert {json.loads(line)["level"] for line in daemon.log.splitlines()} == {"info"}, daemon.log
    assert daemon.processes() == []
