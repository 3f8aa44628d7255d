"""Text without its terminal: escape sequences and control characters taken out, LF and TAB kept."""

from __future__ import annotations

import codecs

from whisk.terminal.sequence import Splitter


def plain(text: str) -> str:
    """`text` without CSI, OSC, DCS and other sequences, without CR (so CR LF becomes LF) and without any other
    control character but LF and TAB. A sequence that is cut off at the end is left out. Idempotent.
    """
    return _strip(Splitter(), text)


def words_of(data: bytes) -> str:
    """A piece of output as text to be searched: as `plain`, but a jump of the cursor is a blank, as it is to the eye,
    and of equal lines, which programs draw again and again, only the first is kept.
    """
    parts: list[str] = []
    for token in Splitter().feed(data.decode("utf-8", "replace")):
        if token.kind == "text":
            parts.append(token.text)
        elif token.kind == "control":
            parts.append("\n" if token.text in "\r\n" else " ")
        elif token.kind == "csi" and not token.text.endswith("m"):
            parts.append(" ")
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(dict.fromkeys(line for line in lines if line))


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
