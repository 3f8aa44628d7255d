"""Reading what a person typed as a choice among an agent's options."""

from __future__ import annotations

from typing import TypeAlias

from whisk.errors import InvalidError
from whisk.hooks.event import Question

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
    ordered = sorted(set(labels), key=len, reverse=True)
    dead_ends: set[int] = set()

    def read(start: int) -> list[str] | None:
        if start in dead_ends:
            return None
        for label in ordered:
            end = start + len(label)
            if not text.startswith(label, start):
                continue
            if not text[end:].strip():
                return [label]
            separator = len(text[end:]) - len(text[end:].lstrip())
            if text[end + separator : end + separator + 1] != ",":
                continue
            after = end + separator + 1
            after += len(text[after:]) - len(text[after:].lstrip())
            rest = read(after)
            if rest is not None:
                return [label, *rest]
        dead_ends.add(start)
        return None

    found = read(len(text) - len(text.lstrip()))
    if found is None or any(found.count(label) > labels.count(label) for label in found):
        return None
    return found
