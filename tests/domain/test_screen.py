from hypothesis import given, settings
from hypothesis import strategies as st

from whisk.terminal.plain import plain
from whisk.terminal.screen import Screen, TerminalSnapshot

# Pieces of sequences, separated by blanks; `SPACE`, `CRLF` and `TAB` stand for themselves.
PIECES = """
    \x1b[ \x1b] \x1bP \x1b\\ \x1bc \x1b7 \x1b8 \x1bM \x1bD \x1b[1;31m ?1049h ?1049l ?47h ?25l ?3h !p 2J 3J 99999
    9 100; ; 38;5;
    H m L M P @ S T b r A X K J \x08 SPACE CRLF TAB word \u4f60\u597d e\u0301 \u200b \U0001f469\u200d\U0001f4bb
"""
pieces = st.sampled_from([{"SPACE": " ", "CRLF": "\r\n", "TAB": "\t"}.get(piece, piece) for piece in PIECES.split()])


def screen(data: str, cols: int = 20, rows: int = 5) -> Screen:
    result = Screen(cols, rows)
    result.feed(data.encode())
    return result


def redraw(snapshot: TerminalSnapshot) -> TerminalSnapshot:
    """What a viewer sees that writes the parts of a snapshot in the order it should."""
    viewer = Screen(snapshot.cols, snapshot.rows)
    for part in (
        snapshot.rehydrate_before_viewport or "",
        snapshot.scrollback_ansi,
        snapshot.viewport_ansi,
        snapshot.rehydrate_sequences,
    ):
        viewer.feed(part.encode())
    return viewer.snapshot()


def test_lines_that_leave_the_screen_are_the_scrollback() -> None:
    snapshot = screen("".join(f"line {n}\r\n" for n in range(9))).snapshot()
    assert plain(snapshot.scrollback_ansi).split() == [w for n in range(5) for w in ("line", str(n))]
    assert plain(snapshot.viewport_ansi) == "line 5\nline 6\nline 7\nline 8\n"
    assert (snapshot.cursor.x, snapshot.cursor.y) == (0, 4)


def test_a_viewer_that_redraws_a_snapshot_sees_the_same() -> None:
    data = (
        "".join(f"\x1b[3{n % 8};1mline {n}\x1b[0m\r\n" for n in range(9))
        + "\x1b[?2004h\x1b[?1006h\x1b[?1002h\x1b[2;7Hx"
    )
    before = screen(data).snapshot()
    after = redraw(before)
    assert after.viewport_ansi == before.viewport_ansi
    assert after.scrollback_ansi == before.scrollback_ansi
    assert after.modes == before.modes
    assert after.cursor == before.cursor


def test_the_alternate_screen_hides_the_main_one_and_gives_it_back() -> None:
    terminal = screen("shell$ \x1b[?1049h\x1b[2J\x1b[Hfull screen")
    inside = terminal.snapshot()
    assert inside.modes.alt_screen
    assert inside.rehydrate_before_viewport == "\x1b[?1049h"
    assert plain(inside.viewport_ansi).strip() == "full screen"
    terminal.feed(b"\x1b[?1049l")
    outside = terminal.snapshot()
    assert not outside.modes.alt_screen
    assert plain(outside.viewport_ansi).strip() == "shell$"
    assert outside.cursor.x == 7


def test_what_scrolls_in_the_alternate_screen_is_no_scrollback() -> None:
    assert screen("\x1b[?1049h" + "x\r\n" * 50).snapshot().scrollback_ansi == ""


def test_private_prefixes_and_strings_do_not_reach_the_text() -> None:
    snapshot = screen("\x1b[>4;2ma\x1b[<u\x1b[?u\x1bP+q544e\x1b\\b\x1b_Ga\x1b\\c\x1b[4:3md").snapshot()
    assert snapshot.viewport_ansi.startswith("\x1b[H\x1b[2Jabc\x1b[0;4md\x1b[0m")


def test_a_zero_width_character_does_not_swallow_the_rest_of_the_line() -> None:
    assert plain(screen("a\u200bb\ufe0fc").snapshot().viewport_ansi).strip() == "abc"


def test_mouse_modes_are_named() -> None:
    modes = screen("\x1b[?1000h\x1b[?1003h\x1b[?1016h\x1b[?1h\x1b[?25l").snapshot()
    assert modes.mouse_tracking_modes == ("normal", "any")
    assert (modes.modes.mouse_tracking, modes.modes.mouse_encoding) == ("any", "sgrPixel")
    assert modes.modes.application_cursor
    assert not modes.modes.cursor_visible


def test_a_lower_screen_keeps_the_line_of_the_cursor() -> None:
    terminal = screen("1\r\n2\r\n3\r\n4")
    terminal.resize(20, 2)
    snapshot = terminal.snapshot()
    assert plain(snapshot.scrollback_ansi).split() == ["1", "2"]
    assert plain(snapshot.viewport_ansi).split() == ["3", "4"]
    assert snapshot.cursor.y == 1


def test_a_screen_that_begins_in_the_middle_says_so() -> None:
    late = Screen(20, 5, offset=1000)
    late.feed(b"abc")
    assert late.snapshot().offset == 1003
    assert late.snapshot().truncated


def test_scrollback_is_bounded_in_lines() -> None:
    snapshot = screen("\n" * 10_100, rows=2).snapshot()
    assert snapshot.scrollback_ansi.count("\r\n") == 10_000 + 1


@settings(max_examples=150, deadline=None)
@given(st.lists(pieces, max_size=40), st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), max_size=3))
def test_no_output_and_no_size_can_break_the_screen(parts: list[str], sizes: list[tuple[int, int]]) -> None:
    terminal = Screen(12, 4)
    for part in parts:
        terminal.feed(part.encode())
        if sizes and part in ("\r\n", "?1049h"):
            terminal.resize(*sizes.pop())
    snapshot = terminal.snapshot()
    assert 0 <= snapshot.cursor.x < snapshot.cols
    assert 0 <= snapshot.cursor.y < snapshot.rows
    assert snapshot.viewport_ansi.count("\r\n") == snapshot.rows - 1
    redraw(snapshot)
