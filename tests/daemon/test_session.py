"""`whisk session …` and `whisk agent …` against a real daemon with real terminals."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import Whiskd


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    return tmp_path / "src"


def shell(daemon: Whiskd, root: Path, script: str) -> tuple[str, str]:
    """A session and the terminal in it that runs `script`."""
    session = daemon.cli("session", "create", "-root", str(root), "-pty=false", check=0).stdout.strip()
    pty = daemon.cli("session", "pty", "start", session, "--", "/bin/sh", "-c", script, check=0).stdout.strip()
    return session, pty


def test_create_prints_the_bare_id_and_json_everything(shared_daemon: Whiskd, root: Path) -> None:
    printed = shared_daemon.cli("session", "create", "-root", str(root), "-name", "one", check=0).stdout
    assert printed.startswith("sess_")
    assert printed.count("\n") == 1
    made = shared_daemon.json("session", "create", "-root", str(root), "-command", "echo $((6*7))", "-cols", "100")
    assert made["session"]["name"] == "src"
    assert made["ptyId"].startswith("pty_")
    listed = {each["id"]: each for each in shared_daemon.json("session", "list")}
    assert listed[printed.strip()]["name"] == "one"
    found = shared_daemon.cli("session", "pty", "expect", made["ptyId"], r"42\r", "-timeout", "10s", check=0)
    assert found.stdout.strip() == "42"
    (info,) = [each for each in shared_daemon.json("session", "pty", "list") if each["id"] == made["ptyId"]]
    assert info["cols"] == 100


def test_tables_have_the_columns_that_scripts_know(shared_daemon: Whiskd, root: Path) -> None:
    session, pty = shell(shared_daemon, root, "read x")
    lines = shared_daemon.cli("session", "list", check=0).stdout.splitlines()
    assert lines[0].split() == ["ID", "PROJECT", "NAME", "ROOT", "PANES"]
    (row,) = [line.split() for line in lines if line.startswith(session)]
    assert row == [session, "src", str(root), "1"]
    lines = shared_daemon.cli("session", "pty", "list", session, check=0).stdout.splitlines()
    assert lines[0].split() == ["ID", "STATUS", "AGENT", "SESSION", "PANE", "DIR"]
    assert lines[1].split()[:3] == [pty, "running", session]
    lines = shared_daemon.cli("agent", "profiles", check=0).stdout.splitlines()
    assert lines[0].split() == [
        "ID", "PROVIDER", "SOURCE", "PLUGIN", "LAUNCHABLE", "INSTALLED", "LABEL", "DESCRIPTION"
    ]  # fmt: skip
    assert [line.split()[0] for line in lines[1:3]] == ["claude", "claude-plan"]


def test_a_relative_root_is_the_callers_folder(shared_daemon: Whiskd, root: Path) -> None:
    done = subprocess.run(
        ["python3", "-m", "whisk.cli.main", "session", "create", "-root", ".", "-pty=false", "-json"],
        cwd=root, env=shared_daemon.env, capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["session"]["rootDir"] == str(root.resolve())


def test_update_set_root_and_close_print_the_id(shared_daemon: Whiskd, root: Path) -> None:
    session = shared_daemon.cli("session", "create", "-root", str(root), "-pty=false", check=0).stdout.strip()
    assert shared_daemon.cli("session", "update", session, "-clear-project", check=0).stdout == f"{session}\n"
    assert shared_daemon.cli("session", "update", session, check=2).stderr.startswith("whisk: give exactly one of")
    (root / "sub").mkdir()
    moved = shared_daemon.cli("session", "set-root", session, str(root / "sub"), check=0).stdout
    assert moved == f"{session}\t{root}/sub\n"
    assert shared_daemon.cli("session", "close", session, check=0).stdout == f"{session}\n"
    assert "not found" in shared_daemon.cli("session", "close", session, check=1).stderr


def test_a_refusal_is_exit_1_and_names_what_was_wrong(shared_daemon: Whiskd, root: Path) -> None:
    assert "root dir invalid" in shared_daemon.cli("session", "create", "-root", "/no/such", check=1).stderr
    refused = shared_daemon.cli("session", "create", "-root", str(root), "-agent-profile", "x", "-json", check=1)
    assert json.loads(refused.stderr)["code"] == "invalid"
    assert shared_daemon.cli("session", "create", check=2).stderr.startswith("whisk: -root is required")
    assert "not found" in shared_daemon.cli("session", "pty", "output", "pty_x", check=1).stderr
    assert "not found" in shared_daemon.cli("session", "pty", "start", "sess_x", check=1).stderr


def test_output_comes_raw_plain_as_base64_and_from_an_offset(shared_daemon: Whiskd, root: Path) -> None:
    _, pty = shell(shared_daemon, root, "printf '\\033[31mr\\303\\251d\\033[0m\\n'; read x")
    shared_daemon.cli("session", "pty", "expect", pty, "d", check=0)
    raw = b"\x1b[31mr\xc3\xa9d\x1b[0m\r\n"
    assert shared_daemon.cli("session", "pty", "output", pty, check=0).stdout.encode() == raw
    assert shared_daemon.cli("session", "pty", "output", "-plain", pty, check=0).stdout == "réd\n"
    encoded = shared_daemon.cli("session", "pty", "output", pty, "-base64", check=0).stdout
    assert base64.b64decode(encoded) == raw
    part = shared_daemon.json("session", "pty", "output", pty, "-from", "5")
    assert (part["output"], part["offset"]) == (raw[5:].decode(), len(raw))
    assert shared_daemon.json("session", "pty", "output", pty, "-from", "end")["output"] == ""
    assert shared_daemon.cli("session", "pty", "output", pty, "-from", "x", check=2).stderr.startswith("whisk: -from")


def test_long_output_is_fetched_whole(shared_daemon: Whiskd, root: Path) -> None:
    _, pty = shell(shared_daemon, root, "seq 1 300000; echo done; read x")
    shared_daemon.cli("session", "pty", "expect", pty, "done", check=0)
    lines = shared_daemon.cli("session", "pty", "output", "-plain", pty, check=0).stdout.splitlines()
    assert lines == [*map(str, range(1, 300_001)), "done"]


def test_what_is_written_is_typed(shared_daemon: Whiskd, root: Path) -> None:
    _, pty = shell(shared_daemon, root, 'stty -echo; echo up; while read x; do echo "<$x>"; done')
    shared_daemon.cli("session", "pty", "expect", pty, "up", check=0)
    shared_daemon.cli("session", "pty", "write", pty, "-data", "-one two", "-enter", check=0)
    assert shared_daemon.cli("session", "pty", "expect", pty, "<.*>", check=0).stdout == "<-one two>\n"
    text = "".join(f"line {number} é\n" for number in range(2000))
    shared_daemon.cli("session", "pty", "write", pty, "-stdin", input=text, check=0)
    shared_daemon.cli("session", "pty", "expect", pty, "-exact", "<line 1999 é>", check=0)
    shown = shared_daemon.cli("session", "pty", "output", "-plain", pty, check=0).stdout
    assert [line for line in shown.splitlines() if line.startswith("<line")] == [
        f"<line {number} é>" for number in range(2000)
    ]
    assert shared_daemon.cli("session", "pty", "write", pty, check=2).stderr.startswith("whisk: give exactly one of")


def test_tail_follows_until_the_end(shared_daemon: Whiskd, root: Path) -> None:
    _, pty = shell(shared_daemon, root, "echo one; read x; printf '\\033[1mtwo\\033[0m\\n'")
    tail = shared_daemon.popen("session", "pty", "tail", "-plain", "-from", "0", pty)
    assert tail.stdout is not None
    assert tail.stdout.readline() == b"one\n"
    shared_daemon.cli("session", "pty", "write", pty, "-data", "", "-enter", check=0)
    rest, _ = tail.communicate(timeout=20)
    assert rest == b"\ntwo\n"
    assert tail.returncode == 0
    once = shared_daemon.cli("session", "pty", "tail", "-once", "-from", "0", "-plain", pty, check=0).stdout
    assert once == "one\n\ntwo\n"


def test_an_interrupted_tail_is_exit_130(shared_daemon: Whiskd, root: Path) -> None:
    _, pty = shell(shared_daemon, root, "echo one; read x")
    tail = shared_daemon.popen("session", "pty", "tail", "-from", "0", pty)
    assert tail.stdout is not None
    tail.stdout.readline()
    tail.send_signal(signal.SIGINT)
    tail.communicate(timeout=20)
    assert tail.returncode in (0, 130)


def test_a_pattern_that_does_not_come_is_a_typed_refusal(shared_daemon: Whiskd, root: Path) -> None:
    _, pty = shell(shared_daemon, root, "echo here; read x")
    shared_daemon.cli("session", "pty", "expect", pty, "here", check=0)
    late = shared_daemon.cli("session", "pty", "expect", pty, "there", "-timeout", "50ms", "-json", check=1)
    told = json.loads(late.stderr)
    assert told["code"] == "deadline"
    assert "here" in told["details"]["seen"]


def test_resize_and_kill(shared_daemon: Whiskd, root: Path) -> None:
    _, pty = shell(shared_daemon, root, "trap 'stty size' WINCH; echo up; while :; do read x; done")
    shared_daemon.cli("session", "pty", "expect", pty, "up", check=0)
    assert shared_daemon.cli("session", "pty", "resize", pty, "-cols", "91", "-rows=33", check=0).stdout == ""
    shared_daemon.cli("session", "pty", "expect", pty, "33 91", check=0)
    assert (
        "between 1 and 1000"
        in shared_daemon.cli("session", "pty", "resize", pty, "-cols", "65535", "-rows", "33", check=1).stderr
    )
    assert (
        "at least 1" in shared_daemon.cli("session", "pty", "resize", pty, "-cols", "0", "-rows", "0", check=2).stderr
    )
    assert shared_daemon.cli("session", "pty", "kill", pty, check=0).stdout == f"{pty}\tkilled\n"


def test_panes_are_found_and_made_for_a_terminal(shared_daemon: Whiskd, root: Path) -> None:
    session, _ = shell(shared_daemon, root, "read x")
    full = shared_daemon.cli("session", "pty", "start", session, check=2)
    assert "make another with -split" in full.stderr
    split = shared_daemon.json("session", "pty", "start", session, "-split", "vertical", "-command", "echo $((6*7))")
    shared_daemon.cli("session", "pty", "expect", split["ptyId"], "42", check=0)
    assert len(split["session"]["panes"]) == 2


def test_a_child_can_call_back_with_what_it_was_given(shared_daemon: Whiskd, root: Path) -> None:
    made = shared_daemon.json(
        "session", "create", "-root", str(root), "-command", '"$WHISK_CLI" session list -json | head -c 60; echo EN""D'
    )
    shared_daemon.cli("session", "pty", "expect", made["ptyId"], "END", "-timeout", "20s", check=0)
    shown = shared_daemon.cli("session", "pty", "output", "-plain", made["ptyId"], check=0).stdout
    assert '"id": "sess_' in shown


def test_what_an_agent_shows_cannot_write_into_the_persons_terminal(shared_daemon: Whiskd, root: Path) -> None:
    """Names come from the outside too; a table must not carry their escape sequences."""
    evil = "\x1b]0;owned\x07\x1b[2Jname\u202e"
    made = shared_daemon.post("/v1/sessions", {"rootDir": str(root), "name": evil})
    shown = shared_daemon.cli("session", "list", check=0).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith(made["session"]["id"])]
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert " name " in line


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_a_long_command_is_typed_whole_or_not_at_all(shared_daemon: Whiskd, root: Path, shell: str) -> None:
    def create(length: int, check: int) -> subprocess.CompletedProcess[str]:
        command = f"echo {'x' * length} | wc -c; echo do''ne"
        return shared_daemon.cli(
            *("session", "create", "-root", str(root), "-env", f"SHELL={shell}", "-command", command, "-json"),
            check=check,
        )

    pty = json.loads(create(1500, check=0).stdout)["ptyId"]
    shared_daemon.cli("session", "pty", "expect", pty, "done", "-from", "0", check=0)
    assert "1501\n" in shared_daemon.cli("session", "pty", "output", "-plain", pty, check=0).stdout
    before = shared_daemon.json("session", "list")
    assert json.loads(create(5000, check=1).stderr)["code"] == "too_large"
    assert shared_daemon.json("session", "list") == before


def test_what_a_terminal_said_is_remembered_behind_its_session(shared_daemon: Whiskd, root: Path) -> None:
    session, pty = shell(shared_daemon, root, "printf '\\033[1mb\\303\\251\\033[0m\\n'; exit 3")
    shared_daemon.cli("session", "pty", "tail", "-from", "0", pty, check=0)
    shared_daemon.cli("session", "close", session, check=0)
    listed = shared_daemon.cli("pty", "history", "list", "-session", session, check=0).stdout.splitlines()
    assert listed[0].split() == ["ID", "STATUS", "EXIT", "STARTED", "COMMAND"]
    assert listed[1].split()[:3] == [pty, "exited", "3"]
    assert shared_daemon.json("pty", "history", "list", "-limit", "1")[0]["ptyId"] == pty
    raw = b"\x1b[1mb\xc3\xa9\x1b[0m\r\n"
    assert shared_daemon.cli("pty", "history", "show", pty, check=0).stdout.encode() == raw
    assert shared_daemon.cli("pty", "history", "show", pty, "-plain", check=0).stdout == "b\u00e9\n"
    part = shared_daemon.json("pty", "history", "show", "-from", "4", "-limit", "2", pty)
    assert (part["output"], part["offset"], part["end"]) == ("b", 6, len(raw))
    assert "not found" in shared_daemon.cli("pty", "history", "show", "pty_x", check=1).stderr
    assert shared_daemon.cli("pty", "history", "show", pty, "-plain", "-json", check=2).stderr


def lines_of(shown: str) -> list[list[str]]:
    return [line.split() for line in shown.splitlines()]


def test_panes_are_split_shown_moved_and_closed(shared_daemon: Whiskd, root: Path) -> None:
    session, pty = shell(shared_daemon, root, "read x")
    (pane,) = shared_daemon.json("session", "show", session)["panes"]
    right, other = shared_daemon.cli(
        "session", "split", session, "--", "/bin/sh", "-c", "echo right; read x", check=0
    ).stdout.split()
    shared_daemon.cli("session", "pty", "expect", other, "right", check=0)
    below = shared_daemon.cli(
        "session", "split", session, "-pane", right, "-direction", "vertical", "-pty=false", check=0
    ).stdout.strip()
    shown = lines_of(shared_daemon.cli("session", "show", session, check=0).stdout)
    assert shown[0] == [session]
    assert shown[-4] == ["PANE", "PLACE", "PTY", "STATUS", "DIR"]
    assert shown[-3:] == [
        [pane, "h1", pty, "running", str(root)],
        [right, "h2.v1", other, "running", str(root)],
        [below, "h2.v2", str(root)],
    ]
    (root / "sub").mkdir()
    moved = shared_daemon.cli("session", "pane", "set-dir", session, below, str(root / "sub"), check=0).stdout
    assert moved == f"{below}\t{root}/sub\n"
    refused = shared_daemon.cli("session", "pane", "set-dir", session, right, str(root), check=1).stderr
    assert "while the pane's pty runs" in refused
    assert shared_daemon.cli("session", "pane", "close", session, right, check=0).stdout == f"{right}\n"
    assert shared_daemon.get(f"/v1/ptys/{other}")["status"] == "killed"
    shared_daemon.cli("session", "pane", "close", session, below, check=0)
    last = shared_daemon.cli("session", "pane", "close", session, pane, check=1).stderr
    assert "cannot close last pane in window" in last
    assert "not found" in shared_daemon.cli("session", "pane", "close", session, "pane_x", check=1).stderr
    assert "not found" in shared_daemon.cli("session", "show", "sess_x", check=1).stderr
    unknown = shared_daemon.cli("session", "split", session, "-direction", "sideways", check=1).stderr
    assert "unknown split direction" in unknown
    assert shared_daemon.cli("session", "split", session, "-pty=false", "--", "ls", check=2).stderr


def test_a_terminal_is_detached_restarted_in_its_place_and_deleted(shared_daemon: Whiskd, root: Path) -> None:
    session, pty = shell(shared_daemon, root, "read x; exit 4")
    running = shared_daemon.cli("session", "pty", "restart", pty, check=1).stderr
    assert "is still running" in running
    shared_daemon.cli("session", "pty", "kill", pty, check=0)
    again = shared_daemon.cli(
        "session", "pty", "restart", pty, "-env", "WORD=again", "--", "/bin/sh", "-c", "echo $WORD; read x", check=0
    ).stdout.strip()
    shared_daemon.cli("session", "pty", "expect", again, "again", check=0)
    assert "is in no pane" in shared_daemon.cli("session", "pty", "restart", pty, check=1).stderr
    assert shared_daemon.cli("session", "pty", "detach", again, check=0).stdout == f"{again}\n"
    shown = shared_daemon.cli("session", "show", session, check=0).stdout
    assert [line[:2] for line in lines_of(shown)[-2:]] == [[pty, "killed"], [again, "running"]]
    assert "still running" in shared_daemon.cli("session", "pty", "delete", again, check=1).stderr
    assert shared_daemon.cli("session", "pty", "delete", pty, check=0).stdout == f"{pty}\n"
    assert "not found" in shared_daemon.cli("session", "pty", "output", pty, check=1).stderr
