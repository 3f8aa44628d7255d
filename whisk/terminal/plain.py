"""Text without its terminal: escape sequences and control characters taken out, LF and TAB kept."""

from __future__ import annotations

import codecs

from whisk.terminal.sequence import Splitter


def plain(text: str) -> str:
    """`text` without CSI, OSC, DCS and other sequences, without CR (so CR LF becomes LF) and without any other
    control character but LF and TAB. A sequence that is cut off at the end is left out. Idempotent.
    """
    return _strip(Splitter(), text)


class PlainStream:
    """`plain` for UTF-8 output that arrives in pieces: neither a character nor a sequence is cut at their borders."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._splitter = Splitter()

    def feed(self, data: bytes, *, final: bool = False) -> str:
        return _strip(self._splitter, self._decoder.decode(data, final))


def _strip(splitter: Splitter, text: str) -> str:
    return "".join(
        token.text
        for token in splitter.feed(text)
        if token.kind == "text" or (token.kind == "control" and token.text in "\n\t")
    )
