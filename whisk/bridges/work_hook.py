"""Hooks that are about the work itself: an agent that wants to leave planning, or that has come to the end of its turn.

Pure: what such an event says, and the words with which an agent is told what became of its plan.
"""

from __future__ import annotations

import re
from typing import Any

from whisk.hooks.event import HookEvent, HookKind, text_at
from whisk.values import Record
from whisk.work.artifact import TITLE_LIMIT, Artifact

LEAVE_TOOL = "ExitPlanMode"
"""The tool by which Claude Code presents its plan; answered with "yes" it begins to implement."""
_HANDED_IN = "whisk workflow submit-plan -body '…' (or -body - to read it from stdin)"


class Presented(Record, frozen=True):
    """A plan as the agent presented it; `body` is empty where the event has no text of it."""

    title: str
    body: str


def leaves_planning(event: HookEvent) -> bool:
    """Whether the agent asks to leave plan mode. Both hooks of that call count: one of them may have been missed."""
    asking = event.kind in (HookKind.TOOL_STARTING, HookKind.PERMISSION_ASKED)
    return event.provider == "claude" and asking and event.tool is not None and event.tool.name == LEAVE_TOOL


def plan_of(event: HookEvent) -> Presented:
    """The plan that such an event presents. Claude Code sends it as `plan`, or nothing when it has written none."""
    places: tuple[dict[str, Any], ...] = (event.tool.input if event.tool is not None else {}, event.payload.data)
    body = next((text for place in places if (text := text_at(place, "plan")).strip()), "")
    heading = re.match(r"\s*#+\s*(\S.*)", body)
    title = heading[1].strip() if heading else "Plan"
    return Presented(title=title.encode()[:TITLE_LIMIT].decode("utf-8", "ignore"), body=body)


def ends_turn(event: HookEvent) -> bool:
    """Whether the agent itself has done all it was going to: not a helper of it, not a stop that a hook has turned
    back, not with something left that will wake it again.
    """
    data = event.payload.data
    return (
        event.kind is HookKind.TURN_ENDED
        and not event.agent
        and not event.continuing
        and not data.get("background_tasks")
        and not data.get("session_crons")
    )


def submitted(plan: Artifact, number: int) -> str:
    return (
        f"whisk has taken this plan as the draft plan {plan.id} of work item #{number}; a person will approve it there."
        " Do not implement anything. You are done: end your turn now. To replace the plan, present another one."
    )


def not_submitted(why: str) -> str:
    return (
        f"whisk could not submit this plan: {why}. Do not implement anything. Submit it yourself with"
        f" {_HANDED_IN}, or end your turn and say so."
    )


def without_text() -> str:
    return (
        "whisk found no text of the plan in this call, and this run is for planning only. Do not implement anything."
        f" Submit the plan with {_HANDED_IN}, then end your turn."
    )
