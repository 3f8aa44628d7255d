"""The supervision tree as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Actor = Mapping[str, Any]


class Branch(NamedTuple):
    """An actor and what is drawn before its name."""

    prefix: str
    actor: Actor


class Style(NamedTuple):
    """How the lines between actors are drawn: a child, the last child, and what leads past each."""

    child: str
    last: str
    past: str
    blank: str


UNICODE = Style("├── ", "└── ", "│   ", "    ")
ASCII = Style("|-- ", "`-- ", "|   ", "    ")


def style_for(encoding: str | None) -> Style:
    """Lines that the terminal's encoding can show."""
    try:
        UNICODE.child.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def grow(actors: Sequence[Actor], style: Style) -> list[Branch]:
    """Every actor once, parents before children, in the order of the list.

    An actor whose parent is not in the list is a root; should parents ever form a circle, its members are roots too.
    """
    names = {actor["name"] for actor in actors}
    children: dict[str | None, list[Actor]] = {}
    for actor in actors:
        parent = actor.get("parent")
        children.setdefault(parent if parent in names and parent != actor["name"] else None, []).append(actor)
    drawn: list[Branch] = []
    seen: set[str] = set()

    def draw(actor: Actor, prefix: str, lead: str) -> None:
        if actor["name"] in seen:
            return
        seen.add(actor["name"])
        drawn.append(Branch(prefix, actor))
        below = children.get(actor["name"], [])
        for number, child in enumerate(below, 1):
            is_last = number == len(below)
            draw(
                child, lead + (style.last if is_last else style.child), lead + (style.blank if is_last else style.past)
            )

    for root in children.get(None, []):
        draw(root, "", "")
    for actor in actors:
        draw(actor, "", "")
    return drawn
