"""The character grid behind `Screen`: pyte's, fed by our own tokens, with what agents' interfaces need besides.

pyte's parser knows neither DCS nor private prefixes such as `CSI > 4 ; 2 m` (it would underline the text), and its
screen has no alternate buffer, no scrolling by SU and SD, and loses the rest of a line at a zero-width character.
"""

from __future__ import annotations

import copy
import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from pyte import graphics
from pyte.screens import Char, Screen, StaticDefaultDict, wcwidth
from pyte.streams import Stream

from whisk.terminal.sequence import Token

SCROLLBACK_LINES = 10_000
# pyte counts lines and columns one by one; a program may ask for 9999 of something that has 80.
_MOST = 1000
# Answers that wait to be taken; of a flood of questions, the last ones are answered.
MOST_REPLIES = 16
# A VT100 with the advanced video option: what every program knows, and no more than is there.
_IDENTITY = "\x1b[?1;2c"

_ALTERNATE = frozenset({47, 1047, 1049})
_FOREGROUND = {name: code for code, name in (graphics.FG_ANSI | graphics.FG_AIXTERM).items()}
_FOREGROUND["bfightmagenta"] = 95  # so spelt in pyte 0.8 where it is a background
_STYLES = (("bold", 1), ("italics", 3), ("underscore", 4), ("blink", 5), ("reverse", 7), ("strikethrough", 9))
_PLAIN = Char(" ")

Line = StaticDefaultDict


class Grid(Screen):
    """`obey` takes one token at a time; `scrollback` holds the lines that left the main screen, as ANSI text.

    `replies` are the answers to what was asked of the terminal, for whoever wants to type them.
    """

    def __init__(self, cols: int, rows: int) -> None:
        self.replies: deque[str] = deque(maxlen=MOST_REPLIES)
        self._scrolled: deque[str] = deque(maxlen=SCROLLBACK_LINES)
        self._main: tuple[Any, Any] | None = None
        self._last = ""
        super().__init__(cols, rows)
        self._controls = self._table(Stream.basic)
        self._escapes = self._table(Stream.escape)
        self._commands = self._table(Stream.csi)
        self._commands |= {"S": self._scroll_up, "T": self._scroll_down, "b": self._repeat}
        self._commands |= {"s": self.save_cursor, "u": self.restore_cursor, "m": self.select_graphic_rendition}

    def _table(self, names: dict[str, str]) -> dict[str, Callable[..., None]]:
        return {key: getattr(self, name) for key, name in names.items()}

    @property
    def alternate(self) -> bool:
        return self._main is not None

    @property
    def scrollback(self) -> list[str]:
        return list(self._scrolled)

    def has(self, mode: int) -> bool:
        """Whether a DEC private mode is set."""
        return mode << 5 in self.mode

    def rows(self) -> list[str]:
        return [render_line(self.buffer[y], self.columns) for y in range(self.lines)]

    def obey(self, token: Token) -> None:
        kind, text = token
        if kind == "text":
            self.draw(text)
        elif kind == "control":
            # Shift-out and shift-in select character sets, which a UTF-8 terminal does not have.
            if text in self._controls and text not in "\x0e\x0f":
                self._controls[text]()
        elif kind == "escape":
            if text in self._escapes:
                self._escapes[text]()
            elif text == "#8":
                self.alignment_display()
        elif kind == "csi":
            self._command(text)

    def _command(self, text: str) -> None:
        final, body = text[-1], text[:-1]
        if final in "cn":
            self._reply(text)
            return
        private = body.startswith("?")
        body = body[private:]
        if private:
            if final not in "hlJK":
                return
        elif body[:1] in ("<", "=", ">"):
            return
        if body and not (body[-1].isdigit() or body[-1] in ";:"):
            if text == "!p":  # soft reset
                self.reset_mode(1, 6, private=True)
                self.set_mode(7, 25, private=True)
                self.set_margins()
                self.select_graphic_rendition(0)
            return
        handler = self._commands.get(final)
        if handler is None:
            return
        if final == "m":
            handler(*_colours(body))
            return
        numbers = [min(int(part or 0), 9999) for part in body.split(";") if part.isdecimal() or not part]
        if final in "hl":
            handler(*numbers, private=private)
        elif final in "Hfr":
            handler(*numbers[:2])
        elif body:
            handler(min(numbers[0], _MOST) if numbers else 0)
        else:
            handler()

    def _reply(self, question: str) -> None:
        row, column = self.cursor.y + 1, min(self.cursor.x + 1, self.columns)
        if self.has(6) and self.margins is not None:  # rows count from the upper margin
            row -= self.margins.top
        place = f"{row};{column}R"
        known = {"5n": "\x1b[0n", "6n": f"\x1b[{place}", "?6n": f"\x1b[?{place}", "c": _IDENTITY, "0c": _IDENTITY}
        if question in known:
            self.replies.append(known[question])

    def draw(self, data: str) -> None:
        if not data.isascii():
            data = "".join(char for char in data if wcwidth(char) > 0 or unicodedata.combining(char))
        if data:
            self._last = data[-1]
            super().draw(data)

    def _repeat(self, count: int = 1) -> None:
        if self._last:
            self.draw(self._last * max(count, 1))

    def index(self) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and not self.alternate:
            self._scrolled.append(render_line(self.buffer[0], self.columns))
        super().index()

    def _scroll_up(self, count: int = 1) -> None:
        y = self.cursor.y
        self.cursor.y = self.margins.bottom if self.margins else self.lines - 1
        for _ in range(min(max(count, 1), self.lines)):
            self.index()
        self.cursor.y = y

    def _scroll_down(self, count: int = 1) -> None:
        y = self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        for _ in range(min(max(count, 1), self.lines)):
            self.reverse_index()
        self.cursor.y = y

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how == 3:
            self._scrolled.clear()
        elif how in (0, 1, 2):
            super().erase_in_display(how)

    def erase_in_line(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how in (0, 1, 2):
            super().erase_in_line(how)

    def save_cursor(self) -> None:
        # One slot, as terminals have; a stack would grow with every program that only ever saves.
        self.savepoints.clear()
        super().save_cursor()

    def restore_cursor(self) -> None:
        saved = self.savepoints[-1] if self.savepoints else None
        super().restore_cursor()
        if saved is not None:
            self.savepoints.append(saved._replace(cursor=copy.copy(saved.cursor)))

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private"):
            modes = tuple(mode for mode in modes if mode != 3)  # 132 columns: not the program's to decide
            if 1049 in modes and not self.alternate:
                self.save_cursor()
            if _ALTERNATE.intersection(modes):
                self._enter_alternate()
            if 1048 in modes:
                self.save_cursor()
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private"):
            modes = tuple(mode for mode in modes if mode != 3)
            if _ALTERNATE.intersection(modes):
                self._leave_alternate()
            if 1048 in modes:
                self.restore_cursor()
        super().reset_mode(*modes, **kwargs)

    def _enter_alternate(self) -> None:
        if self._main is None:
            self._main = (self.buffer, copy.copy(self.cursor))
            self.buffer = defaultdict(lambda: Line(self.default_char))

    def _leave_alternate(self) -> None:
        if self._main is not None:
            self.buffer, self.cursor = self._main
            self._main = None
            self.ensure_hbounds()
            self.ensure_vbounds()

    def reset(self) -> None:
        if self._main is not None:
            self.buffer = self._main[0]
            self._main = None
        super().reset()

    def change_size(self, cols: int, rows: int) -> None:
        """As terminals do: a lower screen loses what is below the cursor first, then lines go to the scrollback."""
        over = max(0, self.cursor.y - rows + 1)
        if not self.alternate:
            self._scrolled.extend(render_line(self.buffer[y], self.columns) for y in range(over))
        self.buffer = self._cut(self.buffer, over, cols, rows)
        if self._main is not None:
            buffer, cursor = self._main
            above = max(0, cursor.y - rows + 1)
            cursor.y -= above
            self._main = (self._cut(buffer, above, cols, rows), cursor)
        self.columns, self.lines = cols, rows
        self.cursor.y -= over
        self.cursor.x = min(self.cursor.x, cols)
        self.tabstops = set(range(8, cols, 8))
        self.margins = None

    def _cut(self, buffer: Any, over: int, cols: int, rows: int) -> Any:
        kept: Any = defaultdict(lambda: Line(self.default_char))
        for y, line in buffer.items():
            if over <= y < over + rows:
                for x in [x for x in line if x >= cols]:
                    del line[x]
                kept[y - over] = line
        return kept


def render_line(line: Any, columns: int) -> str:
    """One line as text with SGR sequences, without blanks at its end; attributes are off again behind it."""
    last = max((x for x, char in line.items() if char != _PLAIN and x < columns), default=-1)
    parts: list[str] = []
    style = ""
    for x in range(last + 1):
        char = line[x]
        wanted = render_attributes(char) if char[1:] != _PLAIN[1:] else ""
        if wanted != style:
            parts.append(wanted or "\x1b[0m")
            style = wanted
        parts.append(char.data)
    if style:
        parts.append("\x1b[0m")
    return "".join(parts)


def render_attributes(char: Any) -> str:
    codes = ["0", *(str(code) for name, code in _STYLES if getattr(char, name))]
    for colour, base, wide in ((char.fg, 0, "38"), (char.bg, 10, "48")):
        if colour in _FOREGROUND:
            if colour != "default":
                codes.append(str(_FOREGROUND[colour] + base))
        elif len(colour) == 6:
            codes.append(f"{wide};2;{int(colour[:2], 16)};{int(colour[2:4], 16)};{int(colour[4:], 16)}")
    return f"\x1b[{';'.join(codes)}m"


def _colours(body: str) -> list[int]:
    """The parameters of SGR, with the colon forms (`38:2::r:g:b`, `4:3`) rewritten to the ones that pyte knows."""
    numbers: list[int] = []
    for part in body.split(";"):
        pieces = part.split(":")
        if not all(piece.isdecimal() or not piece for piece in pieces):
            continue
        values = [min(int(piece or 0), 9999) for piece in pieces]
        if len(values) > 1 and values[0] in (38, 48):
            colour = values[-3:] if values[1] == 2 else values[2:3]
            numbers += [values[0], values[1], *colour]
        elif len(values) > 1 and values[0] == 4:
            numbers.append(4 if values[1] else 24)
        elif values[0] != 58 and len(values) == 1:
            numbers.append(values[0])
    return numbers
