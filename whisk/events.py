"""The names of everything whisk announces. An event says that something changed, never what it changed to."""

from __future__ import annotations

from typing import Literal, get_args

from whisk.values import Record

EventType = Literal[
    "session.changed",
    "pty.changed",
    "pty.output",
    "workitems.changed",
    "status.changed",
    "mailbox.changed",
    "agent_prompts.changed",
    "agent_bridge_approvals.changed",
    "agent_hook_events.changed",
    "policies.changed",
    "peers.changed",
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)


class Event(Record, frozen=True):
    """One announcement. `seq` has no holes in one life of the daemon, and is higher in each later life."""

    type: EventType
    seq: int
    id: str | None = None
    pty_id: str | None = None
    offset: int | None = None
