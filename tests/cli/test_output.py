"""What reaches the person's terminal."""

from __future__ import annotations

import io
import os
import pty

import pytest

from whisk.cli.cell import cut, width
from whisk.cli.output import Output, plain


def printed(call: object = None, **kwargs: object) -> tuple[Output, io.StringIO]:
    stream = io.StringIO()
    return Output({}, stream, io.StringIO()), stream


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;aGk=\x1b\\x", "x"),
        ("\x1bPq\x1b\\x", "x"),
        ("\x9b31mx", "x"),
        ("a\rb\x00c\x7fd\x85e", "abcde"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1b(Bx", "x"),
        ("\x1b", ""),
    ],
)
def test_controls_of_agents_never_reach_the_terminal(dirty: str, clean: str) -> None:
    assert plain(dirty) == clean


def test_columns_line_up_without_tabs() -> None:
    out, stream = printed()
    out.table(["ID", "SUBJECT"], [["mail_1", "a\tb\nc"], ["m", "日本"], ["x", None]])
    assert stream.getvalue() == "ID      SUBJECT\nmail_1  a b c\nm       日本\nx\n"


def test_an_empty_table_still_has_its_header() -> None:
    out, stream = printed()
    out.table(["ID", "NAME"], [])
    assert stream.getvalue() == "ID  NAME\n"


def test_a_pipe_gets_every_character() -> None:
    out, stream = printed()
    out.table(["ID", "SUBJECT"], [["m", "x" * 500]])
    assert "x" * 500 in stream.getvalue()


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_a_table_fits_the_terminal_and_keeps_its_ids(columns: int) -> None:
    main, other = pty.openpty()
    try:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with os.fdopen(other, "w", newline="\n") as stream:
            out = Output({"TERM": "xterm"}, stream, io.StringIO())
            out.table(["ID", "FROM", "SUBJECT"], [["mail_0123456789", "run:someone", "words " * 40]])
            out.line("end")
            out.flush()
            data = b""
            # The terminal may hand over what was written in pieces, so a count of lines would not say that it is all.
            while not data.endswith(b"end\r\n"):
                data += os.read(main, 4096)
            text = data.decode()
    finally:
        os.close(main)
    lines = text.splitlines()
    assert all(width(line) <= columns for line in lines)
    assert "mail_0123456789" in lines[1]
    assert "…" in text


def test_json_is_two_spaces_deep_and_keeps_order_and_characters() -> None:
    out, stream = printed()
    out.json({"id": "mail_1", "body": "é\x1b\x9b\u202e", "to": []})
    assert stream.getvalue() == '{\n  "id": "mail_1",\n  "body": "é\\u001b\\u009b\\u202e",\n  "to": []\n}\n'


def test_fields_are_tab_separated() -> None:
    out, stream = printed()
    out.fields("run_1", True, None, "a\tb")
    assert stream.getvalue() == "run_1\ttrue\t\ta b\n"


def test_cut_counts_cells() -> None:
    assert cut("日本語", 5) == "日本…"
    assert cut("abc", 3) == "abc"


def test_colours_need_a_terminal_and_consent() -> None:
    assert Output({}, io.StringIO()).style("x", "31") == "x"
