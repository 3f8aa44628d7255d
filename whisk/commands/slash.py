"""The text behind a slash alias, as data: clients parse, complete and hint from it and name no command in code.

A grammar has fixed words, each of which stands for one complete object of arguments, and a field that takes the rest of
the line. Without a grammar nothing may follow the alias.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whisk.commands.data import freeze
from whisk.errors import InvalidError
from whisk.values import Record, check_text

TEXT_LIMIT = 65_536


class SlashWord(Record, frozen=True):
    """`/theme dark`: the word `dark` and the arguments that it means."""

    word: str
    arguments: Mapping[str, Any]
    description: str = ""


class SlashText(Record, frozen=True):
    """`/say hello there`: `field` gets `hello there`, beside the fixed `arguments`.

    `request_id_field` gets the caller's request id, by which a handler knows a retry. `hint` names what is expected.
    """

    field: str
    arguments: Mapping[str, Any] = {}
    request_id_field: str = ""
    hint: str = ""


class SlashArguments(Record, frozen=True):
    words: tuple[SlashWord, ...] = ()
    text: SlashText | None = None


class ParsedSlash(Record, frozen=True):
    """`arguments` is None for an alias without a grammar."""

    arguments: Mapping[str, Any] | None


class SlashCompletion(Record, frozen=True):
    """`text` replaces what stands behind the alias."""

    text: str
    description: str = ""


def check_grammar(grammar: SlashArguments, place: str) -> SlashArguments:
    """The grammar with its objects frozen. Raises `InvalidError` with the place of what is blank, double or no JSON."""
    words: dict[str, SlashWord] = {}
    for index, each in enumerate(grammar.words):
        where = f"{place}.words[{index}]"
        word = check_text(each.word, f"{where}.word", empty=False)
        if word != " ".join(word.split()):
            raise InvalidError(f"{where}.word has spaces at its ends or two in a row: {word!r}", place=where)
        if word in words:
            raise InvalidError(f"{where}.word {word!r} is there twice", place=where)
        words[word] = SlashWord(
            word=word,
            arguments=_object(each.arguments, f"{where}.arguments"),
            description=check_text(each.description, f"{where}.description"),
        )
    if grammar.text is None:
        if not words:
            raise InvalidError(f"{place} takes nothing: give words or a text field, or no grammar at all", place=place)
        return SlashArguments(words=tuple(words.values()))
    return SlashArguments(words=tuple(words.values()), text=_check_text_field(grammar.text, f"{place}.text"))


def parse(grammar: SlashArguments | None, text: str, request_id: str = "") -> ParsedSlash:
    """The arguments that `text` means. A word counts as such only when it is the whole text.

    Raises `InvalidError` whose sentence says what may be written instead; `details.hint` is the same for a program.
    """
    typed = check_text(text, "text", limit=TEXT_LIMIT).strip()
    if grammar is None:
        if typed:
            raise InvalidError(f"nothing may follow here, not {_short(typed)}", hint="")
        return ParsedSlash(arguments=None)
    for word in grammar.words:
        if word.word == typed:
            return ParsedSlash(arguments=word.arguments)
    if grammar.text is None or not typed:
        expected = hint(grammar, "")
        wrong = f", not {_short(typed)}" if typed else ""
        raise InvalidError(f"expected {expected}{wrong}", hint=expected)
    arguments = {**grammar.text.arguments, grammar.text.field: typed}
    if grammar.text.request_id_field and request_id:
        arguments[grammar.text.request_id_field] = request_id
    return ParsedSlash(arguments=freeze(arguments, "arguments"))


def complete(grammar: SlashArguments | None, text: str) -> tuple[SlashCompletion, ...]:
    """The words that `text` may become, in their order."""
    if grammar is None:
        return ()
    typed = text.lstrip()
    return tuple(
        SlashCompletion(text=each.word, description=each.description)
        for each in grammar.words
        if each.word.startswith(typed) and each.word != typed
    )


def hint(grammar: SlashArguments | None, text: str) -> str:
    """What may still be written: the words, and what the text field expects. Empty when nothing, or enough is there."""
    if grammar is None or (grammar.text is not None and text.strip()):
        return ""
    typed = text.lstrip()
    if any(each.word == typed.rstrip() for each in grammar.words):
        return ""
    open_words = [each.word for each in grammar.words if each.word.startswith(typed)]
    field = [f"<{grammar.text.hint or grammar.text.field}>"] if grammar.text is not None else []
    return " | ".join(open_words + field)


def split_alias(line: str, aliases: Mapping[str, Any]) -> tuple[str, str] | None:
    """Which of `aliases` a line without its slash begins with, the longest first, and the text behind it.

    An alias may be several words (`mail send`); it ends at the end of a word. None when it begins with none of them.
    """
    words = line.split(" ")
    for count in range(len(words), 0, -1):
        alias = " ".join(words[:count])
        if alias in aliases:
            return alias, " ".join(words[count:])
    return None


def _check_text_field(text: SlashText, place: str) -> SlashText:
    fields = [check_text(text.field, f"{place}.field", empty=False)]
    if text.request_id_field:
        fields.append(check_text(text.request_id_field, f"{place}.requestIdField", empty=False))
    arguments = _object(text.arguments, f"{place}.arguments")
    taken = [field for field in fields if field in arguments]
    if taken or len(set(fields)) < len(fields):
        raise InvalidError(f"{place}: {', '.join(taken or fields[:1])} would be set twice", place=place)
    return SlashText(
        field=text.field,
        arguments=arguments,
        request_id_field=text.request_id_field,
        hint=check_text(text.hint, f"{place}.hint"),
    )


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidError(f"{place} must be an object, not a {type(value).__name__}", place=place)
    frozen: Mapping[str, Any] = freeze(value, place)
    return frozen


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
