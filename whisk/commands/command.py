"""A command: what it is called, where it shows up, and the function that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from whisk.commands.cancellation import Cancellation
from whisk.commands.data import freeze
from whisk.commands.failure import InvalidContributionError
from whisk.commands.interaction import Interaction
from whisk.commands.projection import Action, Projections, check_action, check_projections
from whisk.errors import InvalidError
from whisk.values import Record, check_text

Origin = Literal["agent", "browser", "keyboard", "menu", "palette", "programmatic", "slash", "terminal"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
HUMAN_ORIGINS: frozenset[Origin] = frozenset(ORIGINS) - {"agent", "programmatic"}

Arguments = TypeVar("Arguments")
Result = TypeVar("Result")


class Availability(Record, frozen=True):
    """Whether a command can be used right now; `reason` says why not. A convenience, never an authorisation."""

    available: bool
    reason: str = ""


AVAILABLE = Availability(available=True)
NOWHERE = Projections()


def unavailable(reason: str) -> Availability:
    return Availability(available=False, reason=check_text(reason, "reason", empty=False))


@dataclass(frozen=True, slots=True)
class ExecutionInput(Generic[Arguments]):
    """What a handler gets.

    `arguments` is whatever the caller sent, frozen JSON or None: a contribution has no types at run time, so a handler
    checks what it needs. `interaction` is there when a person can be asked.
    """

    origin: Origin
    arguments: Arguments | None = None
    cancellation: Cancellation = field(default_factory=Cancellation)
    interaction: Interaction | None = None

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise InvalidError(f"unknown origin {self.origin!r}; there are {', '.join(ORIGINS)}", field="origin")


CommandHandler: TypeAlias = Callable[[ExecutionInput[Arguments]], Result | Awaitable[Result | None] | None]
"""Returns its result or None, or an awaitable of either (for `execute_async`)."""


@dataclass(frozen=True, slots=True)
class Command(Generic[Arguments, Result]):
    """`id` begins with the namespace that the command is contributed to: `mail.send` in `mail`.

    `availability` reads facts that the host has at hand; it must not block. Raising counts as unavailable.
    """

    id: str
    title: str
    category: str
    handler: CommandHandler[Arguments, Result]
    description: str | None = None
    projections: Projections = NOWHERE
    action: Action | None = None
    availability: Callable[[], Availability] | None = None


def check_command(command: Command[Any, Any], namespace: str, place: str) -> Command[Any, Any]:
    """A copy that nobody can change any more. Raises `InvalidContributionError` with the place of the fault."""
    try:
        for name in ("id", "title", "category"):
            check_text(getattr(command, name), f"{place}.{name}", empty=False)
        if command.description is not None:
            check_text(command.description, f"{place}.description", empty=False)
        if not command.id.startswith(f"{namespace}.") or command.id != command.id.strip():
            raise InvalidError(
                f"{place}.id {command.id!r} lies outside its namespace: it must begin with {namespace!r} and a dot",
                place=f"{place}.id",
                namespace=namespace,
            )
        if not callable(command.handler):
            raise InvalidError(f"{place}.handler of {command.id} is no function", place=f"{place}.handler")
        return replace(
            command,
            projections=check_projections(command.projections, f"{place}.projections"),
            action=check_action(command.action, f"{place}.action") if command.action is not None else None,
        )
    except InvalidError as error:
        raise InvalidContributionError(error.message, **error.details) from error


def frozen_input(given: ExecutionInput[Any]) -> ExecutionInput[Any]:
    """The input with its arguments frozen. Raises `InvalidError` for arguments that are no JSON."""
    return replace(given, arguments=freeze(given.arguments, "arguments"))
