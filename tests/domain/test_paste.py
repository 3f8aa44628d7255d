from __future__ import annotations

import pytest

from whisk.terminal.keys import pasted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo\n", "one\rtwo"),
        ("one\r\ntwo", "one\rtwo"),
        ("a\x1b[201~\rrm -rf /\r", "arm -rf /"),
        ("a\x9b201~b\x03\x04", "ab"),
        ("\x1b]0;title\x07é", "é"),
    ],
)
def test_what_is_pasted_stays_inside_its_brackets(text: str, shown: str) -> None:
    assert pasted(text) == b"\x1b[200~" + shown.encode() + b"\x1b[201~"
