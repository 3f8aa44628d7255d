"""Tables that fit a terminal. What may be copied stays whole: an id that ends in `…` is of no use to anybody."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from whisk.cli.cell import cut, width

_ID = re.compile(r"(?<![0-9A-Za-z])[a-z]+_[0-9A-HJKMNP-TV-Z]{26}(?![0-9A-Za-z])")
_GAP = 2
# A column of text that had to be narrower than this says nothing.
_LEAST = 12


def lay_out(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: int | None = None,
    *,
    flexible: Collection[str] = (),
    optional: Sequence[str] = (),
) -> list[str]:
    """Aligned columns under a header row, two spaces apart, in lines of at most `room` cells (None: as wide as it is).

    When they do not fit, these give way, in turn: columns in which nothing stands; the `optional` ones; columns that
    hold ids, which go below their row with their name before them; text is cut, that of the `flexible` columns first.
    The first column and ids are never cut, so only they can be wider than a very narrow `room`.
    """
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(width(line[column]) for line in lines) for column in range(len(header))]
    kept = list(range(len(header)))
    below: list[int] = []
    if room is not None:
        whole = {0, *(column for column in kept if any(_ID.search(row[column]) for row in rows))}
        least = [widths[column] if column in whole else min(widths[column], _LEAST) for column in kept]
        soft = [column for column in kept if header[column] in flexible]
        kept, below = _choose(header, rows, widths, least, room, whole, soft, optional)
        shrink(widths, least, [column for column in soft if column in kept], kept, room)
    label = max((len(header[column]) for column in below), default=0)
    drawn: list[str] = []
    for number, line in enumerate(lines):
        cells = [cut(line[column], widths[column]) for column in kept]
        padded = [cell + " " * (widths[column] - width(cell)) for cell, column in zip(cells, kept, strict=True)]
        drawn.append((" " * _GAP).join(padded).rstrip())
        for column in below if number else ():
            drawn += _below(header[column].ljust(label), line[column], room or 0, whole=column in whole)
    return drawn


def shrink(widths: list[int], least: Sequence[int], first: Sequence[int], kept: Sequence[int], room: int) -> None:
    """Make the `kept` columns fit into `room` where that is possible, always taking from the widest.

    The columns in `first` give way before the others do, and none becomes narrower than its `least`.
    """
    for columns in (first, kept):
        while _total(widths, kept) > room and (able := [one for one in columns if widths[one] > least[one]]):
            widths[max(able, key=lambda column: widths[column])] -= 1


def _choose(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    least: Sequence[int],
    room: int,
    whole: Collection[int],
    soft: Sequence[int],
    optional: Sequence[str],
) -> tuple[list[int], list[int]]:
    """The columns that stay, and those that go below their row."""
    kept, below = list(range(len(header))), []
    empty = [column for column in kept[1:] if rows and not any(row[column] for row in rows)]
    spare = [*empty, *(header.index(name) for name in optional)]
    while _total(widths, kept) > room and spare:
        column = spare.pop(0)
        kept = [one for one in kept if one != column]
    ids = sorted(whole, reverse=True)
    text = sorted((column for column in kept if column not in whole), key=lambda column: least[column], reverse=True)
    movable = [one for one in dict.fromkeys([*ids, *sorted(soft, reverse=True), *text]) if one and one in kept]
    while _total(least, kept) > room and movable:
        below.append(movable.pop(0))
        kept.remove(below[-1])
    return kept, sorted(below)


def _below(label: str, text: str, room: int, *, whole: bool) -> list[str]:
    """`text` on lines of its own under a row; a list of ids is wrapped between them, other text is cut."""
    if not text:
        return []
    lead = f"{' ' * _GAP}{label}{' ' * _GAP}"
    if not whole:
        return [lead + cut(text, max(room - len(lead), _LEAST))]
    drawn, line = [], lead
    for word in re.findall(r"[^, ]+[, ]*", text):
        if line.strip() and line != lead and width(line + word.rstrip()) > room:
            drawn.append(line.rstrip())
            line = " " * len(lead)
        line += word
    return [*drawn, line.rstrip()]


def _total(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[column] for column in kept) + _GAP * (len(kept) - 1)
