"""How a running command talks to the person who started it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, overload

from whisk.commands.prompt import ChoicePrompt, ConfirmationPrompt, Notice, Settlement, TextPrompt

if TYPE_CHECKING:
    from whisk.commands.cancellation import Cancellation
    from whisk.commands.command import Origin
    from whisk.commands.outcome import ErrorInfo, Outcome


class Interaction(Protocol):
    """`prompt` waits for the answer and gives its value; it blocks the calling thread or greenlet.

    It raises `PromptCancelledError` when the person or the caller calls the execution off, and `InvalidError` for a
    prompt or notice that does not fit the wire. In an asynchronous handler `prompt_async` is awaited instead.
    """

    @overload
    def prompt(self, prompt: ChoicePrompt | TextPrompt) -> str: ...
    @overload
    def prompt(self, prompt: ConfirmationPrompt) -> bool: ...

    @overload
    async def prompt_async(self, prompt: ChoicePrompt | TextPrompt) -> str: ...
    @overload
    async def prompt_async(self, prompt: ConfirmationPrompt) -> bool: ...

    def notify(self, notice: Notice) -> None: ...


class Session(Interaction, Protocol):
    """An interaction that a presenter opened; the runtime settles it when the handler has ended."""

    def settle(self, settlement: Settlement, error: ErrorInfo | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Execution:
    """What a presenter is told. `retry()` runs the same command with the same input once more, in the caller."""

    command_id: str
    title: str
    origin: Origin
    arguments: Any
    cancellation: Cancellation
    retry: Callable[[], Outcome]


Presenter = Callable[[Execution], Session]
"""The mounted client: opens a session for one execution. Raising fails the execution before its handler runs."""
