"""What a search finds, and how it shows where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from whisk.clock import Instant
from whisk.search.query import ascii_lower
from whisk.values import Record

HitKind = Literal["mail", "question", "artifact", "transcript"]
HIT_KINDS: tuple[HitKind, ...] = get_args(HitKind)

OPEN, CLOSE = "\u27e6", "\u27e7"
"""What stands around each word that was found: signs that hardly any text holds."""
TITLE_CHARS = 200
_AROUND = 80


class SearchHit(Record, frozen=True):
    """`id` is that of the message, question or artifact, or of the terminal. `snippet` is a piece of its text with the
    found words marked; in a transcript it lies behind `offset`, in bytes from the beginning of the output.
    """

    kind: HitKind
    id: str
    at: Instant
    snippet: str
    title: str = ""
    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    offset: int | None = None


class SearchResults(Record, frozen=True):
    """At least `unread_bytes` of transcripts are not in the index yet; the same search a little later finds what is in
    them. 0: all of it is there.
    """

    hits: tuple[SearchHit, ...]
    unread_bytes: int = 0


class Scored(Record, frozen=True):
    """A hit and how good it is: the lower, the better."""

    rank: float
    hit: SearchHit


def best(scored: Iterable[Scored]) -> list[SearchHit]:
    """By rank, and among equals the newest first."""
    return [each.hit for each in sorted(scored, key=lambda each: (each.rank, -int(each.hit.at), each.hit.id))]


def first_line(text: str) -> str:
    """The first line with anything in it, cut to a title's length."""
    line = text.strip().partition("\n")[0].rstrip()
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "\u2026"


def cut_out(text: str, words: Sequence[str]) -> str:
    """A piece of `text` around the first of `words` that is in it, with it marked; for words that no index holds."""
    lowered = ascii_lower(text)
    places = [(at, len(word)) for word in words if (at := lowered.find(ascii_lower(word))) >= 0]
    if not places:
        return first_line(text)
    at, length = min(places)
    start, end = max(0, at - _AROUND), min(len(text), at + length + _AROUND)
    marked = text[start:at] + OPEN + text[at : at + length] + CLOSE + text[at + length : end]
    return ("\u2026" if start else "") + " ".join(marked.split()) + ("\u2026" if end < len(text) else "")
