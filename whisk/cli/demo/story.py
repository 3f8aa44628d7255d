"""How the demo is told: chapters, the commands a person would type, and what they print, short enough to read."""

from __future__ import annotations

import io
import re
import shlex
import textwrap
from collections.abc import Sequence

from whisk.cli.cell import cut
from whisk.cli.output import Output, plain

_INDENT = "   "
_SCREEN_CELLS = 100
_ID = re.compile(r"\b([a-z]+_)[0-9A-HJKMNP-TV-Z]{20}([0-9A-HJKMNP-TV-Z]{6})\b")


class _Page(Output):
    """Output kept as text, as wide as what an indented line may take."""

    def __init__(self, columns: int | None) -> None:
        self._page = io.StringIO()
        super().__init__({}, self._page)
        self._room = None if columns is None else columns - len(_INDENT)

    @property
    def columns(self) -> int | None:
        return self._room

    @property
    def text(self) -> str:
        return self._page.getvalue()


class Story:
    """With `whole_ids` ids are shown as they are, for somebody who will go on using them."""

    def __init__(self, out: Output, *, whole_ids: bool) -> None:
        self._out = out
        self._whole_ids = whole_ids
        self._chapter = 0

    def chapter(self, title: str) -> None:
        self._chapter += 1
        self._out.styled("")
        self._out.styled(self._out.style(f"{self._chapter}. {title}", "1"))
        self._out.flush()

    def note(self, text: str) -> None:
        """A sentence or two."""
        told = self._short(plain(text))
        columns = self._out.columns
        lines = (
            [told]
            if columns is None
            else textwrap.wrap(told, max(columns - len(_INDENT), 20), break_long_words=False, break_on_hyphens=False)
        )
        for line in lines:
            self._out.styled(_INDENT + line)
        self._out.flush()

    def whole(self, text: str) -> None:
        """A line of which nothing may be missing."""
        self._out.line(_INDENT + text)

    def command(self, arguments: Sequence[str]) -> None:
        """What the person types."""
        typed = plain(shlex.join(arguments))
        self._out.styled(_INDENT + self._out.style(f"$ whisk {self._short(typed)}", "36"))
        self._out.flush()

    def printed(self, text: str) -> None:
        """What a command printed; tables are set again, since shorter ids leave holes in their columns."""
        rows = [re.split(r" {2,}", line) for line in text.splitlines()]
        if len(rows) > 1 and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
            page = _Page(self._out.columns)
            header, *body = [[self._short(cell) for cell in row] for row in rows]
            page.table(header, body, flexible=[name for name in ("FROM", "TO", "SUBJECT") if name in header] or None)
            text = page.text
        for line in text.splitlines():
            self._shown(line)

    def screen(self, text: str) -> None:
        """What stands in a terminal."""
        for line in text.splitlines():
            self._shown("| " + cut(self._short(line), _SCREEN_CELLS))

    def _shown(self, text: str) -> None:
        """A line of something else's, cut where the terminal ends."""
        line = _INDENT + self._short(plain(text))
        self._out.styled(line if self._out.columns is None else cut(line, self._out.columns))
        self._out.flush()

    def _short(self, text: str) -> str:
        return text if self._whole_ids else _ID.sub(r"\1…\2", text)
