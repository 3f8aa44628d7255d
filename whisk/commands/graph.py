"""Every live contribution, and who owns what: the one place that decides what is admitted.

A contribution is checked whole before any of it is put in, so there is nothing to take back. The runtime guards the
graph with its lock; nothing here calls anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whisk.commands.command import Command, check_command
from whisk.commands.failure import ContributionConflictError, InvalidContributionError
from whisk.commands.projection import SURFACES, Surface
from whisk.commands.row import Placed, rows_of
from whisk.errors import InvalidError
from whisk.values import check_text


@dataclass(frozen=True, eq=False)
class Contribution:
    """What one source put into one namespace; two of equal content are still two."""

    source_id: str
    namespace: str
    scope: str | None
    commands: tuple[Command[Any, Any], ...]
    rows: dict[Surface, list[Placed]] = field(repr=False)

    @property
    def aliases(self) -> list[tuple[str, str]]:
        """Each slash alias with the id of its command."""
        return [(slash.alias, command.id) for command in self.commands for slash in command.projections.slash]


@dataclass(frozen=True, slots=True)
class Entry:
    """A command that is live."""

    command: Command[Any, Any]
    owner: Contribution


def draft(
    source_id: str, namespace: str, commands: Sequence[Command[Any, Any]], scope: str | None = None
) -> Contribution:
    """Check a contribution by itself and freeze it. Raises `InvalidContributionError`, or
    `ContributionConflictError` for an id or alias that it holds twice.
    """
    try:
        check_text(source_id, "sourceId", empty=False)
        check_text(namespace, "namespace", empty=False)
        if scope is not None:
            check_text(scope, "scope", empty=False)
    except InvalidError as error:
        raise InvalidContributionError(error.message, **error.details) from error
    checked = tuple(check_command(each, namespace, f"commands[{index}]") for index, each in enumerate(commands))
    rows: dict[Surface, list[Placed]] = {}
    made = Contribution(source_id, namespace, scope, checked, rows)
    _refuse_doubles("command id", [command.id for command in checked], made)
    _refuse_doubles("slash alias", [alias for alias, _ in made.aliases], made)
    for command in checked:
        for surface, placed in rows_of(command, scope, made).items():
            rows.setdefault(surface, []).extend(placed)
    return made


class Graph:
    """`generation` changes whenever what is live does."""

    def __init__(self) -> None:
        self.generation = 0
        self.entries: dict[str, Entry] = {}
        self._live: set[Contribution] = set()
        # Per namespace the source that owns it, and how many contributions hold it.
        self._owners: dict[str, tuple[str, int]] = {}
        self._aliases: dict[tuple[str | None, str], Contribution] = {}
        self._readers: dict[str, Command[Any, Any]] = {}
        self._tables: dict[Surface, tuple[Placed, ...]] = dict.fromkeys(SURFACES, ())
        self._untidy: dict[Surface, list[Placed]] = {}

    def __contains__(self, contribution: Contribution) -> bool:
        return contribution in self._live

    def admit(self, new: Contribution, instead_of: Contribution | None = None) -> None:
        """Put `new` in, in the place of `instead_of`. Raises `ContributionConflictError`, and then nothing changed."""
        self._check(new, instead_of)
        if instead_of is not None:
            self._take_out(instead_of)
        self._live.add(new)
        holders = self._owners.get(new.namespace, (new.source_id, 0))[1]
        self._owners[new.namespace] = (new.source_id, holders + 1)
        for command in new.commands:
            self.entries[command.id] = Entry(command, new)
            if command.availability is not None:
                self._readers[command.id] = command
        for alias, _ in new.aliases:
            self._aliases[new.scope, alias] = new
        for surface, rows in new.rows.items():
            self._untidy.setdefault(surface, []).extend(rows)
        self.generation += 1

    def remove(self, contribution: Contribution) -> bool:
        """Whether it was live."""
        if contribution not in self._live:
            return False
        self._take_out(contribution)
        self.generation += 1
        return True

    def readers(self) -> list[Command[Any, Any]]:
        """The commands whose availability has to be read."""
        return list(self._readers.values())

    def table(self, surface: Surface) -> tuple[Placed, ...]:
        """The rows of a surface in their order; the same object until one of them changes."""
        if surface in self._untidy:
            rows = [*self._tables[surface], *self._untidy.pop(surface)]
            # Nearly in order already, which sorting takes advantage of; no two that live have the same place.
            self._tables[surface] = tuple(sorted([each for each in rows if each.owner in self._live]))
        return self._tables[surface]

    def _take_out(self, old: Contribution) -> None:
        self._live.discard(old)
        source_id, holders = self._owners[old.namespace]
        if holders == 1:
            del self._owners[old.namespace]
        else:
            self._owners[old.namespace] = (source_id, holders - 1)
        for command in old.commands:
            del self.entries[command.id]
            self._readers.pop(command.id, None)
        for alias, _ in old.aliases:
            del self._aliases[old.scope, alias]
        for surface in old.rows:
            self._untidy.setdefault(surface, [])

    def _check(self, new: Contribution, instead_of: Contribution | None) -> None:
        owner = self._owners.get(new.namespace)
        if owner is not None and owner[0] != new.source_id:
            raise ContributionConflictError(
                f"the namespace {new.namespace!r} belongs to {owner[0]!r}; {new.source_id!r} cannot contribute to it",
                namespace=new.namespace,
                owner=owner[0],
                source=new.source_id,
            )
        for command in new.commands:
            there = self.entries.get(command.id)
            if there is not None and there.owner is not instead_of:
                raise ContributionConflictError(
                    f"the command {command.id!r} is there already, from {there.owner.source_id!r};"
                    f" {new.source_id!r} cannot contribute it again",
                    commandId=command.id,
                    owner=there.owner.source_id,
                    source=new.source_id,
                )
        for alias, command_id in new.aliases:
            holder = self._aliases.get((new.scope, alias))
            if holder is not None and holder is not instead_of:
                theirs = next(other for name, other in holder.aliases if name == alias)
                where = f" in the scope {new.scope!r}" if new.scope is not None else ""
                raise ContributionConflictError(
                    f"the slash alias {alias!r} is taken{where} by {theirs!r} of {holder.source_id!r};"
                    f" {command_id!r} of {new.source_id!r} cannot have it",
                    alias=alias,
                    commandId=command_id,
                    ownerCommandId=theirs,
                    owner=holder.source_id,
                    source=new.source_id,
                )


def _refuse_doubles(noun: str, names: list[str], contribution: Contribution) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ContributionConflictError(
                f"{contribution.source_id!r} contributes the {noun} {name!r} twice",
                name=name,
                owner=contribution.source_id,
                source=contribution.source_id,
            )
        seen.add(name)
