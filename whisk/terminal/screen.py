"""What a terminal shows: the emulated screen, and the snapshot from which a viewer can draw it and go on."""

from __future__ import annotations

import codecs

from whisk.terminal.grid import Grid, render_attributes
from whisk.terminal.plain import plain
from whisk.terminal.sequence import Splitter
from whisk.values import Record

SCROLLBACK_BYTES = 4 * 1024 * 1024

_TRACKING = ((1000, "normal"), (1002, "button"), (1003, "any"))
_ENCODING = ((1006, "sgr"), (1016, "sgrPixel"))


class TerminalCursor(Record, frozen=True):
    """Zero-based column and row."""

    x: int
    y: int


class TerminalModes(Record, frozen=True):
    application_cursor: bool
    cursor_visible: bool
    alt_screen: bool
    bracketed_paste: bool
    save_cursor: bool = False
    alt_screen_save: bool = False
    mouse_tracking: str | None = None
    mouse_encoding: str | None = None


class TerminalSnapshot(Record, frozen=True):
    """The screen after the first `offset` bytes of output.

    A viewer resets its terminal and writes `rehydrate_before_viewport`, `scrollback_ansi`, `viewport_ansi` and
    `rehydrate_sequences`, then the output from `offset` on. `truncated`: older output was not taken into account.
    """

    offset: int
    cols: int
    rows: int
    cursor: TerminalCursor
    scrollback_ansi: str
    viewport_ansi: str
    rehydrate_sequences: str
    modes: TerminalModes
    title: str | None = None
    working_directory: str | None = None
    rehydrate_before_viewport: str | None = None
    mouse_tracking_modes: tuple[str, ...] = ()
    mouse_encoding_modes: tuple[str, ...] = ()
    truncated: bool = False


class Screen:
    """An emulated terminal. Feeding costs about a second per megabyte, so it never happens where others wait."""

    def __init__(self, cols: int, rows: int, offset: int = 0) -> None:
        self.offset = offset
        self.fed = False
        self._truncated = offset > 0
        self._grid = Grid(cols, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._splitter = Splitter()

    def feed(self, data: bytes) -> None:
        """Take the bytes from `offset` on."""
        self.fed = True
        self.offset += len(data)
        for token in self._splitter.feed(self._decoder.decode(data)):
            self._grid.obey(token)

    def skip(self, count: int) -> None:
        """Leave out the next `count` bytes."""
        self.offset += count

    def resize(self, cols: int, rows: int) -> None:
        self._grid.change_size(cols, rows)

    def take_replies(self) -> list[bytes]:
        """The answers to what was asked of the terminal since the last call, the last 16 at most."""
        replies = [reply.encode() for reply in self._grid.replies]
        self._grid.replies.clear()
        return replies

    def text(self) -> list[str]:
        """The lines as they are read, without colours and without blanks at their ends."""
        return [plain(line).rstrip() for line in self._grid.rows()]

    def snapshot(self, title: str | None = None, directory: str | None = None) -> TerminalSnapshot:
        grid = self._grid
        scrollback, cut = _last_lines(grid.scrollback)
        tracking = tuple(name for number, name in _TRACKING if grid.has(number))
        encoding = tuple(name for number, name in _ENCODING if grid.has(number))
        cursor = TerminalCursor(x=min(grid.cursor.x, grid.columns - 1), y=grid.cursor.y)
        return TerminalSnapshot(
            offset=self.offset,
            cols=grid.columns,
            rows=grid.lines,
            cursor=cursor,
            # The empty lines push what was written above them out of the viewport, which is cleared next.
            scrollback_ansi=scrollback + "\r\n" * (grid.lines - 1) if scrollback else "",
            viewport_ansi="\x1b[H\x1b[2J" + "\r\n".join(grid.rows()),
            rehydrate_sequences=self._sequences(cursor),
            modes=TerminalModes(
                application_cursor=grid.has(1),
                cursor_visible=grid.has(25),
                alt_screen=grid.alternate,
                bracketed_paste=grid.has(2004),
                save_cursor=grid.has(1048),
                alt_screen_save=grid.has(1049),
                mouse_tracking=tracking[-1] if tracking else None,
                mouse_encoding=encoding[-1] if encoding else None,
            ),
            title=title,
            working_directory=directory,
            rehydrate_before_viewport="\x1b[?1049h" if grid.alternate else None,
            mouse_tracking_modes=tracking,
            mouse_encoding_modes=encoding,
            truncated=self._truncated or cut,
        )

    def _sequences(self, cursor: TerminalCursor) -> str:
        grid = self._grid
        modes = [1, *(number for number, _ in (*_TRACKING, *_ENCODING)), 2004]
        parts = [f"\x1b[?{number}h" for number in modes if grid.has(number)]
        if grid.margins is not None:
            parts.append(f"\x1b[{grid.margins.top + 1};{grid.margins.bottom + 1}r")
        parts.append(f"\x1b[{cursor.y + 1};{cursor.x + 1}H")
        parts.append(render_attributes(grid.cursor.attrs))
        parts.append("\x1b[?25h" if grid.has(25) else "\x1b[?25l")
        return "".join(parts)


def shown_lines(data: bytes, cols: int, rows: int, *, cut: bool) -> tuple[str, ...]:
    """The text that a screen of that size shows after `data` alone, top to bottom, without its empty lines.

    `cut`: it begins in the middle of something. Takes a thread about a millisecond per kilobyte.
    """
    screen = Screen(cols, rows)
    # What is left of a sequence would show as text.
    screen.feed(data[data.find(b"\n") + 1 :] if cut else data)
    return tuple(line for line in screen.text() if line)


def _last_lines(lines: list[str]) -> tuple[str, bool]:
    """The last lines that fit, each ended by CR LF, and whether older ones were left out."""
    size = 0
    for index in range(len(lines) - 1, -1, -1):
        size += len(lines[index].encode("utf-8", "replace")) + 2
        if size > SCROLLBACK_BYTES:
            return "".join(f"{line}\r\n" for line in lines[index + 1 :]), True
    return "".join(f"{line}\r\n" for line in lines), False
