"""Terminal output as plain text, piece by piece: no sequence and no character is torn at the border of two pieces."""

from __future__ import annotations

import codecs
import re

from whisk.cli.output import plain

# The beginning of an escape sequence, or a CR whose LF may follow, at the very end of a piece.
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?|\x9b[0-?]*[ -/]*|\r)\Z")
# A title is never longer than this; what looks like one is then text.
_LONGEST = 8192


class PlainStream:
    """Feed it bytes; it gives text without escape sequences and controls, LF and TAB kept, CR LF made LF."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        text = self._held + self._decoder.decode(data, final)
        self._held = ""
        unfinished = None if final else _UNFINISHED.search(text)
        if unfinished is not None and len(unfinished[0]) <= _LONGEST:
            self._held = unfinished[0]
            text = text[: unfinished.start()]
        return plain(text)
