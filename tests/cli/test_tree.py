"""The supervision tree, drawn."""

from __future__ import annotations

from whisk.cli.tree import ASCII, UNICODE, grow, style_for

ACTORS = [
    {"name": "supervisor"},
    {"name": "journal", "parent": "supervisor"},
    {"name": "project:p", "parent": "supervisor"},
    {"name": "work-item:i", "parent": "project:p"},
    {"name": "run:r", "parent": "work-item:i"},
    {"name": "events", "parent": "supervisor"},
    {"name": "lost", "parent": "nobody"},
]


def lines(style: object = UNICODE) -> list[str]:
    return [branch.prefix + branch.actor["name"] for branch in grow(ACTORS, style)]  # type: ignore[arg-type]


def test_children_hang_below_their_parent() -> None:
    assert lines() == [
        "supervisor",
        "├── journal",
        "├── project:p",
        "│   └── work-item:i",
        "│       └── run:r",
        "└── events",
        "lost",
    ]


def test_a_plain_terminal_gets_plain_lines() -> None:
    assert lines(ASCII)[4] == "|       `-- run:r"
    assert style_for("ascii") is style_for("latin-1") is style_for(None) is ASCII
    assert style_for("utf-8") is UNICODE


def test_a_circle_of_parents_is_drawn_once() -> None:
    circle = [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}, {"name": "c", "parent": "c"}]
    assert [branch.actor["name"] for branch in grow(circle, UNICODE)] == ["c", "a", "b"]
