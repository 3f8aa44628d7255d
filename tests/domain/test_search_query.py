"""What a person types into a search, taken apart; and how a hit is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.clock import Instant
from whisk.errors import TooLargeError
from whisk.search.hit import CLOSE, OPEN, Scored, SearchHit, best, cut_out, first_line
from whisk.search.query import Term, match_of, parse, split


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        (" \n\t ", ()),
        ("refund race", (("refund", False), ("race", False))),
        ('"exit code" 7', (("exit code", False), ("7", False))),
        ('"exit   code"*', (("exit code", True),)),
        ("deploy*", (("deploy", True),)),
        ("deploy**", (("deploy", True),)),
        ("*", (("*", False),)),
        ('"', ()),
        ('""', ()),
        ('say "never closed', (("say", False), ("never", False), ("closed", False))),
        ('a"b c"d', (("a", False), ("b c", False), ("d", False))),
        ("AND NOT NEAR(x, y)", (("AND", False), ("NOT", False), ("NEAR(x,", False), ("y)", False))),
        ("subject:hello {a} [b] ^c -d", tuple((word, False) for word in ["subject:hello", "{a}", "[b]", "^c", "-d"])),
        ("nul\0inside", (("nul", False), ("inside", False))),
        ("twice twice", (("twice", False),)),
    ],
)  # fmt: skip
def test_a_text_is_words_phrases_and_beginnings(text: str, terms: tuple[tuple[str, bool], ...]) -> None:
    assert parse(text) == tuple(Term(text=word, prefix=prefix) for word, prefix in terms)


def test_a_book_is_refused_by_its_size() -> None:
    parse(" ".join(str(number) for number in range(200)))
    with pytest.raises(TooLargeError, match="up to 200 words"):
        parse(" ".join(str(number) for number in range(201)))


@given(st.text(max_size=80))
def test_no_text_upsets_it_and_every_term_is_something(text: str) -> None:
    for term in parse(text):
        assert term.text.strip() == term.text != ""


def test_what_the_index_cannot_hold_is_looked_for_in_the_texts() -> None:
    known, others = split(parse('deploy* 失敗 🔥 "a/b" ->'))
    assert match_of(known) == '"deploy"* "a/b"'
    assert others == ["失敗", "🔥", "->"]


def test_better_comes_first_and_newer_among_equals() -> None:
    def scored(id: str, rank: float, at: int) -> Scored:
        return Scored(rank=rank, hit=SearchHit(kind="mail", id=id, at=Instant(at), snippet=""))

    assert [hit.id for hit in best([scored("a", -1, 1), scored("b", -2, 1), scored("c", -1, 2)])] == ["b", "c", "a"]


def test_a_piece_is_cut_out_around_the_word() -> None:
    text = "x" * 200 + " Ünï → here\nand " + "y" * 200
    piece = cut_out(text, ["→", "absent"])
    assert piece.startswith("\u2026x")
    assert f"Ünï {OPEN}→{CLOSE} here and y" in piece
    assert piece.endswith("y\u2026")
    assert cut_out("nothing of it\nhere", ["z"]) == "nothing of it"
    assert first_line("\n\n  two\nthree") == "two"
    assert len(first_line("w" * 999)) == 200
