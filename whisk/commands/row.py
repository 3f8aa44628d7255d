"""Rows: what a surface is shown of a command. Immutable, and ready for the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from whisk.commands.command import Availability, Command
from whisk.commands.projection import Action, Surface
from whisk.commands.slash import SlashArguments
from whisk.values import Record


class CommandRow(Record, frozen=True):
    """What every row says. `scope` is the focus scope the command belongs to; without one it is there everywhere.

    `reason` is set for a command that is not available now: it is shown, and not run.
    """

    command_id: str
    title: str
    category: str
    available: bool
    description: str | None = None
    scope: str | None = None
    reason: str | None = None


class HumanRow(CommandRow, frozen=True, kw_only=True):
    """A row for people also has the presentation hint with the action."""

    order: int
    action: Action | None = None


class BindingRow(HumanRow, frozen=True, kw_only=True):
    keys: str


class PaletteRow(HumanRow, frozen=True, kw_only=True):
    keywords: tuple[str, ...] = ()


class SlashRow(HumanRow, frozen=True, kw_only=True):
    alias: str
    arguments: SlashArguments | None = None


class HelpRow(HumanRow, frozen=True):
    pass


class MenuRow(HumanRow, frozen=True, kw_only=True):
    menu: str
    group: str = ""


class AgentRow(CommandRow, frozen=True, kw_only=True):
    """A tool description: what the command takes and gives, and nothing of how it is drawn."""

    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None


Row: TypeAlias = BindingRow | PaletteRow | SlashRow | HelpRow | MenuRow | AgentRow


class Placed(NamedTuple):
    """A row and its place on a surface: by the explicit order, then by id.

    Python compares text by code point, which is the order of the UTF-8 bytes. `nth` keeps several rows of one command
    as they were given; `owner` is the contribution they came with.
    """

    order: int
    command_id: str
    nth: int
    owner: object
    row: Row


def rows_of(command: Command[Any, Any], scope: str | None, owner: object) -> dict[Surface, list[Placed]]:
    """The rows of a command that is available, by surface."""
    shown = command.projections
    base: dict[str, Any] = {
        "command_id": command.id,
        "title": command.title,
        "category": command.category,
        "available": True,
        "description": command.description,
        "scope": scope,
    }
    human = {**base, "action": command.action}
    schemas = command.action or Action()
    found: dict[Surface, list[tuple[int, Row]]] = {
        "bindings": [(each.order, BindingRow(**human, order=each.order, keys=each.keys)) for each in shown.bindings],
        "slash": [
            (each.order, SlashRow(**human, order=each.order, alias=each.alias, arguments=each.arguments))
            for each in shown.slash
        ],
        "menu": [
            (each.order, MenuRow(**human, order=each.order, menu=each.menu, group=each.group)) for each in shown.menu
        ],
    }
    if shown.palette is not None:
        palette = shown.palette
        found["palette"] = [(palette.order, PaletteRow(**human, order=palette.order, keywords=palette.keywords))]
    if shown.help is not None:
        found["help"] = [(shown.help.order, HelpRow(**human, order=shown.help.order))]
    if shown.agent is not None:
        agent = AgentRow(**base, input_schema=schemas.input_schema, output_schema=schemas.output_schema)
        found["agent"] = [(shown.agent.order, agent)]
    return {
        surface: [Placed(order, command.id, index, owner, row) for index, (order, row) in enumerate(rows)]
        for surface, rows in found.items()
        if rows
    }


def with_availability(row: Row, availability: Availability) -> Row:
    if availability.available:
        return row
    return msgspec.structs.replace(row, available=False, reason=availability.reason)
