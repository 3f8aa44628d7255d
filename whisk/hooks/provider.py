"""The agents whose hooks whisk understands, and what holds for an agent it does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whisk.hooks import claude, codex
from whisk.hooks.answer import Answer, Ask
from whisk.hooks.event import HookEvent, HookKind, event_name, read_common
from whisk.hooks.payload import Payload

HOOK_LIMIT = 600.0
"""Seconds that Claude Code and Codex give a hook when their settings name no time-out."""


@dataclass(frozen=True, slots=True)
class Provider:
    """`read` never raises; `ask_of` says what an event waits for; `write` turns an answer into hook output.

    `free_text`: a question may be answered by words that are not among its options. `question_tool`: the tool by which
    the agent asks questions. `prompt_ends_turn`: a new prompt can only come after the turn before it.
    """

    name: str
    title: str
    events: tuple[str, ...]
    read: Callable[[Payload, str], HookEvent]
    ask_of: Callable[[HookEvent], Ask | None]
    write: Callable[[Answer], bytes]
    free_text: bool = True
    question_tool: str = ""
    prompt_ends_turn: bool = False
    hook_limit: float = HOOK_LIMIT


PROVIDERS: dict[str, Provider] = {
    "claude": Provider(
        name="claude",
        title="Claude Code",
        events=claude.EVENTS,
        read=claude.read,
        ask_of=claude.ask_of,
        write=claude.write,
        question_tool=claude.QUESTION_TOOL,
        prompt_ends_turn=True,
    ),
    # A prompt typed while Codex is busy steers the running turn, so it ends nothing.
    "codex": Provider(
        name="codex",
        title="Codex",
        events=codex.EVENTS,
        read=codex.read,
        ask_of=codex.ask_of,
        write=codex.write,
        question_tool=codex.QUESTION_TOOL,
    ),
}


def find_provider(name: str) -> Provider:
    """The provider of that name, or one that reads the common fields and waits for nothing."""
    return PROVIDERS.get(name) or _unknown(name)


def write_answer(answer: Answer) -> bytes:
    """The exact bytes for the hook's stdout; empty when saying nothing is the answer."""
    return PROVIDERS[answer.ask.provider].write(answer)


def _unknown(name: str) -> Provider:
    def read(payload: Payload, override: str = "") -> HookEvent:
        return read_common(payload, HookKind.UNKNOWN, name, event_name(payload, override))

    return Provider(
        name=name,
        title=name.capitalize() or "Agent",
        events=(),
        read=read,
        ask_of=lambda event: None,
        write=lambda answer: b"",
    )
