"""Snapshots of a terminal's screen, made when somebody asks, on a thread, from what the ring holds."""

from __future__ import annotations

from whisk.actors.future import Future
from whisk.actors.offload import offload
from whisk.actors.pty_output import PtyOutput
from whisk.terminal.screen import Screen, TerminalSnapshot

_SIZES = 256


class PtyView:
    """Keeps the emulated screen between snapshots, so that the next one costs only what was printed since."""

    def __init__(self, output: PtyOutput, cols: int, rows: int) -> None:
        self._output = output
        # From which offset on the terminal had which size; a program draws for the size that it has.
        self._sizes: list[tuple[int, int, int]] = [(output.ring.start, cols, rows)]
        self._screen: Screen | None = None
        self._waiting: list[Future[TerminalSnapshot]] = []
        self.running = False

    def resize(self, cols: int, rows: int) -> None:
        self._sizes.append((self._output.ring.end, cols, rows))
        if len(self._sizes) > _SIZES:
            del self._sizes[0]

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
        snapshot = offload(_feed, screen, data, sizes, titles.title, titles.directory)
        self._screen = screen
        return snapshot

    def _size_at(self, offset: int) -> tuple[int, int, int]:
        return next((size for size in reversed(self._sizes) if size[0] <= offset), self._sizes[0])


def _feed(
    screen: Screen, data: bytes, sizes: list[tuple[int, int, int]], title: str | None, directory: str | None
) -> TerminalSnapshot:
    if screen.offset and not screen.fed:
        # What was cut in the middle of a sequence would show as text; the first whole line is a better start.
        skip = data.find(b"\n", 0, 4096) + 1
        screen.skip(skip)
        data = data[skip:]
    for offset, cols, rows in sizes:
        before = max(0, offset - screen.offset)
        screen.feed(data[:before])
        data = data[before:]
        screen.resize(cols, rows)
    screen.feed(data)
    return screen.snapshot(title, directory)
