"""Commands to try the runtime with, and a screen to watch them on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from whisk.commands import (
    AgentProjection,
    Availability,
    BindingProjection,
    Command,
    ErrorInfo,
    Execution,
    ExecutionInput,
    HelpProjection,
    MenuProjection,
    PaletteProjection,
    Projections,
    SlashProjection,
)
from whisk.commands.prompt import Settlement


def everywhere(alias: str, order: int = 0, keys: str = "ctrl+k") -> Projections:
    """A projection on each surface."""
    return Projections(
        bindings=(BindingProjection(keys=keys, order=order),),
        palette=PaletteProjection(order=order),
        slash=(SlashProjection(alias=alias, order=order),),
        help=HelpProjection(order=order),
        menu=(MenuProjection(menu="main", order=order),),
        agent=AgentProjection(order=order),
    )


PALETTE = Projections(palette=PaletteProjection())


def echo(input: ExecutionInput[Any]) -> Any:
    return input.arguments


def command(
    id: str,
    handler: Callable[[ExecutionInput[Any]], Any] = echo,
    *,
    projections: Projections = PALETTE,
    availability: Callable[[], Availability] | None = None,
    **more: Any,
) -> Command[Any, Any]:
    return Command(
        id=id,
        title=more.pop("title", id.title()),
        category=more.pop("category", "Test"),
        handler=handler,
        projections=projections,
        availability=availability,
        **more,
    )


def palette_ids(snapshot: Any) -> list[str]:
    return [row.command_id for row in snapshot.palette]


def batch(ids: Iterable[str], **more: Any) -> list[Command[Any, Any]]:
    return [command(id, **more) for id in ids]


class Screen:
    """A presenter that keeps what it was told, and answers from a list."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.opened: list[Execution] = []
        self.told: list[Any] = []
        self.settled: list[tuple[Settlement, ErrorInfo | None]] = []

    def __call__(self, execution: Execution) -> Any:
        self.opened.append(execution)
        return self

    def prompt(self, prompt: Any) -> Any:
        self.told.append(prompt)
        return self.answers.pop(0)

    def notify(self, notice: Any) -> None:
        self.told.append(notice)

    def settle(self, settlement: Settlement, error: ErrorInfo | None = None) -> None:
        self.settled.append((settlement, error))
