"""Globs that are matched in one pass, whatever text an agent puts before them.

A regular expression with several `.*` tries every division of a text among them; a command of a few kilobytes then
keeps the whole daemon busy for ever, its hooks run into their limits, and agents go on as if no rule were there. The
earliest place for each part is always as good as a later one, so nothing is ever tried twice.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class _Glob(NamedTuple):
    """What stands before, between and behind the stars that match anything; `end` must reach the end of the text."""

    start: re.Pattern[str] | None
    between: tuple[re.Pattern[str], ...]
    end: re.Pattern[str]
    length: int | None
    """Of the end, where that is the same for every text."""


def fits(glob: str, text: str, *, path: bool) -> bool:
    """Whether all of `text` fits. `*` is any run of characters, in a path within one folder (`**` crosses folders); `?`
    is one character.
    """
    parts = _parse(glob, path)
    at = 0
    if parts.start is not None:
        found = parts.start.match(text)
        if found is None:
            return False
        at = found.end()
        for part in parts.between:
            found = part.search(text, at)
            if found is None:
                return False
            at = found.end()
        if parts.length is not None:
            at = max(at, len(text) - parts.length)
        return parts.end.search(text, at) is not None
    return parts.end.match(text) is not None


@lru_cache(maxsize=1024)
def _parse(glob: str, path: bool) -> _Glob:
    literals = re.split(r"\*+", glob)
    stars = re.findall(r"\*+", glob)
    # Parts are divided by stars that match anything; inside of one are only those that stay in their folder.
    parts = [[literals[0]]]
    for star, literal in zip(stars, literals[1:], strict=True):
        if path and star == "*":
            parts[-1].append(literal)
        else:
            parts.append([literal])
    *before, last = parts
    return _Glob(
        start=_compile(before[0], path) if before else None,
        between=tuple(_compile(part, path) for part in before[1:]),
        end=_compile(last, path, to_the_end=True),
        length=len(last[0]) if len(last) == 1 else None,
    )


def _compile(part: list[str], path: bool, *, to_the_end: bool = False) -> re.Pattern[str]:
    any_one = "[^/]" if path else "."
    first, *rest = ["".join(any_one if char == "?" else re.escape(char) for char in text) for text in part]
    if not to_the_end:
        return re.compile(first + "".join(f"(?>[^/]*?{text})" for text in rest), re.DOTALL)
    tail = f"[^/]*{rest.pop()}" if rest else ""
    return re.compile(first + "".join(f"(?>[^/]*?{text})" for text in rest) + tail + r"\Z", re.DOTALL)
