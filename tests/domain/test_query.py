"""Questions that a program asks its terminal."""

from __future__ import annotations

import pytest

from whisk.terminal.query import QueryWatch
from whisk.terminal.screen import Screen


def answers(data: str, cols: int = 20, rows: int = 5) -> str:
    screen = Screen(cols, rows)
    screen.feed(data.encode())
    return b"".join(screen.take_replies()).decode()


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("\x1b[6n", "\x1b[1;1R"),
        ("one\r\ntwo\x1b[6n", "\x1b[2;4R"),
        ("\x1b[3;9H\x1b[?6n", "\x1b[?3;9R"),
        ("\x1b[2;4r\x1b[?6h\x1b[3;2H\x1b[6n", "\x1b[3;2R"),
        ("a" * 20 + "\x1b[6n", "\x1b[1;20R"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[c\x1b[0c", "\x1b[?1;2c\x1b[?1;2c"),
        ("x\x1b[6ny\x1b[6n", "\x1b[1;2R\x1b[1;3R"),
    ],
)
def test_the_screen_answers_from_where_the_question_stood(asked: str, answer: str) -> None:
    assert answers(asked) == answer


@pytest.mark.parametrize(
    "data",
    [
        "\x1b]0;\x1b[6\x07n",
        "\x1bPq\x9b6n#1\x1b\\",
        "\x1b_\x1b\\[6n",
        "[6n",
        "\\e[6n",
        "\x1b[1;6n",
        "\x1b[>c",
        "\x1b[?5n",
        "\x1b[7n",
        "\x1b[1c",
        "\x1b[?1;2c",
        "\x1b[3;1R",
        "\x1b[0n",
    ],
)
def test_what_only_looks_like_a_question_or_is_an_answer_is_not_answered(data: str) -> None:
    assert answers(data) == ""


def test_a_flood_of_questions_gets_few_answers() -> None:
    assert answers("\x1b[6n" * 1000) == "\x1b[1;1R" * 16


def test_answers_are_taken_once() -> None:
    screen = Screen(20, 5)
    screen.feed(b"\x1b[5n")
    assert screen.take_replies() == [b"\x1b[0n"]
    assert screen.take_replies() == []


@pytest.mark.parametrize("question", [b"\x1b[6n", b"\x1b[?6n", b"\x1b[5n", b"\x1b[c", b"\x1b[0c"])
def test_a_question_is_noticed_wherever_it_is_cut_and_once(question: bytes) -> None:
    data = b"before" + question + b"after"
    end = data.index(question) + len(question)
    for cut in range(len(data)):
        watch = QueryWatch()
        assert [watch.feed(data[:cut]), watch.feed(data[cut:])] == [cut >= end, cut < end], cut
    watch = QueryWatch()
    noticed = [watch.feed(data[at : at + 1]) for at in range(len(data))]
    assert noticed == [at + 1 == end for at in range(len(data))]


def test_ordinary_output_is_not_noticed() -> None:
    watch = QueryWatch()
    assert not watch.feed(b"\x1b[31mred\x1b[0m [6n \x1b[26n \x1b[2;6H")
