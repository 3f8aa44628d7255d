"""The model of an agent, only ever as the agent itself reports it. Pure.

A `--model` in a command line is an intention; the agent may have fallen back, and people switch while it runs.
"""

from __future__ import annotations

from typing import ClassVar

from whisk.clock import Instant
from whisk.hooks.event import HookEvent
from whisk.values import Record


class ObservedModel(Record, frozen=True):
    """`source` is the event that said so, `at` when it was said last."""

    wire_name: ClassVar[str] = "PeerModel"

    name: str
    source: str
    at: Instant


def observe(known: ObservedModel | None, event: HookEvent, now: Instant) -> ObservedModel | None:
    """What is known after an event: one that names no model, or speaks for a subagent, leaves what was known."""
    if not event.model or event.agent:
        return known
    if known is not None and known.name == event.model:
        return known
    return ObservedModel(name=event.model, source=event.name, at=now)
