"""What a person's text becomes when it is typed into a terminal."""

from __future__ import annotations

import sys

from whisk.terminal.plain import plain

# The most that a terminal in line mode keeps of one line; the kernel silently drops what exceeds it.
LINE_BYTES = 1024 if sys.platform == "darwin" else 4095


def typed(text: str) -> bytes:
    """The keys for `text`: one trailing line end becomes the Enter key (CR), everything else stays as it is."""
    if text.endswith("\r\n"):
        text = text[:-2] + "\r"
    elif text.endswith("\n"):
        text = text[:-1] + "\r"
    return text.encode("utf-8", "replace")


def longest_line(data: bytes) -> int:
    """The length of the longest line in `data`, its line end not counted; lines end with CR or LF."""
    return max(map(len, data.replace(b"\r", b"\n").split(b"\n")))


def pasted(text: str) -> bytes:
    """`text` as a terminal hands over what a person pastes: in brackets, so that no line end in it submits anything.

    Escape sequences and control characters are taken out, or the text could close the bracket and type on.
    """
    clean = plain(text).strip("\n").replace("\n", "\r")
    return b"\x1b[200~" + clean.encode("utf-8", "replace") + b"\x1b[201~"
