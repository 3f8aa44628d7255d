"""What a person types into a search, taken apart. Any text is a query: there are no operators to get wrong.

Words and "quoted phrases" must all be there; a `*` at the end of one finds longer words as well. Everything else,
`AND`, `NEAR(…)`, a colon, a bracket or a dash, is text to look for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from whisk.errors import TooLargeError
from whisk.values import Record

WORDS = 200
"""Different words that one search takes."""
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_TERM = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)|"')


class Term(Record, frozen=True):
    """A word, or the words of a phrase. With `prefix` its last word may go on."""

    text: str
    prefix: bool = False


def parse(text: str) -> tuple[Term, ...]:
    """The terms of `text`, each once; none for text without anything to look for.

    A quote that nobody closes is left out. Raises `TooLargeError` beyond `WORDS` terms.
    """
    # Controls end a word; NUL would end the text.
    clean = "".join(" " if unicodedata.category(char) == "Cc" else char for char in text)
    found: list[Term] = []
    for match in _TERM.finditer(clean):
        phrase, star, word = match.groups()
        if phrase is not None:
            found.append(Term(text=" ".join(phrase.split()), prefix=bool(star)))
        elif word is not None:
            stem = word.rstrip("*")
            # Stars alone are text like any other sign.
            found.append(Term(text=stem or word, prefix=stem not in ("", word)))
    return limited(term for term in found if term.text)


def limited(terms: Iterable[Term], what: str = "a search") -> tuple[Term, ...]:
    kept = tuple(dict.fromkeys(terms))
    if len(kept) > WORDS:
        raise TooLargeError(f"{what} takes up to {WORDS} words", limit=WORDS, words=len(kept))
    return kept


def match_of(terms: Iterable[Term]) -> str:
    """The terms as an expression of SQLite's full-text index: strings, so nothing in them is an operator."""
    return " ".join('"' + term.text.replace('"', '""') + '"' + ("*" if term.prefix else "") for term in terms)


def split(terms: Iterable[Term]) -> tuple[list[Term], list[str]]:
    """Those that the index finds, and the texts that must be looked for in the things themselves."""
    known: list[Term] = []
    others: list[str] = []
    for term in terms:
        known.append(term) if is_indexed(term.text) else others.append(term.text)
    return known, others


def ascii_lower(text: str) -> str:
    """Lowered as SQLite's `lower` does it, which knows ASCII alone."""
    return text.translate(_ASCII_LOWER)


def is_indexed(word: str) -> bool:
    """Whether the index finds this text: it keeps letters and digits only, and cuts text at what is neither.

    Signs and emoji are not in it at all, and a text in a script without spaces is one long word there, so such words
    are looked for in the texts themselves.
    """
    kept = [char for char in word if unicodedata.category(char)[0] in "LN" or unicodedata.category(char) == "Co"]
    return bool(kept) and not any(_is_unspaced(char) for char in kept)


def _is_unspaced(char: str) -> bool:
    """Han, kana, Yi, Thai, Lao, Tibetan, Burmese and Khmer. Korean has spaces."""
    code = ord(char)
    return (
        0x0E00 <= code <= 0x109F
        or 0x1780 <= code <= 0x17FF
        or 0x2E80 <= code <= 0xA4CF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
    )
