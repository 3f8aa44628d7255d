"""Help texts, which are written for wide windows, filled again for a narrow one."""

from __future__ import annotations

import re

# An option with the beginning of what it does; the rest stands below it, in the same column.
_OPTION = re.compile(r"( {2,}(?:-h, )?--\S+ {2,})(\S.*)")
_HANGING = 6


def fit(text: str, columns: int | None) -> str:
    """`text` with no line wider than `columns` (None: as it is), but for the examples, which are there to be copied."""
    head, mark, examples = text.partition("Examples:\n")
    if columns is None or all(len(line) <= columns for line in head.splitlines()):
        return text
    lines: list[str] = []
    for lead, words in _pieces(head.splitlines()):
        lines += _fill(lead, words, columns)
    return "\n".join(lines) + ("\n" if head.endswith("\n") else "") + mark + examples


def _pieces(lines: list[str]) -> list[tuple[str, str]]:
    """What belongs together: the lead of the first line, and all the words that come behind it."""
    pieces: list[tuple[str, str]] = []
    for line in lines:
        option = _OPTION.fullmatch(line)
        indent = len(line) - len(line.lstrip())
        lead, words = pieces[-1] if pieces else ("", "")
        goes_on = words and not words.endswith(":") and line and indent == len(lead)
        if option is not None:
            pieces.append((option[1], option[2]))
        elif goes_on and (lead.strip() or not indent):
            pieces[-1] = (lead, f"{words} {line.strip()}")
        else:
            pieces.append((" " * indent, line.strip()))
    return pieces


def _fill(lead: str, words: str, columns: int) -> list[str]:
    import textwrap

    # Below an option its column goes on, unless that leaves too little of the window.
    hanging = len(lead) if not lead.strip() or len(lead) <= columns // 2 else _HANGING
    hanging += _HANGING if lead and not lead.strip() else 0
    wrapped = textwrap.wrap(
        words,
        columns,
        initial_indent=lead,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped or [""]
