"""`expect` on a terminal: pexpect's, with the ring in place of the descriptor and the hub in place of select.

Whoever expects has a cursor of its own, so any number may at once, and none takes output away from another.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Sequence
from typing import Any

import pexpect
from pexpect.fdpexpect import fdspawn
from pexpect.spawnbase import SpawnBase

from whisk.actors.pty_output import PtyOutput
from whisk.errors import DeadlineError, InvalidError, TerminalEndedError
from whisk.terminal.pty import Expectation

MAX_SECONDS = 3600.0
MAX_PATTERNS = 32
MAX_PATTERN = 4096
# A pattern is looked for in this much of the newest output, and `before` holds no more than that.
WINDOW = 65_536
# Of processor time, for one search.
SEARCH_SECONDS = 0.1
_SEEN = 2000


class RingSpawn(fdspawn):  # type: ignore[misc]
    """pexpect's view of an adopted descriptor that somebody else reads: output comes from the ring.

    Text is decoded with surrogate escapes, so that every byte has its place and offsets can be told exactly.
    """

    _before: Any

    def __init__(self, output: PtyOutput, fd: int, start: int) -> None:
        options = {
            "timeout": None,
            "maxread": 16_384,
            "searchwindowsize": WINDOW,
            "encoding": "utf-8",
            "codec_errors": "surrogateescape",
        }
        if fd >= 0:
            super().__init__(fd, **options)
        else:
            # The terminal has ended and its descriptor is gone, but its last words can still be looked through.
            SpawnBase.__init__(self, **options)
        self.delaybeforesend = None
        self.delayafterread = None
        self._output = output
        self._at = start

    def read_nonblocking(self, size: int = 1, timeout: float | None = -1) -> str:
        """What follows the cursor; blocks this greenlet for at most `timeout` seconds."""
        wait = MAX_SECONDS if timeout is None or timeout < 0 else timeout
        pending = self._output.follow(self._at, size, wait)
        try:
            piece = pending.get()
        except BaseException:
            pending.cancel()  # whoever asked has gone away
            raise
        if not piece.data:
            if piece.ended:
                self.flag_eof = True
                raise pexpect.EOF("the terminal has ended")
            raise pexpect.TIMEOUT("nothing more was printed in time")
        self._at = piece.next
        self._trim()
        return str(self._decoder.decode(piece.data, final=False))

    def _trim(self) -> None:
        """pexpect keeps all that it has looked through; a program that never stops printing must not fill memory."""
        before = self._before
        if before.tell() > 4 * WINDOW:
            self._before = self.buffer_type()
            self._before.write(before.getvalue()[-WINDOW:])

    @property
    def offset(self) -> int:
        """Where the output goes on behind the last match."""
        undecoded = self._decoder.getstate()[0]
        return self._at - len(undecoded) - len(_bytes(self._before.getvalue()))


class BoundedPattern:
    """A regular expression that is given up when a search takes too long: it may be one that tries every division of
    the output, and the whole daemon would stand still meanwhile. Bounded on the main thread only, which is the hub's.
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern.pattern
        self._search = pattern.search

    def search(self, *where: Any) -> re.Match[str] | None:
        if threading.current_thread() is not threading.main_thread():
            return self._search(*where)
        # The engine looks for signals as it goes, and a timer is the only thing that can interrupt it.
        before = signal.signal(signal.SIGVTALRM, self._give_up)
        signal.setitimer(signal.ITIMER_VIRTUAL, SEARCH_SECONDS)
        try:
            return self._search(*where)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def _give_up(self, *_: object) -> None:
        raise InvalidError(
            f"looking for {self.pattern!r} takes too long; write it without repetitions inside of repetitions",
            field="patterns",
        )


def compile_patterns(patterns: Sequence[str], exact: bool) -> list[BoundedPattern]:
    """Regular expressions in which `.` matches line ends too, as pexpect has them. Raises `InvalidError`."""
    if not 1 <= len(patterns) <= MAX_PATTERNS:
        raise InvalidError(f"expect takes 1 to {MAX_PATTERNS} patterns, not {len(patterns)}", field="patterns")
    compiled: list[BoundedPattern] = []
    for index, pattern in enumerate(patterns):
        if not pattern or len(pattern) > MAX_PATTERN:
            raise InvalidError(f"a pattern has 1 to {MAX_PATTERN} characters", field="patterns", index=index)
        try:
            compiled.append(BoundedPattern(re.compile(re.escape(pattern) if exact else pattern, re.DOTALL)))
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidError(
                f"not a regular expression: {pattern!r} ({error})", field="patterns", index=index
            ) from error
    return compiled


def expect(spawn: RingSpawn, patterns: list[BoundedPattern], timeout: float) -> Expectation:
    """Wait for the first of `patterns`; blocks this greenlet.

    Raises `DeadlineError` or `TerminalEndedError`; both carry `seen`, the end of what was looked through. Raises
    `InvalidError` for a pattern that takes too long.
    """
    try:
        index = spawn.expect_list(patterns, timeout=timeout)
    except pexpect.TIMEOUT:
        seen = _seen(spawn)
        raise DeadlineError(f"no match within {timeout:g} s", seen=seen, offset=spawn._at) from None
    except pexpect.EOF:
        seen = _seen(spawn)
        raise TerminalEndedError("the terminal has ended without a match", seen=seen, offset=spawn._at) from None
    groups = tuple(None if group is None else _clean(group) for group in spawn.match.groups())
    return Expectation(
        index=index,
        match=_clean(spawn.after),
        groups=groups,
        before=_clean(spawn.before[-WINDOW:]),
        offset=spawn.offset,
    )


def _seen(spawn: RingSpawn) -> str:
    return _clean((spawn.before or "")[-_SEEN:])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _clean(text: str) -> str:
    return _bytes(text).decode("utf-8", "replace")
