"""Globs mean what the obvious regular expression means, and cost one pass over whatever text they meet."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whisk.bridges.glob import fits
from whisk.bridges.rule import COMMAND_CHARS, PATH_CHARS, allows, parse_rule, touches


def obvious(glob: str, text: str, path: bool) -> bool:
    pieces = []
    for piece in re.split(r"(\*+|\?)", glob):
        if piece.startswith("*"):
            pieces.append("[^/]*" if path and piece == "*" else ".*")
        elif piece == "?":
            pieces.append("[^/]" if path else ".")
        else:
            pieces.append(re.escape(piece))
    return re.fullmatch("".join(pieces), text, re.DOTALL) is not None


@settings(max_examples=1500, deadline=None)
@given(st.text("ab/*?\n", max_size=9), st.text("ab/\n", max_size=12), st.booleans())
@example("**/a*b", "/x/a/y/azb", True)
@example("a*b*a", "abba", True)
@example("**ab", "aab", True)
@example("a**", "a", False)
@example("a*a", "a", False)
def test_a_glob_fits_what_the_obvious_expression_fits(glob: str, text: str, path: bool) -> None:
    assert fits(glob, text, path=path) == obvious(glob, text, path)


STARS = "*a" * 12 + "*b"
LONG = "a" * 100_000


@pytest.mark.parametrize(
    ("rule", "tool", "given", "touched"),
    [
        (f"Bash({STARS})", "Bash", {"command": LONG}, False),
        (f"Other({STARS})", "Other", {"text": LONG * 20}, False),
        (f"Write(**{STARS})", "Write", {"file_path": "/" + LONG[: PATH_CHARS - 1]}, False),
        ("mcp__a" + "*a" * 9 + "*b", "mcp__" + LONG, {}, False),
        ("Bash(rm *)", "Bash", {"command": "echo " + "x " * 60_000}, False),
        ("Bash(rm *)", "Bash", {"command": "".join(f"{n};" for n in range(20_000))}, False),
        ("Bash(rm *)", "Bash", {"command": "".join(f"{n};" for n in range(20_000)) + "rm x"}, True),
        # Nobody can tell in time what these would run, and a rule that denies is read widely.
        ("Bash(rm *)", "Bash", {"command": "env " + "x " * 60_000}, True),
        ("Bash(rm *)", "Bash", {"command": "x" * (COMMAND_CHARS + 1)}, True),
        ("Write(/etc/**)", "Write", {"file_path": "/" + "a/" * PATH_CHARS}, True),
        ("apply_patch(/etc/**)", "apply_patch", {"command": "*** Add File: a" + " " * 1_000_000 + "b"}, True),
        ("apply_patch(/etc/**)", "apply_patch", {"command": "*** Add File: a" + " " * 1_000_000}, False),
    ],
)
def test_no_call_keeps_the_daemon_busy_with_a_rule(rule: str, tool: str, given: dict[str, str], touched: bool) -> None:
    parsed = parse_rule(rule)
    started = time.monotonic()
    assert touches(parsed, tool, given, "/home/dev") is touched
    assert not allows(parsed, tool, given, "/home/dev")
    assert time.monotonic() - started < 2
