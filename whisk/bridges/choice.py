"""Reading what a person typed as a choice among an agent's options."""

from __future__ import annotations

import re
from collections import Counter
from typing import TypeAlias

from whisk.errors import InvalidError
from whisk.hooks.event import Question

_COMMA = re.compile(r"\s*,\s*")
_END = re.compile(r"\s*\Z")

Given: TypeAlias = str | int | list[str | int]
"""A label or free text, an option's number (from 1), or several of these for a multi-select question."""


def chosen_text(question: Question, given: Given, *, free_text: bool) -> str:
    """The text that the agent gets: a label as it stands, labels joined by ", ", or free text word for word.

    Raises `InvalidError` naming the choices when the text is none of them and free text is not allowed.
    """
    if isinstance(given, list):
        if not question.multi_select and len(given) != 1:
            raise InvalidError(f"only one answer is taken: {question.text}", question=question.text)
        return ", ".join(_one(question, part, free_text=free_text) for part in given)
    if isinstance(given, int) or not question.multi_select or given in question.known():
        return _one(question, given, free_text=free_text)
    parts = split_labels(given, question.known())
    if parts is not None:
        return ", ".join(parts)
    return _one(question, given, free_text=free_text)


def _one(question: Question, given: str | int, *, free_text: bool) -> str:
    if isinstance(given, int):
        if not 1 <= given <= len(question.options):
            raise _no_choice(question, str(given))
        return question.options[given - 1].value
    if given in question.known() or (free_text and given.strip()) or not question.options:
        return given
    raise _no_choice(question, given)


def _no_choice(question: Question, given: str) -> InvalidError:
    labels = [option.label for option in question.options]
    return InvalidError(
        f'prompt answer "{given}" is not an option; choose from: {"; ".join(labels)}',
        question=question.text,
        choices=labels,
    )


def split_labels(text: str, labels: tuple[str, ...]) -> list[str] | None:
    """`text` as known labels separated by commas, or None when it is not made of them alone.

    The longest label is tried first, so one that holds a comma is matched whole, and each may be used as often as it
    is offered. Nothing is guessed: a text that can be read only in part is not split at all.
    """
    if text.count(",") >= len(labels) + sum(label.count(",") for label in labels):
        return None
    found = _read(text, sorted(set(labels), key=len, reverse=True))
    return found if found is not None and Counter(found) <= Counter(labels) else None


def _read(text: str, labels: list[str]) -> list[str] | None:
    """The first way to read all of `text`, trying `labels` in their order; no place is tried twice."""
    dead_ends: set[int] = set()
    read: list[str] = []
    places = [(len(text) - len(text.lstrip()), iter(labels))]
    while places:
        start, untried = places[-1]
        for label in untried:
            end = start + len(label)
            if not text.startswith(label, start):
                continue
            if _END.match(text, end):
                return [*read, label]
            comma = _COMMA.match(text, end)
            if comma is not None and comma.end() not in dead_ends:
                read.append(label)
                places.append((comma.end(), iter(labels)))
                break
        else:
            dead_ends.add(start)
            places.pop()
            del read[-1:]
    return None
