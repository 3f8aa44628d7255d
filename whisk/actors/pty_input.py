"""What is typed into a terminal: a bounded queue that the kernel takes from as fast as the child reads."""

from __future__ import annotations

import os
import termios
from collections import deque
from typing import Any

from gevent import get_hub

from whisk.actors.future import Future
from whisk.errors import BusyError, TerminalEndedError, TooLargeError
from whisk.terminal.keys import LINE_BYTES, longest_line

QUEUE_BYTES = 1024 * 1024
_TURN_BYTES = 64 * 1024
_WRITE = 2


class PtyInput:
    """Writes to `fd`, which must not block, in the order of the calls. Everything runs in the hub."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._queue: deque[tuple[memoryview, int, Future[int]]] = deque()
        self._queued = 0
        self._watcher: Any = get_hub().loop.io(fd, _WRITE)

    @property
    def queued(self) -> int:
        """Bytes that the kernel has not taken yet."""
        return self._queued

    def write(self, data: bytes, *, whole_lines: bool) -> Future[int]:
        """The number of bytes, once the kernel has taken all of them.

        Raises `BusyError` when too much is waiting already, and, with `whole_lines`, `TooLargeError` for a line that
        a terminal in line mode would silently cut.
        """
        future: Future[int] = Future()
        if whole_lines and (longest := longest_line(data)) > LINE_BYTES and in_line_mode(self._fd):
            raise TooLargeError(
                f"a line of {longest} bytes: the terminal reads whole lines now and would keep {LINE_BYTES} of them",
                limit=LINE_BYTES,
                size=longest,
            )
        if self._queued + len(data) > QUEUE_BYTES:
            raise BusyError(
                f"the program in this terminal does not read: {self._queued} bytes are waiting", waiting=self._queued
            )
        self._queue.append((memoryview(data), len(data), future))
        self._queued += len(data)
        if not self._watcher.active:
            self._flush()
        return future

    def close(self, why: str) -> None:
        """Give up what is waiting."""
        self._watcher.stop()
        self._watcher.close()
        self._give_up(why)

    def _give_up(self, why: str) -> None:
        waiting, self._queue = self._queue, deque()
        self._queued = 0
        for _, _, future in waiting:
            future.set_error(TerminalEndedError(why))

    def _flush(self) -> None:
        budget = _TURN_BYTES
        try:
            while self._queue and budget > 0:
                view, size, future = self._queue[0]
                if future.done() and len(view) == size:
                    written = size  # given up before a byte of it was written
                else:
                    written = os.write(self._fd, view[:budget]) if size else 0
                    budget -= written
                self._queued -= written
                if written == len(view):
                    self._queue.popleft()
                    future.set(size)
                else:
                    self._queue[0] = (view[written:], size, future)
        except BlockingIOError:
            pass
        except OSError as error:
            self._give_up(f"the terminal takes no input any more ({error.strerror})")
        if not self._queue:
            self._watcher.stop()
        elif not self._watcher.active:
            self._watcher.start(self._flush)


def in_line_mode(fd: int) -> bool:
    """Whether the program reads whole lines, edited by the kernel (a shell script, `cat`), and not single keys."""
    try:
        return bool(termios.tcgetattr(fd)[3] & termios.ICANON)
    except termios.error:
        return False
