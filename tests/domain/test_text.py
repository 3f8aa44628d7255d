"""Text that is handed out in pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.terminal.text import LOOK_BACK, begins_inside, text_of


def pieces_of(data: bytes, cuts: list[int]) -> list[tuple[int, bytes]]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [(begin, data[begin:end]) for begin, end in pairwise(edges)]


@given(
    st.lists(
        st.sampled_from([b"a", "é".encode(), "€".encode(), "😀".encode(), b"\xff", b"\xc3", b"\xa9", b"\xf0\x9f"])
    ),
    st.lists(st.integers(0, 100), max_size=6),
)
def test_the_texts_of_pieces_join_to_the_text_of_the_whole(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    texts = [
        text_of(
            piece,
            before=data[max(at - LOOK_BACK, 0) : at] if begins_inside(piece) else b"",
            final=at + len(piece) == len(data),
        )
        for at, piece in pieces_of(data, cuts)
    ]
    # How many U+FFFD a broken character counts for depends on where it was cut; nothing that is whole does.
    assert "".join(texts).replace("\ufffd", "") == data.decode("utf-8", "ignore")


def test_a_character_belongs_to_the_piece_in_which_it_ends() -> None:
    assert text_of(b"a\xc3", final=False) == "a"
    assert text_of(b"\xa9z", before=b"a\xc3") == "éz"


@pytest.mark.parametrize("data", [b"", b"abc", "é".encode()])
def test_what_begins_with_a_character_needs_nothing_before_it(data: bytes) -> None:
    assert not begins_inside(data)
