"""Ending what runs in a terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.actors.conftest import SECONDS, Terminals, all_output, ended, killed, seen, wait_gone
from whisk.actors.census import Census
from whisk.actors.future import get
from whisk.actors.pty import PtyHandle
from whisk.actors.pty_kill import Quarry, end_all
from whisk.errors import InvalidError
from whisk.ids import new_id

STUBBORN = "import os, signal, time; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]; {}; time.sleep(1000)"


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def pids(pty: PtyHandle, count: int) -> list[int]:
    """The numbers that the children printed as `<n>`."""
    pattern = ".*?".join([r"<(\d+)>"] * count)
    found = get(pty.expect.options(timeout=None).remote((pattern,), SECONDS, 0), SECONDS)
    return [int(group or 0) for group in found.groups]


def is_running(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_a_child_that_obeys_a_hangup_needs_no_more(terminals: Terminals) -> None:
    pty = terminals.sh("echo up; exec sleep 1000")
    seen(pty, "up")
    report = killed(pty)
    assert (report.last_signal, report.left) == ("HUP", ())
    assert (report.info.status, report.info.signal, report.info.exit_code) == ("killed", signal.SIGHUP, 129)


def test_a_child_that_traps_term_ends_in_its_own_way(terminals: Terminals) -> None:
    pty = terminals.sh("trap '' HUP; trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done")
    seen(pty, "up")
    report = killed(pty, 0.5)
    assert report.last_signal == "TERM"
    assert (report.info.status, report.info.exit_code) == ("killed", 5)
    assert b"bye" in all_output(pty)


def test_a_child_that_ignores_all_but_kill_and_its_grandchild_with_a_session_of_its_own_are_gone(
    terminals: Terminals,
) -> None:
    grandchild = STUBBORN.format("os.setsid(); print(f'<{os.getpid()}>', flush=True)")
    child = STUBBORN.format(
        f"import subprocess; subprocess.Popen({python(grandchild)!r}); print(f'<{{os.getpid()}}>', flush=True)"
    )
    pty = terminals.launch(*python(child))
    family = pids(pty, 2)
    report = killed(pty, 0.1)
    assert (report.last_signal, report.signalled, report.left) == ("KILL", 2, ())
    assert report.info.status == "killed"
    assert not [pid for pid in family if is_running(pid)]


def test_an_orphan_in_another_session_is_found_by_its_mark(terminals: Terminals) -> None:
    orphan = STUBBORN.format("os.setsid(); print(f'<{os.getpid()}>', flush=True)")
    pty = terminals.launch("/bin/sh", "-c", f'"$0" -I -S -c "$1" & read x', sys.executable, orphan)  # noqa: F541
    (pid,) = pids(pty, 1)
    get(pty.write.remote(b"\n"))
    assert ended(pty).exit_code == 0
    assert is_running(pid)
    assert killed(pty, 0.1).signalled == 1
    assert not is_running(pid)


def test_a_grandchild_without_the_mark_is_found_while_its_parents_live(terminals: Terminals) -> None:
    grandchild = STUBBORN.format("os.setsid(); print(f'<{os.getpid()}>', flush=True)")
    code = f"import subprocess, time; subprocess.Popen({python(grandchild)!r}, env={{}}); time.sleep(1000)"
    pty = terminals.launch(*python(code))
    (pid,) = pids(pty, 1)
    killed(pty, 0.1)
    assert not is_running(pid)


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="needs bash")
def test_jobs_of_an_interactive_shell_are_ended_even_when_they_were_stopped(terminals: Terminals) -> None:
    pty = terminals.launch("/bin/bash", "--norc", "-i")
    get(pty.write.remote(b'sh -c \'echo "<$$>"; trap "" HUP; kill -STOP $$\' &\r'))
    (stopped,) = pids(pty, 1)
    get(pty.write.remote(b"sleep 1000\r"))
    report = killed(pty, 0.5)
    assert report.left == ()
    assert not is_running(stopped)


def test_a_process_that_flees_into_its_successor_again_and_again_does_not_escape(terminals: Terminals) -> None:
    # One at a time, and after two hundred turns none: a test must not be able to eat the machine.
    flight = "import os, signal, time\nsignal.signal(1, signal.SIG_IGN); signal.signal(15, signal.SIG_IGN)\n"
    flight += "print('up', flush=True)\nfor _ in range(200):\n    time.sleep(0.05)\n"
    flight += "    if os.fork(): os._exit(0)\n    os.setsid()"
    pty = terminals.launch("/bin/sh", "-c", '"$0" -I -S -c "$1" & read x', sys.executable, flight)
    seen(pty, "up")
    report = killed(pty, 0.1)
    mark = get(pty.info.remote()).id
    left = [p for p in psutil.process_iter() if _mark(p) == mark and is_running(p.pid)]
    assert (report.left, left) == ((), [])


def _mark(process: psutil.Process) -> str | None:
    with contextlib.suppress(psutil.Error):
        return process.environ().get("WHISK_PTY_ID")
    return None


def test_two_who_kill_at_once_get_one_report(terminals: Terminals) -> None:
    pty = terminals.sh("echo up; sleep 1000")
    seen(pty, "up")
    kills = [pty.kill.options(timeout=None).remote() for _ in range(2)]
    first, second = get(kills, SECONDS)
    assert first == second
    again = killed(pty)
    assert (again.info, again.last_signal, again.signalled) == (first.info, "", 0)


def test_a_process_outside_that_only_looks_alike_is_left_alone(terminals: Terminals) -> None:
    pty = terminals.sh("echo up; sleep 1000")
    seen(pty, "up")
    mark = get(pty.info.remote()).id
    other = subprocess.Popen(["sleep", "1000"], env={"PATH": os.environ["PATH"], "WHISK_PTY_ID": f"{mark}X"})
    killed(pty)
    assert other.poll() is None
    other.kill()
    other.wait(SECONDS)


def test_the_daemon_and_what_it_started_are_spared_though_they_carry_the_mark() -> None:
    env = {"PATH": os.environ["PATH"], "WHISK_PTY_ID": new_id("pty")}
    script = "env -i /bin/sh -c 'echo up; exec sleep 1000' & wait"
    daemon = subprocess.Popen(["/bin/sh", "-c", script], env=env, stdout=subprocess.PIPE)
    try:
        # Until then the child is a copy of its parent, mark and all.
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"up\n"
        outcome = end_all(Quarry(env["WHISK_PTY_ID"], None, None, frozenset({daemon.pid})), 0.1, Census())
        assert outcome == ("", 0, ())
        assert daemon.poll() is None
        assert end_all(Quarry(env["WHISK_PTY_ID"], None, None, frozenset()), 0.5, Census()).signalled == 2
    finally:
        daemon.kill()
        daemon.wait(SECONDS)
        daemon.stdout.close()  # type: ignore[union-attr]


def test_the_grace_is_checked(terminals: Terminals) -> None:
    pty = terminals.sh("read x")
    for grace in (-1, 31, float("nan")):
        with pytest.raises(InvalidError):
            get(pty.kill.remote(grace))


def test_a_child_that_is_killed_from_outside_has_exited_by_a_signal(terminals: Terminals) -> None:
    pty = terminals.sh("echo up; sleep 1000")
    seen(pty, "up")
    pid = get(pty.info.remote()).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)
    assert (ended(pty).status, ended(pty).exit_code) == ("exited", 137)
