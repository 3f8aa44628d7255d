"""Where an agent is in its turn, as its hook events and the decisions about its calls tell. Pure.

Silence is never taken for idleness, and what tells nothing leaves what was known: `None` is "unknown", not "idle".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from whisk.clock import Instant
from whisk.values import Record

TurnState = Literal["working", "waiting", "idle", "ended"]

_STATES: dict[str, TurnState] = {
    "SessionStart": "idle",
    "UserPromptSubmit": "working",
    "BeforeAgent": "working",
    "PreToolUse": "working",
    "BeforeTool": "working",
    "PermissionRequest": "waiting",
    "Elicitation": "waiting",
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
# Claude Code says "idle" a minute after the turn, also when a person's Esc ended it without a Stop.
_NOTIFICATIONS: dict[str, TurnState] = {
    "idle_prompt": "idle",
    "permission_prompt": "waiting",
    "elicitation_dialog": "waiting",
}
# What the hook was told at once, so that the agent does not stand before a dialog.
_DECIDED = frozenset({"allowed_by_rule", "denied_by_rule", "decided_by_caller"})
_IN_A_TOOL = frozenset({"PreToolUse", "BeforeTool", "PermissionRequest"})

TELLING = (*_STATES, "Notification", "PostCompact")
"""The event names that may tell; subagents and what models report do not."""


class TurnReport(Record, frozen=True):
    """One line of the hook log, as far as it may tell. `source` is the `source` or `trigger` of its payload."""

    name: str
    at: Instant
    provider: str = ""
    session: str = ""
    notification: str = ""
    source: str = ""
    result: str = ""


class Decision(Record, frozen=True):
    """How a request of this terminal ended. `asks`: the agent was left to ask in its own window."""

    at: Instant
    state: str
    reason: str = ""
    asks: bool = False


class Turn(Record, frozen=True):
    """The state and since when it holds. `prompt` is what is waited for, where whisk holds the question."""

    state: TurnState
    at: Instant
    provider: str = ""
    prompt: str = ""


def turn_state(report: TurnReport) -> TurnState | None:
    """The state after an event, or None for one that says nothing of the turn."""
    if report.name == "Notification":
        return _NOTIFICATIONS.get(report.notification)
    if report.name == "PostCompact":
        # Whoever compacts by hand gets no Stop; in the middle of a turn the agent goes on by itself.
        return "idle" if report.source == "manual" else None
    if report.name == "SessionStart" and report.source == "compact":
        return None
    state = _STATES.get(report.name)
    return "working" if state == "waiting" and report.result in _DECIDED else state


def turn_of(reports: Iterator[TurnReport], decided_since: Callable[[Instant], Decision | None]) -> Turn | None:
    """The turn of a terminal's agent from its reports, newest first, and the newest decision since one of them.

    None: nobody knows. An agent that an agent's tool has started reports from the same terminal; when it ends, the
    other one goes on.
    """
    ended: Turn | None = None
    over: set[str] = set()
    for report in reports:
        state = turn_state(report)
        if state is None or report.session in over:
            continue
        decision = decided_since(report.at) if ended is None else None
        if decision is not None and (decided := after_decision(decision)) != "no change":
            return Turn(state=decided, at=decision.at, provider=report.provider) if decided else None
        if state == "ended":
            over.add(report.session)
            ended = ended or Turn(state=state, at=report.at, provider=report.provider)
        elif ended is None or report.name in _IN_A_TOOL:
            since = _idle_since(report, reports) if state == "idle" else report.at
            return Turn(state=state, at=since, provider=report.provider)
        else:
            return ended
    return ended


def _idle_since(report: TurnReport, older: Iterator[TurnReport]) -> Instant:
    """When the turn ended of which `report` is the last that says so: reminders come a minute later."""
    at = report.at
    for each in older:
        state = turn_state(each)
        if each.session != report.session or state not in ("idle", None):
            break
        at = each.at if state == "idle" else at
    return at


def after_decision(decision: Decision) -> TurnState | Literal["no change"] | None:
    """What a decision leaves the agent doing; None is "unknown"."""
    if decision.state in ("answered", "denied", "timed_out", "released"):
        return "waiting" if decision.asks else "working"
    # The hook was ended by its agent: a "No" or an Esc in its own window, of which no event tells.
    gone = decision.state == "orphaned" or decision.reason == "hook_gone"
    return None if gone else "no change"
