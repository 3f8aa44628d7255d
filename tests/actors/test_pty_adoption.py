"""Terminals that outlive whoever reads them: a crashed actor, a killed daemon, a killed host."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.actors.conftest import SECONDS, Terminals, all_output, ended, killed, seen, wait_gone
from whisk import ptyhost
from whisk.actors.future import get
from whisk.actors.pty_host import tidy_host
from whisk.actors.pty_link import connect, host_paths
from whisk.errors import UnavailableError
from whisk.storage import terminal as storage

Make = Callable[..., Terminals]

DAEMON = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.actors.conftest import Terminals, seen
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
import gevent, structlog
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
terminals = Terminals(ActorSystem(), Path({folder!r}))
pty = terminals.sh({script!r})
seen(pty, {until!r})
print(get(pty.info.remote()).id, get(pty.info.remote()).pid, flush=True)
gevent.sleep(1000)
"""


def live_and_die(folder: Path, script: str, until: str) -> tuple[str, int]:
    """A whole process that launches a terminal, reads until it has seen `until`, and is killed; its id and pid."""
    code = DAEMON.format(root=str(Path(__file__).parents[2]), folder=str(folder), script=script, until=until)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        pty_id, pid = daemon.stdout.readline().split()
        daemon.send_signal(signal.SIGKILL)
    return pty_id, int(pid)


def test_a_crashed_actor_comes_back_with_everything(terminals: Terminals) -> None:
    pty = terminals.sh("stty -echo; echo up; i=0; while read x; do i=$((i+1)); echo $x $i; done; exit 9")
    seen(pty, "up")
    get(pty.write.remote(b"one\n"))
    at = seen(pty, "one 1\r\n")
    before = len(os.listdir("/dev/fd"))
    for word in ("two", "three"):
        get(terminals.system.restart(pty.name), SECONDS)
        get(pty.write.remote(word.encode() + b"\n"))
        at = seen(pty, word + r" \d\r\n", at)
    assert len(os.listdir("/dev/fd")) == before
    get(pty.write.remote(b"\x04"))
    assert ended(pty).exit_code == 9
    assert all_output(pty) == b"up\r\none 1\r\ntwo 2\r\nthree 3\r\n"


def test_whoever_waits_on_a_crashed_actor_is_told(terminals: Terminals) -> None:
    pty = terminals.sh("read x")
    waiting = [pty.follow.remote(0, 10, 30.0), pty.wait_exit.remote()]
    get(pty.info.remote())
    get(terminals.system.restart(pty.name), SECONDS)
    for each in waiting:
        with pytest.raises(UnavailableError):
            get(each, SECONDS)


def test_after_the_daemon_is_killed_the_next_one_has_all_output_and_the_exit_code(
    make_terminals: Make, tmp_path: Path
) -> None:
    script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; exit 7"
    pty_id, pid = live_and_die(tmp_path, script, r"line \d+")
    terminals = make_terminals(ring_bytes=1 << 20)
    pty = terminals.adopt(pty_id)
    info = ended(pty)
    assert (info.status, info.exit_code, info.pid) == ("exited", 7, pid)
    assert get(pty.read.remote(0, 1 << 20)).data == b"".join(b"line %d\r\n" % n for n in range(20000))
    assert get(terminals.host.children.remote()) == ()


def test_a_terminal_is_used_on_after_the_daemon_is_killed(make_terminals: Make, tmp_path: Path) -> None:
    pty_id, pid = live_and_die(tmp_path, "stty -echo; echo up; read x; echo got $x; exit 2", "up")
    terminals = make_terminals()
    pty = terminals.adopt(pty_id)
    info = get(pty.info.remote(), SECONDS)
    assert (info.status, info.pid, info.output_offset) == ("running", pid, 4)
    get(pty.write.remote(b"it\n"))
    assert ended(pty).exit_code == 2
    assert all_output(pty) == b"up\r\ngot it\r\n"


def test_a_child_killed_while_no_daemon_ran_has_exited_by_that_signal(make_terminals: Make, tmp_path: Path) -> None:
    pty_id, pid = live_and_die(tmp_path, "echo up; read x", "up")
    os.kill(pid, signal.SIGKILL)
    info = ended(make_terminals().adopt(pty_id))
    assert (info.status, info.exit_code, info.signal) == ("exited", 137, 9)


def test_a_terminal_whose_host_died_while_no_daemon_ran_is_lost(make_terminals: Make, tmp_path: Path) -> None:
    pty_id, pid = live_and_die(tmp_path, "echo up; read x", "up")
    host = int((tmp_path / "pty-host.lock").read_text())
    os.kill(host, signal.SIGKILL)
    wait_gone(host)
    wait_gone(pid)
    pty = make_terminals().adopt(pty_id)
    info = ended(pty)
    assert (info.status, info.exit_code, info.running) == ("lost", -1, False)
    assert all_output(pty) == b"up\r\n"


def test_an_ended_terminal_is_read_after_a_restart(make_terminals: Make) -> None:
    first = make_terminals()
    pty = first.sh("echo hello; exit 3")
    info = ended(pty)
    first.close()
    first.system.close()
    second = make_terminals()
    again = second.adopt(info.id)
    assert ended(again) == info
    assert all_output(again) == b"hello\r\n"


def test_a_graceful_stop_leaves_the_child_running_and_its_host_with_it(make_terminals: Make) -> None:
    first = make_terminals()
    pty = first.sh("echo up; read x; exit 6")
    seen(pty, "up")
    pty_id = get(pty.info.remote()).id
    first.system.close()
    first.store.close()
    second = make_terminals()
    again = second.adopt(pty_id)
    get(again.write.remote(b"\n"), SECONDS)
    assert ended(again).exit_code == 6


def test_when_the_host_is_killed_open_terminals_go_on_until_they_end_as_lost(terminals: Terminals) -> None:
    pty = terminals.sh("stty -echo; trap '' HUP; while read x; do echo got $x; done; exit 3")
    host = terminals.system.describe("pty-host").facts["host"]
    os.kill(host, signal.SIGKILL)
    get(pty.write.remote(b"one\n"))
    seen(pty, "got one")
    assert get(pty.info.remote()).status == "running"
    fresh = terminals.sh("exit 4")
    assert ended(fresh).exit_code == 4
    assert terminals.system.describe("pty-host").facts["host"] != host
    assert terminals.system.describe(pty.name).facts["hostLost"]
    get(pty.write.remote(b"\x04"))
    info = ended(pty)
    assert (info.status, info.exit_code) == ("lost", -1)
    record = terminals.store.read(lambda db: storage.get(db, info.id))
    assert record.status == "lost"


def test_an_exit_is_not_missed_when_the_link_breaks_or_its_actor_crashes(terminals: Terminals) -> None:
    ptys = [terminals.sh("read x; exit 8") for _ in range(3)]
    host = terminals.system.describe("pty-host").facts["host"]
    link = terminals.system._cells["pty-host"].actor._link  # type: ignore[union-attr]
    link._sock.shutdown(socket.SHUT_RDWR)
    get(ptys[0].write.remote(b"\n"))
    assert ended(ptys[0]).exit_code == 8
    restarted = terminals.system.restart("pty-host")
    get(ptys[1].write.remote(b"\n"))
    get(restarted, SECONDS)
    assert ended(ptys[1]).exit_code == 8
    get(ptys[2].write.remote(b"\n"))
    assert ended(ptys[2]).exit_code == 8
    assert terminals.system.describe("pty-host").facts["host"] == host


def test_a_terminal_without_a_host_can_still_be_killed(terminals: Terminals) -> None:
    pty = terminals.sh("trap '' HUP; echo up; read x; read x")
    seen(pty, "up")
    os.kill(terminals.system.describe("pty-host").facts["host"], signal.SIGKILL)
    fresh = terminals.sh("exit 0")
    ended(fresh)
    report = killed(pty, 0.2)
    assert (report.left, report.info.status) == ((), "killed")


def test_what_a_host_holds_of_terminals_that_ended_is_tidied_up(make_terminals: Make, tmp_path: Path) -> None:
    pty_id, pid = live_and_die(tmp_path, "echo up; read x", "up")
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)
    terminals = make_terminals()
    host = terminals.host
    assert tidy_host(host, terminals.store) == []
    assert [(child.key, child.signal) for child in get(host.children.remote(), SECONDS)] == [(pty_id, 9)]
    get(terminals.journal.write.remote(lambda db: storage.delete(db, pty_id)))
    assert tidy_host(host, terminals.store) == []
    assert get(host.children.remote(), SECONDS) == ()


def test_a_child_that_runs_without_a_record_is_named_and_left_alone(terminals: Terminals) -> None:
    pty = terminals.sh("read x")
    pty_id = get(pty.info.remote()).id
    get(terminals.journal.write.remote(lambda db: storage.delete(db, pty_id)))
    assert tidy_host(terminals.host, terminals.store) == [pty_id]
    (child,) = get(terminals.host.children.remote())
    assert not child.ended
    # Without its record the terminal cannot end as others do.
    get(terminals.host.end_host.remote(force=True), SECONDS)


@pytest.fixture
def other_host(tmp_path: Path) -> int:
    """The pty host of another whisk, which speaks another protocol, has the folder; its pid."""
    other = tmp_path / "other.py"
    other.write_text(Path(ptyhost.__file__).read_text().replace("PROTOCOL = 1", "PROTOCOL = 99"))
    command = [sys.executable, "-I", "-S", str(other), "--socket", str(tmp_path / "pty-host.sock")]
    command += ["--lock", str(tmp_path / "pty-host.lock"), "--log", str(tmp_path / "pty-host.log"), "--idle", "20"]
    subprocess.run(command, check=True, timeout=SECONDS)
    return int((tmp_path / "pty-host.lock").read_text())


def test_another_whisks_host_that_holds_nothing_is_replaced(make_terminals: Make, other_host: int) -> None:
    terminals = make_terminals()
    assert ended(terminals.sh("exit 1")).exit_code == 1
    wait_gone(other_host)
    assert terminals.system.describe("pty-host").facts["host"] != other_host


def test_another_whisks_host_that_holds_terminals_keeps_them_and_is_named(tmp_path: Path, other_host: int) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(tmp_path / "pty-host.sock"))
        spawn = {"id": 1, "op": "spawn", "key": "a", "argv": ["/bin/sh", "-c", "read x"], "env": {}, "cwd": "/"}
        sock.sendall(ptyhost.frame(spawn | {"cols": 80, "rows": 24}))
        sock.recv(4096)
        with pytest.raises(UnavailableError, match=f"process {other_host}, protocol 99, ours is 1"):
            connect(host_paths(tmp_path, tmp_path), start=False)
        sock.sendall(ptyhost.frame({"id": 2, "op": "shutdown", "force": True}))
        wait_gone(other_host)
