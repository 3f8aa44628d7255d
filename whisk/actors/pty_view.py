"""Snapshots of a terminal's screen, made when somebody asks, on a thread, from what the ring holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum

from whisk.actors.future import Future
from whisk.actors.offload import offload
from whisk.actors.pty_output import PtyOutput
from whisk.terminal.grid import MOST_REPLIES
from whisk.terminal.screen import Screen, TerminalSnapshot

_SIZES = 256
_MARKS = 16

Span = tuple[int, int]
Size = tuple[int, int, int]


class _Step(IntEnum):
    """What happens at an offset, in this order when it is the same one."""

    RESIZE = 0
    END = 1
    BEGIN = 2


class PtyView:
    """Keeps the emulated screen between snapshots, so that the next one costs only what was printed since.

    `on_reply` gets the screen's answers to what was asked of it in marked output, from the greenlet that draws.
    """

    def __init__(self, output: PtyOutput, cols: int, rows: int, on_reply: Callable[[bytes], None]) -> None:
        self._output = output
        self._on_reply = on_reply
        # Output in which something was asked that nobody else answers. A screen never gets ahead of what is marked.
        self._marks: deque[Span] = deque(maxlen=_MARKS)
        # From which offset on the terminal had which size; a program draws for the size that it has.
        self._sizes: list[Size] = [(output.ring.start, cols, rows)]
        self._screen: Screen | None = None
        self._waiting: list[Future[TerminalSnapshot]] = []
        self.running = False

    def resize(self, cols: int, rows: int) -> None:
        self._sizes.append((self._output.ring.end, cols, rows))
        if len(self._sizes) > _SIZES:
            del self._sizes[0]

    @property
    def offset(self) -> int:
        """How far it is drawn."""
        return self._screen.offset if self._screen is not None else self._output.ring.start

    @property
    def marked(self) -> bool:
        return bool(self._marks)

    def mark(self, begin: int, end: int) -> None:
        """Let the screen answer what is asked between two offsets; say so before anything is drawn of it."""
        self._marks.append((begin, end))

    def unmark(self, start: int) -> None:
        """Others answer what is asked from `start` on."""
        self._marks = deque((span for span in self._marks if span[0] < start), maxlen=_MARKS)

    def ask(self) -> Future[TerminalSnapshot]:
        """A snapshot at least as new as now, once `run` has made it."""
        future: Future[TerminalSnapshot] = Future()
        self._waiting.append(future)
        return future

    def run(self) -> None:
        """Answer everyone who asked, and those who ask meanwhile; blocks this greenlet, one at a time."""
        self.running = True
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, []
                snapshot = self._draw()
                for future in asked:
                    future.set(snapshot)
        finally:
            self.running = False

    def drop(self) -> None:
        """Give the memory back."""
        if not self.running:
            self._screen = None

    def _draw(self) -> TerminalSnapshot:
        ring, titles = self._output.ring, self._output.titles
        screen = self._screen
        if screen is None or screen.offset < ring.start:
            _, cols, rows = self._size_at(ring.start)
            screen = Screen(cols, rows, ring.start)
        data = ring.read(screen.offset).data
        sizes = [size for size in self._sizes if size[0] >= screen.offset]
        marks = [span for span in self._marks if span[0] >= screen.offset]
        self._marks.clear()
        snapshot, replies = offload(_feed, screen, data, sizes, marks, titles.title, titles.directory)
        self._screen = screen
        if replies:
            self._on_reply(replies)
        return snapshot

    def _size_at(self, offset: int) -> tuple[int, int, int]:
        return next((size for size in reversed(self._sizes) if size[0] <= offset), self._sizes[0])


def _feed(
    screen: Screen, data: bytes, sizes: list[Size], marks: list[Span], title: str | None, directory: str | None
) -> tuple[TerminalSnapshot, bytes]:
    """The screen behind `data`, and its answers to what is asked in the marked parts of it."""
    if screen.offset and not screen.fed:
        # What was cut in the middle of a sequence would show as text; the first whole line is a better start.
        skip = data.find(b"\n", 0, 4096) + 1
        screen.skip(skip)
        data = data[skip:]
    steps: list[tuple[int, _Step, tuple[int, int]]] = [(at, _Step.RESIZE, (cols, rows)) for at, cols, rows in sizes]
    for begin, end in marks:
        steps += [(begin, _Step.BEGIN, (0, 0)), (end, _Step.END, (0, 0))]
    replies: list[bytes] = []
    for offset, step, size in sorted(steps):
        before = max(0, offset - screen.offset)
        screen.feed(data[:before])
        data = data[before:]
        if step is _Step.RESIZE:
            screen.resize(*size)
        elif step is _Step.BEGIN:
            screen.take_replies()
        else:
            replies += screen.take_replies()
    screen.feed(data)
    screen.take_replies()
    return screen.snapshot(title, directory), b"".join(replies[-MOST_REPLIES:])
