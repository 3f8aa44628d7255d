"""The daemon's files: folders, lock, token, state file, log."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import gevent
import pytest
import structlog

from whisk import __version__
from whisk.cli import paths as client_paths
from whisk.cli import process as client_process
from whisk.clock import Instant
from whisk.daemon import log
from whisk.daemon.lock import DaemonLock
from whisk.daemon.paths import Paths
from whisk.daemon.state import DaemonState, is_alive, process_start_time, read_state, remove_state, write_state
from whisk.daemon.token import ensure_token, write_private
from whisk.errors import ConflictError, UnavailableError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("variables", [
    {},
    {"XDG_STATE_HOME": "/x/state"},
    {"WHISK_STATE_DIR": "/y/whisk"},
    {"WHISK_STATE_DIR": "relative/whisk"},
    {"XDG_STATE_HOME": " "},
])  # fmt: skip
def test_daemon_and_clients_agree_on_the_folder(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "WHISK_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    paths = Paths.from_env(os.environ)
    assert client_paths.state_dir(os.environ) == str(paths.state)
    assert client_paths.token_path(os.environ) == str(paths.token)
    assert client_paths.state_path(os.environ) == str(paths.state_file)
    assert client_paths.log_path(os.environ) == str(paths.log)


def test_folders_are_the_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir(mode=0o755)
    paths = Paths.from_env({"WHISK_STATE_DIR": str(tmp_path / "s")})
    paths.make()
    assert mode(paths.state) == mode(paths.runtime) == 0o700


def test_a_long_home_still_has_room_for_a_socket(tmp_path: Path) -> None:
    deep = {"WHISK_STATE_DIR": str(tmp_path / ("x" * 150))}
    paths = Paths.from_env(deep)
    paths.make()
    try:
        assert len(os.fsencode(paths.runtime / "a-name-of-some-length")) < 104
        assert Paths.from_env(deep).runtime == paths.runtime
        assert Paths.from_env({"WHISK_STATE_DIR": str(tmp_path / ("y" * 150))}).runtime != paths.runtime
    finally:
        paths.runtime.rmdir()


def test_a_folder_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match="file/s"):
        Paths.from_env({"WHISK_STATE_DIR": str(tmp_path / "file" / "s")}).make()


def test_the_lock_has_one_holder_and_names_it(tmp_path: Path) -> None:
    held = DaemonLock.acquire(tmp_path / "lock")
    with pytest.raises(ConflictError, match=f"already running pid {os.getpid()}"):
        DaemonLock.acquire(tmp_path / "lock")
    held.release()
    DaemonLock.acquire(tmp_path / "lock").release()


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    held = DaemonLock.acquire(tmp_path / "lock")
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    try:
        held.release()
        DaemonLock.acquire(tmp_path / "lock").release()
    finally:
        child.communicate()


def test_the_token_is_made_once_and_kept_private(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = ensure_token(path)
    assert len(token) == 43
    path.chmod(0o644)
    assert ensure_token(path) == token
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("broken", ["", "\n", "short\n", "with space in the middle of a long enough line\n"])
def test_a_broken_token_file_is_replaced(tmp_path: Path, broken: str) -> None:
    (tmp_path / "token").write_text(broken)
    assert len(ensure_token(tmp_path / "token")) == 43


@pytest.mark.parametrize("place", ["folder", "gone/file"])
def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing_behind(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnavailableError, match=f"cannot write {tmp_path / place}: "):
        write_private(tmp_path / place, "text")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def state_of(pid: int, started: float) -> DaemonState:
    return DaemonState(
        pid=pid, process_start_time=started, addr="127.0.0.1:1", url="http://127.0.0.1:1", version=__version__,
        protocol_version=1, started_at=Instant(0), log="/l",
    )  # fmt: skip


def test_a_state_is_read_back_and_removed_by_its_writer_only(tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    started = process_start_time(os.getpid())
    assert started is not None
    write_state(file, state_of(os.getpid(), started))
    assert mode(file) == 0o600
    state = read_state(file)
    assert state is not None
    assert is_alive(state)
    remove_state(file)
    assert read_state(file) is None
    write_state(file, state_of(1, 0.0))
    remove_state(file)
    assert read_state(file) is not None


def test_a_reused_pid_is_another_process() -> None:
    foreign = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        started = process_start_time(foreign.pid)
        assert started is not None
        assert is_alive(state_of(foreign.pid, started))
        assert client_process.start_time(foreign.pid) == started
        assert not is_alive(state_of(foreign.pid, started - 60))
    finally:
        foreign.communicate(b"\n")
    assert not is_alive(state_of(foreign.pid, started))


@pytest.mark.parametrize("text", ["", "{}", "[", '{"pid": "x"}'])
def test_a_broken_state_file_is_no_state(tmp_path: Path, text: str) -> None:
    (tmp_path / "daemon.json").write_text(text)
    assert read_state(tmp_path / "daemon.json") is None


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_log_lines_are_json_private_rotated_and_reopened(tmp_path: Path) -> None:
    file = tmp_path / "whiskd.log"
    level = logging.getLogger().level
    kept = log.start(file, size=2000)
    try:
        logger = structlog.get_logger("whisk.test")
        logger.info("hello", n=1, text="\x1b[31m\udcff")
        logging.getLogger("elsewhere").warning("from a library %d", 3)
        try:
            raise ValueError("broken")
        except ValueError:
            logger.exception("failed")
        gevent.spawn(lambda: 1 / 0).join()
        first, second, third, fourth = lines(file)
        assert (first["event"], first["n"], first["level"], first["logger"]) == ("hello", 1, "info", "whisk.test")
        assert (second["event"], second["level"]) == ("from a library 3", "warning")
        assert third["exception"][0]["exc_value"] == "broken"  # type: ignore[index]
        assert fourth["event"] == "a greenlet died"
        assert mode(file) == 0o600
        for number in range(40):
            logger.info("x" * 100, n=number)
        assert mode(tmp_path / "whiskd.log.1") == 0o600
        assert len(list(tmp_path.iterdir())) <= 1 + log.OLD_FILES
        file.rename(tmp_path / "moved")
        kept.reopen()
        logger.info("again")
        assert [line["event"] for line in lines(file)] == ["again"]
    finally:
        kept.close()
        logging.getLogger().setLevel(level)
        structlog.reset_defaults()
