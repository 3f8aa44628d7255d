"""Where a command shows up, and what a surface may know about its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from whisk.commands.data import freeze
from whisk.commands.slash import SlashArguments, check_grammar
from whisk.errors import InvalidError
from whisk.values import Record, check_text

Surface = Literal["bindings", "palette", "slash", "help", "menu", "agent"]
SURFACES: tuple[Surface, ...] = get_args(Surface)

_MODIFIERS = ("ctrl", "alt", "shift", "meta")
_SYNONYMS = {"control": "ctrl", "option": "alt", "cmd": "meta", "command": "meta", "super": "meta", "win": "meta"}


class BindingProjection(Record, frozen=True):
    """`keys` is one stroke (`ctrl+k`) or several in a row (`g g`); see `canonical_keys`."""

    keys: str
    order: int = 0


class PaletteProjection(Record, frozen=True):
    """`keywords` find the command beside its title."""

    order: int = 0
    keywords: tuple[str, ...] = ()


class SlashProjection(Record, frozen=True):
    """`alias` is what follows the slash: a word, or several (`mail send`)."""

    alias: str
    order: int = 0
    arguments: SlashArguments | None = None


class HelpProjection(Record, frozen=True):
    order: int = 0


class MenuProjection(Record, frozen=True):
    """`menu` names the menu, `group` what stands together in it."""

    menu: str
    order: int = 0
    group: str = ""


class AgentProjection(Record, frozen=True):
    order: int = 0


class Projections(Record, frozen=True):
    """A command is shown on the surfaces that are named here and on no other."""

    bindings: tuple[BindingProjection, ...] = ()
    palette: PaletteProjection | None = None
    slash: tuple[SlashProjection, ...] = ()
    help: HelpProjection | None = None
    menu: tuple[MenuProjection, ...] = ()
    agent: AgentProjection | None = None


class Presentation(Record, frozen=True):
    """A local hint on how to draw the action; `data` is for the client that owns it, with `custom` only."""

    kind: Literal["action", "choice", "form", "confirmation", "custom"]
    data: Any = None


class Action(Record, frozen=True):
    """The data that a command takes and gives, as JSON Schemas with whatever annotations they carry."""

    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    presentation: Presentation | None = None


def check_projections(projections: Projections, place: str) -> Projections:
    """A frozen copy with canonical keys. Raises `InvalidError` with the place of a blank or malformed field."""
    palette = projections.palette
    if palette is not None:
        for index, keyword in enumerate(palette.keywords):
            check_text(keyword, f"{place}.palette.keywords[{index}]", empty=False)
    for index, menu in enumerate(projections.menu):
        check_text(menu.menu, f"{place}.menu[{index}].menu", empty=False)
        check_text(menu.group, f"{place}.menu[{index}].group")
    return msgspec.structs.replace(
        projections,
        bindings=tuple(
            msgspec.structs.replace(each, keys=canonical_keys(each.keys, f"{place}.bindings[{index}].keys"))
            for index, each in enumerate(projections.bindings)
        ),
        slash=tuple(_check_slash(each, f"{place}.slash[{index}]") for index, each in enumerate(projections.slash)),
    )


def check_action(action: Action, place: str) -> Action:
    """A frozen copy. Raises `InvalidError` for a schema or hint that is no JSON."""
    hint = action.presentation
    if hint is not None:
        if hint.data is not None and hint.kind != "custom":
            raise InvalidError(f"{place}.presentation: only a custom hint has data", place=f"{place}.presentation")
        hint = Presentation(kind=hint.kind, data=freeze(hint.data, f"{place}.presentation.data"))
    return Action(
        input_schema=_schema(action.input_schema, f"{place}.inputSchema"),
        output_schema=_schema(action.output_schema, f"{place}.outputSchema"),
        presentation=hint,
    )


def canonical_keys(text: str, place: str = "keys") -> str:
    """`Shift+Ctrl+K` → `ctrl+shift+k`, strokes separated by one space. Raises `InvalidError`."""
    strokes = check_text(text, place, empty=False).split()
    return " ".join(_stroke(stroke, place) for stroke in strokes)


def _stroke(text: str, place: str) -> str:
    # `+` itself is a key: `ctrl++`.
    before, key = (
        (text[:-1].split("+")[:-1], "+") if text.endswith("+") else (text.split("+")[:-1], text.split("+")[-1])
    )
    modifiers = [_SYNONYMS.get(each.lower(), each.lower()) for each in before]
    if not key or any(each not in _MODIFIERS for each in modifiers) or len(set(modifiers)) < len(modifiers):
        raise InvalidError(
            f"{place}: {text!r} is no key: a key behind any of {', '.join(_MODIFIERS)}, joined by +", place=place
        )
    return "+".join([*(each for each in _MODIFIERS if each in modifiers), key.lower()])


def _check_slash(slash: SlashProjection, place: str) -> SlashProjection:
    alias = check_text(slash.alias, f"{place}.alias", empty=False)
    if alias != " ".join(alias.split()) or alias.startswith("/"):
        raise InvalidError(
            f"{place}.alias is words with one space between them and no slash before, not {alias!r}", place=place
        )
    grammar = check_grammar(slash.arguments, f"{place}.arguments") if slash.arguments is not None else None
    return msgspec.structs.replace(slash, arguments=grammar)


def _schema(schema: Mapping[str, Any] | None, place: str) -> Mapping[str, Any] | None:
    if schema is None:
        return None
    if not isinstance(schema, Mapping):
        raise InvalidError(f"{place} must be an object, not a {type(schema).__name__}", place=place)
    frozen: Mapping[str, Any] = freeze(schema, place)
    return frozen
