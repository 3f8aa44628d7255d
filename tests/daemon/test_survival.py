"""What happens to terminals when the daemon starts, stops, and is killed."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from whisk.cli.process import start_time, wait_until
from whisk.daemon.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.daemon.conftest import Whiskd

# A child that cannot be talked into ending, with a grandchild of the same mind in a session of its own.
STUBBORN = """
import os, signal, time
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
os.write(1, f"stubborn {os.getpid()}\\n".encode())
while True:
    time.sleep(60)
"""


def start_terminal(place: Whiskd, *program: str, **env: str) -> str:
    """A session with `program` in its terminal; returns the terminal's id."""
    session = place.cli("session", "create", "-root", str(place.home), "-pty=false", check=0).stdout.strip()
    return place.cli("session", "pty", "start", session, "--", *program, check=0, **env).stdout.split()[0]


def output(place: Whiskd, pty: str) -> str:
    return place.cli("session", "pty", "output", pty, check=0).stdout.replace("\r\n", "\n")


def expect(place: Whiskd, pty: str, pattern: str) -> None:
    place.cli("session", "pty", "expect", pty, pattern, "-from", "0", "-timeout", "20s", check=0)


def status(place: Whiskd, pty: str) -> str:
    return str(next(each["status"] for each in place.get("/v1/ptys") if each["id"] == pty))


def test_a_terminal_outlives_a_stop_and_is_adopted(daemon: Whiskd) -> None:
    pty = start_terminal(daemon, "sh", "-c", "echo before; read line; echo got $line; exit 7")
    expect(daemon, pty, "before")
    stopped = daemon.cli("daemon", "stop", check=0)
    assert "1 terminal kept running" in stopped.stderr
    daemon.start()
    daemon.cli("session", "pty", "write", pty, "-data", "after\n", check=0)
    expect(daemon, pty, "got after")
    assert output(daemon, pty).startswith("before\n")
    assert wait_until(lambda: status(daemon, pty) == "exited", 10)
    assert next(each["exitCode"] for each in daemon.get("/v1/ptys") if each["id"] == pty) == 7


def test_what_a_terminal_says_while_no_daemon_runs_is_not_lost(daemon: Whiskd) -> None:
    gate = daemon.home / "gate"
    os.mkfifo(gate)
    pty = start_terminal(daemon, "sh", "-c", f"echo ready; cat {gate}; seq 1 5000; echo end")
    expect(daemon, pty, "ready")
    daemon.kill9()
    gate.write_text("")
    daemon.start()
    expect(daemon, pty, r"end\r?\n")
    assert output(daemon, pty).split() == ["ready", *(str(number) for number in range(1, 5001)), "end"]


def test_panes_and_detached_terminals_are_as_they_were_and_what_was_asked_meanwhile_is_answered(daemon: Whiskd) -> None:
    gate = daemon.home / "gate"
    os.mkfifo(gate)
    script = f"stty raw -echo; printf ready; cat {gate}; printf 'ab\\033[6n'; head -c 6 | cat -v; read x"
    asking = start_terminal(daemon, "sh", "-c", script)
    session = daemon.get(f"/v1/ptys/{asking}")["sessionId"]
    split = ("session", "split", session, "-direction", "vertical", "--", "sh", "-c", "echo up; read x; echo got $x")
    _, detached = daemon.cli(*split, check=0).stdout.split()
    daemon.cli("session", "pty", "detach", detached, check=0)
    before = daemon.json("session", "show", session), daemon.get(f"/v1/ptys/{detached}")
    expect(daemon, asking, "ready")
    expect(daemon, detached, "up")
    daemon.kill9()
    gate.write_text("")
    daemon.start()
    session_after, info = daemon.json("session", "show", session), daemon.get(f"/v1/ptys/{detached}")
    assert session_after == before[0]
    for name in ("running", "sessionId", "paneId", "originPaneId", "windowId", "originWindowId", "pid"):
        assert info[name] == before[1][name], name
    assert info["paneId"] == ""
    # The cursor stands behind "ready" and what was printed while nobody looked.
    expect(daemon, asking, r"\^\[\[1;8R")
    daemon.cli("session", "pty", "write", detached, "-data", "it\n", check=0)
    expect(daemon, detached, "got it")


def test_stop_with_kill_ptys_ends_the_stubborn_in_time(daemon: Whiskd) -> None:
    pty = start_terminal(daemon, sys.executable, "-c", STUBBORN)
    expect(daemon, pty, r"stubborn \d+\D+stubborn \d+")
    pids = [int(word) for word in output(daemon, pty).split() if word.isdigit()]
    assert len(pids) == 2
    began = time.monotonic()
    daemon.stop("-kill-ptys")
    assert time.monotonic() - began < 15
    assert [pid for pid in pids if start_time(pid) is not None] == []


def test_sigterm_with_a_stubborn_child_is_over_in_time(daemon: Whiskd) -> None:
    """The child keeps running: nothing but a direct request ends an agent."""
    pty = start_terminal(daemon, sys.executable, "-c", STUBBORN)
    expect(daemon, pty, r"stubborn \d+\D+stubborn \d+")
    pid = daemon.pid
    os.kill(pid, signal.SIGTERM)
    assert wait_until(lambda: start_time(pid) is None, 15)
    daemon.start()
    assert status(daemon, pty) == "running"


def test_what_an_agent_is_told_is_its_own_and_nothing_of_an_outer_agent(place: Whiskd) -> None:
    outer = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CODEX_THREAD_ID": "t",
        "TMUX": "/tmp/tmux,1,0",
        "WHISK_PTY_ID": "pty_outer",
        "WHISK_RUN_ID": "run_outer",
        "WHISK_AGENT_BRIDGE_TOKEN": "secret",
        "ANTHROPIC_API_KEY": "mine",
    }
    place.start(**outer)
    dump = "import json, os; print('<' + json.dumps(dict(os.environ)) + '>')"
    pty = start_terminal(place, sys.executable, "-c", dump)
    expect(place, pty, ">\r?\n")
    env = json.loads(output(place, pty).strip().strip("<>"))
    for name in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_THREAD_ID", "TMUX", "WHISK_RUN_ID"):
        assert name not in env
    assert "WHISK_AGENT_BRIDGE_TOKEN" not in env
    assert env["ANTHROPIC_API_KEY"] == "mine"
    assert env["WHISK_PTY_ID"] == pty
    assert env["WHISKD_URL"] == place.url
    assert os.access(env["WHISK_CLI"], os.X_OK)


def test_the_cli_that_an_agent_is_given_works_from_its_terminal(daemon: Whiskd) -> None:
    pty = start_terminal(daemon, "sh", "-c", '"$WHISK_CLI" session list; echo code $?')
    expect(daemon, pty, r"code \d")
    assert "code 0" in output(daemon, pty)
    assert "sess_" in output(daemon, pty)


def test_terminals_work_below_a_home_of_150_characters(tmp_path: Path, place_in: Callable[[Path], Whiskd]) -> None:
    place = place_in(tmp_path / ("h" * max(20, 149 - len(str(tmp_path)))))
    place.start()
    pty = start_terminal(place, "sh", "-c", f"echo {shlex.quote('hello')}; read x")
    expect(place, pty, "hello")
    place.kill9()
    place.start()
    assert status(place, pty) == "running"
    runtime = Paths.from_env({"WHISK_STATE_DIR": str(place.state_dir)}).runtime
    assert runtime.parent == Path("/tmp")
    place.stop("-kill-ptys")
    assert not runtime.exists()
