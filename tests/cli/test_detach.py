"""The detach keys: found however the terminal spells them, and never given to the child."""

from __future__ import annotations

import pytest

from whisk.cli.detach import DEFAULT, Detach, parse_keys
from whisk.cli.failure import UsageError

CTRL_BRACKET = b"\x1d"


def fed(*pieces: bytes, keys: str = DEFAULT) -> tuple[bytes, bool]:
    """What the child would get of these pieces, and whether the person detached."""
    detach = Detach(parse_keys(keys))
    passed = b""
    for piece in pieces:
        more, done = detach.feed(piece)
        passed += more
        if done:
            return passed, True
    return passed, False


@pytest.mark.parametrize(
    "pieces",
    [
        (b"\x1dd",),
        (b"\x1d", b"d"),
        (b"\x1b[93;5ud",),
        (b"\x1b[93;5u", b"d"),
        (b"\x1b[93;5u", b"\x1b[93;5:3u", b"d"),
        (b"\x1b[93;5:1u\x1b[100;1u",),
        (b"\x1b[93:125;69ud",),
        (b"\x1b[27;5;93~d",),
        (b"\x1b[27;133;93~d",),
    ],
)
def test_the_keys_detach_in_every_spelling_and_none_of_them_gets_through(pieces: tuple[bytes, ...]) -> None:
    assert fed(b"ls\r", *pieces) == (b"ls\r", True)


def test_nothing_typed_behind_the_keys_gets_through() -> None:
    assert fed(b"a\x1ddrm -rf /\r") == (b"a", True)


def test_the_first_key_twice_types_it_once() -> None:
    assert fed(b"\x1d\x1d") == (CTRL_BRACKET, False)
    assert fed(b"\x1d", b"\x1d", b"d") == (b"\x1dd", False)


def test_keys_that_only_begin_like_the_sequence_are_passed_on_whole() -> None:
    assert fed(b"\x1dx") == (b"\x1dx", False)
    assert fed(b"\x1d", b"\x1b[A") == (b"\x1d\x1b[A", False)
    assert fed(b"d") == (b"d", False)


def test_other_keys_of_the_same_letter_are_not_the_keys() -> None:
    shift_alt = b"\x1b[93;4u"
    assert fed(shift_alt + b"d") == (shift_alt + b"d", False)
    assert fed(b"\x1b[93;6ud") == (b"\x1b[93;6ud", False)


def test_a_paste_never_detaches() -> None:
    paste = b"\x1b[200~one \x1dd two\x1b[201~"
    assert fed(paste) == (paste, False)
    assert fed(b"\x1b[200~one \x1d", b"d two\x1b[201~", b"x") == (paste + b"x", False)
    assert fed(paste, b"\x1dd") == (paste, True)


def test_other_keys_may_be_chosen() -> None:
    assert fed(b"x\x11y", keys="ctrl-q") == (b"x", True)
    assert fed(b"\x01\x02q", keys="^a,^b,q") == (b"", True)
    assert fed(b"\x01\x02x\x01\x02q", keys="c-a,c-b,q") == (b"\x01\x02x", True)
    assert fed(b"\x1dd", keys="none") == (b"\x1dd", False)


@pytest.mark.parametrize("text", ["ctrl", "ctrl-", "ctrl-1", "ab", "ctrl-],", "\x1b", "é"])
def test_keys_that_are_none_are_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="detach keys are written like"):
        parse_keys(text)


def test_text_of_every_kind_goes_through_unchanged() -> None:
    text = "é 漢字 \x00\x1b\x1bOA\x1b[<0;1;2M\x1b[97;5u\x7f".encode()
    assert fed(text) == (text, False)
    assert fed(*(text[at : at + 1] for at in range(len(text)))) == (text, False)
