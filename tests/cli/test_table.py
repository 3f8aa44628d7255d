"""Tables in windows that are too narrow for them."""

from __future__ import annotations

import pytest

from whisk.cli.cell import width
from whisk.cli.table import lay_out, shrink

MAIL, RUN, PROJECT = (f"{kind}_01M8Q1MG1F7RBXEHH3G4RD84CB" for kind in ("mail", "run", "proj"))
HEADER = ["ID", "TYPE", "PRIORITY", "FROM", "TO", "SUBJECT"]
ROW = [
    MAIL,
    "dispatch",
    "normal",
    f"project:{PROJECT}",
    f"run:{RUN}",
    "Implement the 日本語 flag, with tests, and say so",
]


@pytest.mark.parametrize("room", [56, 66, 80, 100, 140, 400])
def test_ids_are_whole_and_lines_fit(room: int) -> None:
    lines = lay_out(HEADER, [ROW, ROW], room, flexible=["SUBJECT"])
    assert all(width(line) <= room for line in lines), lines
    for name in (MAIL, RUN, PROJECT):
        assert sum(name in line for line in lines) == 2


def test_ids_that_find_no_place_stand_below_their_row() -> None:
    assert lay_out(HEADER, [ROW], 80, flexible=["SUBJECT"]) == [
        "ID                               TYPE      PRIORITY  SUBJECT",
        f"{MAIL}  dispatch  normal    Implement the 日本語 flag,…",
        f"  FROM  project:{PROJECT}",
        f"  TO    run:{RUN}",
    ]


def test_a_list_of_ids_is_wrapped_between_them() -> None:
    many = ",".join(f"run:{RUN}" for _ in range(3))
    lines = lay_out(["ID", "TO"], [[MAIL, many]], 60)
    assert lines == ["ID", MAIL, f"  TO  run:{RUN},", f"      run:{RUN},", f"      run:{RUN}"]


def test_nothing_below_for_what_a_row_does_not_have() -> None:
    lines = lay_out(["ID", "PROJECT", "NAME"], [[RUN, PROJECT, "a"], [MAIL, "", "b"]], 60)
    assert len(lines) == 4


def test_columns_without_a_value_go_first_and_optional_ones_next() -> None:
    header, rows = ["NAME", "KIND", "PLUGIN", "STATE", "ERROR"], [["a" * 20, "b" * 12, "", "alive", "e" * 40]]
    assert "PLUGIN" in lay_out(header, rows, 100, optional=["KIND"])[0]
    assert lay_out(header, rows, 84, optional=["KIND"])[0].split() == ["NAME", "KIND", "STATE", "ERROR"]
    assert lay_out(header, rows, 80, optional=["KIND"])[0].split() == ["NAME", "STATE", "ERROR"]


def test_text_that_would_say_nothing_any_more_stands_below_its_row() -> None:
    lines = lay_out(["ID", "RULE", "REASON"], [[RUN, "Bash(git push *)", "not on a Friday"]], 50, flexible=["REASON"])
    assert lines[1:] == [f"{RUN}  Bash(git push *)", "  REASON  not on a Friday"]


def test_where_there_is_no_window_nothing_is_cut_or_moved() -> None:
    long = "x" * 500
    assert lay_out(["ID", "TO", "SUBJECT"], [[MAIL, f"run:{RUN}", long]])[1].split() == [MAIL, f"run:{RUN}", long]


def test_an_empty_table_keeps_its_header() -> None:
    assert lay_out(HEADER, [], 80) == ["  ".join(HEADER)]


@pytest.mark.parametrize(
    ("first", "room", "left"),
    [
        ([3], 86, [10, 20, 40, 10]),
        ([3], 66, [10, 20, 22, 8]),
        ([2, 3], 86, [10, 20, 25, 25]),
        ([2, 3], 46, [10, 14, 8, 8]),
        ([3], 20, [10, 8, 8, 8]),
    ],
)
def test_the_widest_of_the_flexible_columns_gives_way_first(first: list[int], room: int, left: list[int]) -> None:
    widths = [10, 20, 40, 40]
    shrink(widths, [10, 8, 8, 8], first, range(4), room)
    assert widths == left
