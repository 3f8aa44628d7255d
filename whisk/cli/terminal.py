"""The person's own terminal, lent to another for a while and given back as it was, whatever happens."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
import tty
from types import FrameType, TracebackType
from typing import Any

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_MODES = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
_ALT_SCREEN, _ORIGIN = frozenset({b"1049", b"1047", b"47"}), b"6"
# Long enough for any sequence that the pattern above can match across two pieces.
_TAIL = 32
# Everything that a full-screen program switches on and a killed one leaves on: application keys, reverse colours,
# no wrapping, a hidden cursor, mouse, focus reports, bracketed paste, synchronised output; keyboard protocols; insert
# mode; the scroll region (which moves the cursor, so it is saved); character sets; colours.
_RESET = (
    b"\x1b[?1l\x1b[?5l\x1b[?7h\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l"
    b"\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?2026l\x1b>\x1b[<u\x1b[>4;0m\x1b[4l\x1b7\x1b[r\x1b8\x0f\x1b(B\x1b[0m"
)


class Interrupted(Exception):
    """A signal asks this process to end; `number` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


class Terminal:
    """Raw mode as a context manager. Inside it, a signal that would end the process is a byte on `wake` instead.

    Leaving it, by whatever exception, restores the line settings, the signal handlers and every mode that the output
    written by `write` may have switched on.
    """

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._output = sys.stdout.fileno()
        self._tail = b""
        self._alternate = self._origin = False
        self._pending: list[int] = []
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Terminal:
        self._settings = termios.tcgetattr(self._input)
        self.wake, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        # Handlers first: a signal that came between raw mode and them would leave the terminal raw.
        for number in (*_ENDING, signal.SIGWINCH):
            self._handlers[number] = signal.signal(number, self._note)
        try:
            tty.setraw(self._input, termios.TCSADRAIN)
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._restore()

    def size(self) -> tuple[int, int] | None:
        """Columns and rows; None when the terminal does not know."""
        try:
            columns, rows = os.get_terminal_size(self._output)
        except OSError:
            return None
        return (columns, rows) if columns and rows else None

    def read(self) -> bytes:
        """What was typed; empty when the terminal is gone. Call it when `fileno()` is readable."""
        try:
            return os.read(self._input, 65_536)
        except OSError:
            return b""

    def fileno(self) -> int:
        return self._input

    def write(self, data: bytes) -> None:
        """Everything, as it is. Blocks while the terminal does not take it."""
        self._watch_screen(data)
        while data:
            data = data[os.write(self._output, data) :]

    def signals(self) -> bool:
        """Take the signals that came. True when the window has a new size; raises `Interrupted` for an ending one."""
        os.read(self.wake, 4096)
        numbers, self._pending = self._pending, []
        for number in numbers:
            if number != signal.SIGWINCH:
                raise Interrupted(number)
        return bool(numbers)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._pending.append(number)
        try:
            os.write(self._waker, b"!")
        except BlockingIOError:
            # The pipe is full of wake-ups already.
            return

    def _watch_screen(self, data: bytes) -> None:
        seen = self._tail + data
        for match in _MODES.finditer(seen):
            modes = match[1].split(b";")
            if not _ALT_SCREEN.isdisjoint(modes):
                self._alternate = match[2] == b"h"
            if _ORIGIN in modes:
                self._origin = match[2] == b"h"
        self._tail = seen[-_TAIL:]

    def _restore(self) -> None:
        # No signal may come between here and the end: half a restoration is none.
        for number in self._handlers:
            signal.signal(number, signal.SIG_IGN)
        try:
            # Neither is sent for nothing: both move the cursor, origin mode to the first line.
            origin = b"\x1b[?6l" if self._origin else b""
            os.write(self._output, origin + (b"\x1b[?1049l" if self._alternate else b"") + _RESET)
        except OSError:
            # The terminal is gone; there is nothing to restore.
            pass
        try:
            # Drained, and what was typed but not read is thrown away: it was meant for the child, not for the shell.
            termios.tcsetattr(self._input, termios.TCSAFLUSH, self._settings)
        except termios.error:
            pass
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self.wake)
        os.close(self._waker)
