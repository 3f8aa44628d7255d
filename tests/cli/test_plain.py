"""Plain text out of a stream that is cut anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.cli.plain import PlainStream

SHOWN = "\x1b[31mréd\x1b[0m \x1b]0;title\x07漢\r\nnext\tcell\x1b[2K\x08\x1b(B done\x1bM".encode()
PLAIN = "réd 漢\nnext\tcell done"


def streamed(*pieces: bytes) -> str:
    stream = PlainStream()
    return "".join(stream.feed(piece) for piece in pieces) + stream.feed(b"", final=True)


def test_sequences_and_controls_are_taken_out() -> None:
    assert streamed(SHOWN) == PLAIN


@pytest.mark.parametrize("at", range(1, len(SHOWN)))
def test_a_cut_at_any_byte_makes_no_difference(at: int) -> None:
    assert streamed(SHOWN[:at], SHOWN[at:]) == PLAIN


def test_a_piece_is_shown_as_soon_as_it_is_complete() -> None:
    stream = PlainStream()
    assert stream.feed(b"one \x1b[3") == "one "
    assert stream.feed(b"1mtwo") == "two"


def test_a_title_without_an_end_does_not_swallow_the_output_for_ever() -> None:
    stream = PlainStream()
    stream.feed(b"\x1b]0;")
    assert "visible" in "".join(stream.feed(b"x" * 5000 + b"visible") for _ in range(3))


@given(st.binary(max_size=200))
def test_no_control_character_ever_gets_through(data: bytes) -> None:
    shown = streamed(*(data[at : at + 7] for at in range(0, len(data), 7)))
    assert not [char for char in shown if (ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160]
