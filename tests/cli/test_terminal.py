"""The person's terminal is given back as it was, whatever ends the command that borrowed it.

Each test runs a real program on a real pty: pexpect's, since here it is the terminal that is under test.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator

import pexpect
import pyte
import pytest

PROGRAM = """
import os, select, sys
from whisk.cli.terminal import Interrupted, Terminal

how = sys.argv[1]
try:
    with Terminal() as terminal:
        if how.startswith("plain"):
            terminal.write(b"one\\r\\ntwo" + (b"\\x1b[?7;6h\\x1b[3;9r" if how == "plain-origin" else b"") + b"ready ")
        else:
            terminal.write(b"\\x1b[?1049h\\x1b[?25l\\x1b[?1003h\\x1b[?2004hready ")
        while True:
            ready, _, _ = select.select([terminal, terminal.wake], [], [])
            if terminal.wake in ready and terminal.signals():
                terminal.write(b"size %dx%d " % terminal.size())
            if terminal in ready:
                typed = terminal.read()
                terminal.write(b"<" + typed.hex().encode() + b"> ")
                if how == "raise":
                    raise RuntimeError("a bug")
                if how == "late":
                    select.select([terminal], [], [])
                if how in ("leave", "late", "plain", "plain-origin"):
                    break
except Interrupted as error:
    print("interrupted", error.number)
except RuntimeError as error:
    print("raised", error)
print("over")
"""


def _slave_name(master: int) -> bytes:
    """Python has `os.ptsname` from 3.13 on; psutil remembers which terminals there were when it was first asked."""
    ptsname = ctypes.CDLL(None).ptsname
    ptsname.restype = ctypes.c_char_p
    return bytes(ptsname(master))


@pytest.fixture
def spawn() -> Iterator[Callable[[str], pexpect.spawn]]:
    children: list[pexpect.spawn] = []

    def start(how: str) -> pexpect.spawn:
        child = pexpect.spawn(sys.executable, ["-c", PROGRAM, how], timeout=10, dimensions=(24, 80))
        child.delaybeforesend = None
        children.append(child)
        # The slave stays open here, so that its settings can be read after the program has ended.
        child.slave = os.open(_slave_name(child.child_fd), os.O_RDWR | os.O_NOCTTY)
        return child

    yield start
    for child in children:
        os.close(child.slave)
        child.close(force=True)


def settings(child: pexpect.spawn) -> list[object]:
    """The line settings without the speeds and the column counter that the kernel keeps there."""
    return list(termios.tcgetattr(child.slave))


def started(spawn: Callable[[str], pexpect.spawn], how: str) -> tuple[pexpect.spawn, list[object]]:
    child = spawn(how)
    before = settings(child)
    child.expect("ready ")
    during = settings(child)
    assert not int(str(during[3])) & (termios.ICANON | termios.ECHO), "the terminal is not raw"
    return child, before


def assert_restored(child: pexpect.spawn, before: list[object], said: str = "") -> None:
    """The program ended in its own words, with the terminal as it was."""
    child.expect(rf"{said}\s*over\r\n")
    shown = child.before
    assert settings(child) == before
    for sequence in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[0m"):
        assert sequence in shown, sequence


def test_keys_arrive_raw_and_leaving_restores(spawn: Callable[[str], pexpect.spawn]) -> None:
    child, before = started(spawn, "leave")
    child.send(b"\x03\x1a\x11\r")
    child.expect("<031a110d> ")
    assert_restored(child, before)


def test_an_exception_restores(spawn: Callable[[str], pexpect.spawn]) -> None:
    child, before = started(spawn, "raise")
    child.send(b"x")
    assert_restored(child, before, "raised a bug")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_that_ends_the_program_restores_first(
    spawn: Callable[[str], pexpect.spawn], number: signal.Signals
) -> None:
    child, before = started(spawn, "run")
    os.kill(child.pid, number)
    assert_restored(child, before, f"interrupted {int(number)}")


def test_a_new_window_size_is_seen(spawn: Callable[[str], pexpect.spawn]) -> None:
    child, _ = started(spawn, "leave")
    child.setwinsize(50, 132)
    child.expect("size 132x50 ")
    child.setwinsize(10, 20)
    child.expect("size 20x10 ")


def test_what_was_typed_too_late_does_not_reach_the_shell(spawn: Callable[[str], pexpect.spawn]) -> None:
    child, _ = started(spawn, "late")
    child.send(b"q")
    child.expect("<71> ")
    child.send(b"rm -rf /\r")
    child.expect("over")
    os.set_blocking(child.slave, False)
    try:
        left = os.read(child.slave, 4096)
    except BlockingIOError:
        left = b""
    assert left == b""


def test_what_is_said_afterwards_stands_below_what_was_shown(spawn: Callable[[str], pexpect.spawn]) -> None:
    """Switching origin mode off sends the cursor home, so it must not be done for nothing."""
    child, _ = started(spawn, "plain")
    shown = child.before + child.after
    child.send(b"q")
    child.expect_exact("over")
    screen = pyte.Screen(80, 24)
    # The emulator does not know this one, which moves nothing.
    pyte.ByteStream(screen).feed((shown + child.before + child.after).replace(b"\x1b[<u", b""))
    assert [line.rstrip() for line in screen.display[:3]] == ["one", "twoready <71> over", ""]


def test_origin_mode_that_was_left_on_is_switched_off(spawn: Callable[[str], pexpect.spawn]) -> None:
    child, _ = started(spawn, "plain-origin")
    child.send(b"q")
    child.expect_exact("over")
    assert b"\x1b[?6l" in child.before
