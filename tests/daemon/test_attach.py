"""`whisk session pty attach`, driven by pexpect as a person would, against a real daemon and real children.

pexpect's own pty plays the person's terminal, so its line settings and what is written to it can be looked at.
"""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from whisk.cli.process import wait_until

from .conftest import COMMAND, Whiskd

SECONDS = 20
ECHO = 'stty -echo; echo up; while read x; do echo "got <$x>"; done'
RESTORED = b"\x1b[?2004l"


class Person:
    """A terminal in which `whisk session pty attach` runs."""

    def __init__(self, daemon: Whiskd, *arguments: str, size: tuple[int, int] = (24, 80)) -> None:
        self.child = pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], "session", "pty", "attach", *arguments],
            env=daemon.env,
            timeout=SECONDS,
            dimensions=size,
        )
        self.child.delaybeforesend = None
        self.before = self.settings()

    def settings(self) -> list[Any]:
        return list(termios.tcgetattr(self.child.child_fd))

    def sees(self, text: str | bytes) -> bytes:
        """Waits for `text` and returns what came before it."""
        self.child.expect_exact(text)
        return bytes(self.child.before)

    def types(self, data: bytes) -> None:
        self.child.send(data)

    def ends(self, code: int = 0) -> bytes:
        """Waits for the end; returns what was shown last, and checks the exit code and the terminal."""
        # What `sees` had read beyond what it looked for is in pexpect's buffer, not in the terminal any more.
        rest, self.child.buffer = bytes(self.child.buffer), b""
        while True:
            try:
                rest += self.child.read_nonblocking(4096, timeout=SECONDS)
            except pexpect.EOF:
                break
        self.child.wait()
        assert (self.child.exitstatus, self.child.signalstatus) == (code, None), rest
        assert self.settings() == self.before, "the line settings are not what they were"
        return rest

    @property
    def is_raw(self) -> bool:
        return not self.settings()[3] & termios.ICANON


@pytest.fixture
def start(shared_daemon: Whiskd, tmp_path: Path) -> Callable[[str], str]:
    def begin(script: str) -> str:
        body = {
            "rootDir": str(tmp_path),
            "initialPty": {"command": "/bin/sh", "args": ["-c", script], "exec": True},
        }
        return str(shared_daemon.post("/v1/sessions", body)["ptyId"])

    return begin


@pytest.fixture
def attach(shared_daemon: Whiskd) -> Iterator[Callable[..., Person]]:
    people: list[Person] = []

    def begin(*arguments: str, **more: Any) -> Person:
        people.append(Person(shared_daemon, *arguments, **more))
        return people[-1]

    yield begin
    for person in people:
        person.child.close(force=True)


def expect(daemon: Whiskd, pty: str, pattern: str, start: int = 0) -> str:
    body = {"patterns": [pattern], "timeoutMs": SECONDS * 1000, "from": start}
    return str(daemon.post(f"/v1/ptys/{pty}/expect", body)["match"])


def shown(daemon: Whiskd, pty: str) -> str:
    return str(daemon.get(f"/v1/ptys/{pty}/output")["output"])


def test_the_screen_is_drawn_and_keys_go_to_the_child(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start(ECHO)
    expect(shared_daemon, pty, "up")
    person = attach(pty)
    person.sees("up")
    person.types(b"hello\r")
    person.sees("got <hello>")
    person.types(b"\x1dd")
    assert f"[detached from {pty}]".encode() in person.ends()
    assert shared_daemon.get(f"/v1/ptys/{pty}")["running"] is True


def test_the_detach_keys_never_reach_the_child(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start("stty raw -echo; echo up; exec cat -v")
    expect(shared_daemon, pty, "up")
    person = attach(pty)
    person.sees("up")
    person.types(b"before\x1d\x1dbetween\x1dd")
    person.ends()
    other = attach(pty)
    other.types(b"END\x1dd")
    other.ends()
    expect(shared_daemon, pty, "END")
    assert shown(shared_daemon, pty).split("up")[1].strip() == "before^]betweenEND"


def test_other_keys_and_looking_only(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start(ECHO)
    expect(shared_daemon, pty, "up")
    person = attach(pty, "-read-only", "-detach-keys", "ctrl-q", size=(50, 132))
    person.sees("up")
    person.types(b"not for you\r")
    person.types(b"\x11")
    person.ends()
    assert "not for you" not in shown(shared_daemon, pty)
    assert shared_daemon.get(f"/v1/ptys/{pty}")["cols"] == 80
    refused = shared_daemon.cli("session", "pty", "attach", pty, "-detach-keys", "nonsense", check=2)
    assert "detach keys are written like" in refused.stderr


def test_the_childs_window_follows_the_persons(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start("trap 'stty size' WINCH; echo up; while :; do read x; done")
    expect(shared_daemon, pty, "up")
    person = attach(pty, size=(33, 111))
    expect(shared_daemon, pty, "33 111")
    person.child.setwinsize(44, 122)
    expect(shared_daemon, pty, "44 122")
    person.types(b"\x1dd")
    person.ends()


def test_the_childs_end_is_said_and_ends_the_command(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start("stty -echo; printf '\\033[?1049h\\033[?1000h\\033[?25lup'; read x; echo bye; exit 7")
    person = attach(pty)
    person.sees("up")
    assert person.is_raw
    person.types(b"\r")
    person.sees("bye")
    rest = person.ends()
    assert f"[{pty} exited with code 7]".encode() in rest
    for sequence in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h", RESTORED):
        assert sequence in rest


def test_a_terminal_that_has_ended_is_shown_once_more(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start("echo over and out")
    expect(shared_daemon, pty, "out")
    person = attach(pty)
    rest = person.ends()
    assert b"over and out" in rest
    assert f"[{pty} exited with code 0]".encode() in rest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_restores_the_terminal_and_leaves_the_child(
    shared_daemon: Whiskd, start: Any, attach: Any, number: signal.Signals
) -> None:
    pty = start(ECHO)
    person = attach(pty)
    person.sees("up")
    os.kill(person.child.pid, number)
    assert RESTORED in person.ends(128 + number)
    assert shared_daemon.get(f"/v1/ptys/{pty}")["running"] is True


def test_a_closed_window_leaves_the_child(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start(ECHO)
    person = attach(pty)
    person.sees("up")
    # What a terminal program does when its window is closed.
    person.child.ptyproc.fileobj.close()
    person.child.ptyproc.closed = True
    assert wait_until(lambda: not person.child.isalive(), SECONDS)
    expect(shared_daemon, pty, "up")
    assert shared_daemon.get(f"/v1/ptys/{pty}")["running"] is True


def test_two_people_see_the_same(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start(ECHO)
    one, two = attach(pty), attach(pty)
    one.sees("up")
    two.sees("up")
    one.types(b"from one\r")
    two.sees("got <from one>")
    two.types(b"from two\r")
    one.sees("got <from two>")
    one.types(b"\x1dd")
    one.ends()
    two.types(b"alone\r")
    two.sees("got <alone>")


def test_a_paste_goes_through_whole(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start("stty raw -echo; echo up; head -c 100000 | cksum; read x")
    person = attach(pty)
    person.sees("up")
    pasted = (b"0123456789" * 10_000)[:100_000]
    person.child.send(pasted)
    assert expect(shared_daemon, pty, r"\d+ 100000").split()[1] == "100000"


def test_an_unknown_terminal_is_refused_before_anything_is_touched(shared_daemon: Whiskd, attach: Any) -> None:
    person = attach("pty_x")
    rest = person.ends(1)
    assert b"pty_x not found" in rest


def test_without_a_terminal_there_is_nothing_to_attach(shared_daemon: Whiskd, start: Any) -> None:
    pty = start(ECHO)
    assert "attach needs a terminal" in shared_daemon.cli("session", "pty", "attach", pty, input="", check=2).stderr


def test_a_slow_person_is_brought_up_to_date(shared_daemon: Whiskd, start: Any, attach: Any) -> None:
    pty = start("stty -echo; echo up; read x; yes 0123456789abcdef | head -c 30000000; echo; echo all done; read y")
    person = attach(pty)
    person.sees("up")
    person.types(b"\r")
    # The child is not held up by a person whose terminal takes nothing.
    expect(shared_daemon, pty, "all done")
    person.sees("all done")
    person.types(b"\r")
    assert b"exited with code 0" in person.ends()


def test_a_restart_of_the_daemon_is_hardly_seen(daemon: Whiskd, tmp_path: Path) -> None:
    body = {"rootDir": str(tmp_path), "initialPty": {"command": "/bin/sh", "args": ["-c", ECHO], "exec": True}}
    pty = daemon.post("/v1/sessions", body)["ptyId"]
    person = Person(daemon, pty)
    try:
        person.sees("up")
        daemon.restart()
        person.types(b"still here\r")
        person.sees("got <still here>")
        daemon.kill9()
        daemon.start()
        person.types(b"and here\r")
        person.sees("got <and here>")
        person.types(b"\x1dd")
        person.ends()
    finally:
        person.child.close(force=True)


@pytest.mark.slow
def test_a_daemon_that_stays_away_is_said_and_the_terminal_is_given_back(daemon: Whiskd, tmp_path: Path) -> None:
    body = {"rootDir": str(tmp_path), "initialPty": {"command": "/bin/sh", "args": ["-c", ECHO], "exec": True}}
    person = Person(daemon, daemon.post("/v1/sessions", body)["ptyId"])
    try:
        person.sees("up")
        daemon.stop()
        assert b"the terminal goes on without you" in person.ends(3)
    finally:
        person.child.close(force=True)
        daemon.start()
