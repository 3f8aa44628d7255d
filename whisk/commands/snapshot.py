"""What every surface shows at one moment: six frozen sequences, and the view of one focused scope."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import msgspec

from whisk.commands.row import AgentRow, BindingRow, HelpRow, HumanRow, MenuRow, PaletteRow, SlashRow
from whisk.values import Record

R = TypeVar("R", bound=HumanRow)


class Snapshot(Record, frozen=True):
    """The same object until the commands or the availability of one change, so identity tells whether to draw again."""

    bindings: tuple[BindingRow, ...]
    palette: tuple[PaletteRow, ...]
    slash: tuple[SlashRow, ...]
    help: tuple[HelpRow, ...]
    menu: tuple[MenuRow, ...]
    agent: tuple[AgentRow, ...]


EMPTY = Snapshot(bindings=(), palette=(), slash=(), help=(), menu=(), agent=())
"""What a runtime without commands shows, and every closed one."""


def scope_snapshot(snapshot: Snapshot, scope: str | None) -> Snapshot:
    """The view of people in `scope`: what is global, and what is the scope's own; None is the view outside any.

    A slash alias or a binding of the scope hides the global one of the same name. The agents' view stays whole.
    """
    return msgspec.structs.replace(
        snapshot,
        bindings=_shadowed(snapshot.bindings, scope, lambda row: row.keys),
        palette=_visible(snapshot.palette, scope),
        slash=_shadowed(snapshot.slash, scope, lambda row: row.alias),
        help=_visible(snapshot.help, scope),
        menu=_visible(snapshot.menu, scope),
    )


def _visible(rows: Iterable[R], scope: str | None) -> tuple[R, ...]:
    return tuple(row for row in rows if row.scope is None or row.scope == scope)


def _shadowed(rows: Iterable[R], scope: str | None, name: Callable[[R], Hashable]) -> tuple[R, ...]:
    visible = _visible(rows, scope)
    own = {name(row) for row in visible if row.scope is not None}
    return tuple(row for row in visible if row.scope is not None or name(row) not in own)
