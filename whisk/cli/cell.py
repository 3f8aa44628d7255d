"""Text measured in the cells of a terminal."""

from __future__ import annotations


def width(text: str) -> int:
    """Terminal cells that `text` takes: wide characters count two, combining ones none."""
    if text.isascii():
        return len(text)
    import unicodedata

    cells = 0
    for character in text:
        if not unicodedata.combining(character) and unicodedata.category(character) not in ("Cf", "Me", "Mn"):
            cells += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return cells


def cut(text: str, cells: int) -> str:
    """`text` in at most `cells` cells, its end replaced by `…` when something was left out."""
    if width(text) <= cells:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > cells - 1:
            break
        kept += character
    return kept + "…" if cells > 0 else ""
