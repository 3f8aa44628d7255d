"""Where the escape sequences are in a terminal's output: one reading of ECMA-48, shared by all who need it."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Literal, NamedTuple

Kind = Literal["text", "control", "csi", "escape", "osc", "string"]

# A control sequence that has not ended after so many characters is garbage, not a sequence.
_LONGEST = 512
# Of a string (a title, a picture, …) no more than this is handed on; the rest is dropped as it passes.
_KEPT = 8192

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_CSI = re.compile(r"(?:\x1b\[|\x9b)([\x30-\x3f]*)([\x20-\x2f]*)([\x40-\x7e])")
_CSI_PART = re.compile(r"(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*\Z")
_ESCAPE = re.compile(r"\x1b[\x20-\x2f]*[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e]")
_ESCAPE_PART = re.compile(r"\x1b[\x20-\x2f]*\Z")
_STRING = re.compile(r"\x1b[\]P^_X]|[\x90\x98\x9d\x9e\x9f]")
_BODY = re.compile(r"[^\x07\x18\x1a\x1b\x9c]*")


class Token(NamedTuple):
    """A run of text, one control character, or one sequence. For `osc` and `string`, `text` is what is inside."""

    kind: Kind
    text: str


class Splitter:
    """Splits text that arrives in pieces. Joining pieces differently gives the same tokens, but for runs of text."""

    def __init__(self) -> None:
        self._rest = ""
        self._string: Kind | None = None
        self._body: list[str] = []
        self._kept = 0

    @property
    def open(self) -> bool:
        """Whether an unfinished sequence is waiting for its end."""
        return bool(self._rest) or self._string is not None

    def feed(self, text: str) -> Iterator[Token]:
        """The tokens that are complete; an unfinished sequence waits for the next piece."""
        data = self._rest + text
        self._rest = ""
        at = 0
        while at < len(data):
            if self._string is not None:
                at = yield from self._inside(data, at)
                continue
            if match := _TEXT.match(data, at):
                yield Token("text", match.group())
                at = match.end()
            elif match := _STRING.match(data, at):
                self._string = "osc" if match.group()[-1] in "]\x9d" else "string"
                at = match.end()
            elif match := _CSI.match(data, at):
                yield Token("csi", "".join(match.groups()))
                at = match.end()
            elif match := _ESCAPE.match(data, at):
                yield Token("escape", match.group()[1:])
                at = match.end()
            elif (_CSI_PART.match(data, at) or _ESCAPE_PART.match(data, at)) and len(data) - at <= _LONGEST:
                self._rest = data[at:]
                return
            else:
                yield Token("control", data[at])
                at += 1

    def _inside(self, data: str, at: int) -> Generator[Token, None, int]:
        """Go on inside a string; returns where it (or the data) ended."""
        match = _BODY.match(data, at)
        stop = match.end() if match else at
        if self._kept < _KEPT:
            part = data[at:stop][: _KEPT - self._kept]
            self._body.append(part)
            self._kept += len(part)
        if stop == len(data):
            return stop
        end = data[stop]
        if end == "\x07" and self._string != "osc":
            # Only an operating system command ends with BEL; elsewhere it is a byte like any other.
            return stop + 1
        if end == "\x1b":
            if stop + 1 == len(data):
                self._rest = end
                return len(data)
            # Any other sequence than ST cuts the string off and is itself obeyed.
            stop += 2 if data[stop + 1] == "\\" else 0
        else:
            stop += 1
        yield Token(self._string or "string", "".join(self._body))
        self._string, self._body, self._kept = None, [], 0
        return stop
