"""Questions that a program asks its terminal and waits for: noticed as they pass, answered by the emulated screen."""

from __future__ import annotations

import re

# Where the cursor is (DSR 6, and its DEC form), whether the terminal is well (DSR 5), what it is (DA1).
_QUESTION = re.compile(rb"\x1b\[(?:\??6n|5n|0?c)")
_LONGEST = 5


class QueryWatch:
    """Cheap enough to see every burst. Whether what looks like a question is one, and not a part of a title or a
    picture, is for the emulator to see.
    """

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, data: bytes) -> bool:
        """Whether a question may have ended in `data`."""
        if b"\x1b" in data and _QUESTION.search(data):
            found = True
        else:
            edge = _QUESTION.search(self._tail + data[: _LONGEST - 1])
            found = edge is not None and edge.end() > len(self._tail)
        self._tail = (self._tail + data[-_LONGEST:])[1 - _LONGEST :]
        return found
