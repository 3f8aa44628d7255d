from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.terminal.plain import PlainStream, plain
from whisk.terminal.sequence import Splitter, Token

# Heavy on what sequences are made of, so that borders fall inside them.
terminal_text = st.text(
    st.sampled_from("\x1b[]?;:0139mhPX^_\\\x07\x18\x9c\x9b\x9dab\r\n\té") | st.characters(), max_size=60
)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38:2::1:2:3mx\x1b[>4;2m\x1b[?25l\x1b[1 qy", "xy"),
        ("\x1b]0;title\x07a\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1bPq#0;2;0;0;0\x07~~\x1b\\after", "after"),
        ("\x1b_Gf=100;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\ok", "ok"),
        ("\x1b(B\x1b=\x1b>\x1b7\x1b8\x1bcx\x1b#8", "x"),
        ("one\r\ntwo\rthree\n", "one\ntwothree\n"),
        ("tab\tbell\x07back\x08del\x7fnul\x00", "tab\tbellbackdelnul"),
        ("\x9b1mC1\x9d0;t\x9cok\x85", "C1ok"),
        ("cut off \x1b[31", "cut off "),
        ("title never ends \x1b]0;abc", "title never ends "),
        ("\x1b]0;cut by another\x1b[1mbold", "bold"),
        ("\x1b]0;cancelled\x18go on", "go on"),
    ],
)
def test_sequences_and_controls_are_taken_out(raw: str, text: str) -> None:
    assert plain(raw) == text


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert PlainStream().feed(b"a\xff\x1b[1mb\xc3", final=True) == "a\ufffdb\ufffd"


def test_a_sequence_without_end_is_given_up_as_text() -> None:
    text = "\x1b[" + "1;" * 5000
    assert plain(text) == text[1:]
    stream = PlainStream()
    assert "".join(stream.feed(text[i : i + 7].encode()) for i in range(0, len(text), 7)).endswith("1;" * 4000)


def test_a_huge_string_is_dropped_without_being_kept() -> None:
    splitter = Splitter()
    list(splitter.feed("\x1bP"))
    for _ in range(100):
        list(splitter.feed("x" * 100_000))
    assert sum(map(len, splitter._body)) <= 8192
    assert list(splitter.feed("\x1b\\z"))[-1] == Token("text", "z")


@given(terminal_text)
def test_nothing_but_text_line_feeds_and_tabs_is_left(text: str) -> None:
    result = plain(text)
    assert not [char for char in result if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"]
    assert plain(result) == result


@given(st.text(st.characters(exclude_categories=["Cc"])))
def test_text_without_controls_is_left_alone(text: str) -> None:
    assert plain(text) == text


@given(terminal_text, st.lists(st.integers(0, 200), max_size=6))
def test_where_the_pieces_are_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    data = text.encode("utf-8", "replace")
    stream = PlainStream()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [stream.feed(data[a:b]) for a, b in pairwise(edges)]
    assert "".join(parts) == plain(data.decode())
