"""Where an agent is in its turn, as its last hook event tells. Silence is never taken for idleness."""

from __future__ import annotations

from typing import Literal

TurnState = Literal["working", "idle", "ended"]

_STATES: dict[str, TurnState] = {
    "SessionStart": "idle",
    "UserPromptSubmit": "working",
    "BeforeAgent": "working",
    "PreToolUse": "working",
    "BeforeTool": "working",
    "PermissionRequest": "working",
    "Elicitation": "working",
    "PostToolUse": "working",
    "AfterTool": "working",
    "PostToolUseFailure": "working",
    "PreCompact": "working",
    "Stop": "idle",
    "AfterAgent": "idle",
    "StopFailure": "idle",
    "Interrupt": "idle",
    "SessionEnd": "ended",
}
TELLING = tuple(_STATES)
"""The event names that tell; notifications, subagents and what models report do not."""


def turn_state(event_name: str) -> TurnState | None:
    """The state after an event, or None for one that says nothing of the turn."""
    return _STATES.get(event_name)
