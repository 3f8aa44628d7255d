"""Text of output that is handed out in pieces, cut anywhere."""

from __future__ import annotations

import codecs

# A character has at most four bytes, so the start of one that a piece begins inside of lies no further back.
LOOK_BACK = 3


def begins_inside(data: bytes) -> bool:
    """Whether `data` may begin in the middle of a character; then what is before it is needed for its text."""
    return bool(data) and data[0] & 0xC0 == 0x80


def text_of(data: bytes, *, before: bytes = b"", final: bool = True) -> str:
    """UTF-8 with U+FFFD for what is none. A character belongs to the piece in which it ends, so the texts of pieces
    that follow each other join without a loss: `before` are the bytes in front of this one (`LOOK_BACK` are enough),
    and only with `final` is a character that is cut off at the end given up.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(before)
    return decoder.decode(data, final)
