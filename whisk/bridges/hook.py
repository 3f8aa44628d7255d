"""One call of a hook with credentials, what it is told, and whether a person is asked about it. Pure."""

from __future__ import annotations

import msgspec

from whisk.bridges.bridge import Bridge
from whisk.bridges.policy import OWN_TOOLS, Verdict
from whisk.bridges.request import BridgeRequest
from whisk.clock import Instant
from whisk.hooks.answer import ApprovalAsk, Ask, QuestionAsk
from whisk.hooks.entry import HookContext, Result
from whisk.hooks.event import HookEvent
from whisk.values import Record


class HookCall(Record, frozen=True):
    """`relay_id` is the hook's own random name for this call; `again` says that it was here before."""

    bridge_id: str
    token: str
    relay_id: str
    event: HookEvent
    context: HookContext
    again: bool = False


class HookOutcome(Record, frozen=True):
    """Either `request_id`, to be waited for until `expires_at`, or the `output` at once (mostly empty)."""

    result: Result
    output: str = ""
    request_id: str = ""
    expires_at: Instant | None = None


def context_of(context: HookContext, bridge: Bridge) -> HookContext:
    """The bridge knows whose terminal it is; the environment of the hook may say something else."""
    owner = bridge.owner
    return msgspec.structs.replace(
        context,
        bridge_id=bridge.id,
        session_id=owner.session_id or context.session_id,
        pty_id=owner.pty_id or context.pty_id,
        run_id=owner.run_id or context.run_id,
        project_id=owner.project_id or context.project_id,
    )


def result_unheld(event: HookEvent, context: HookContext) -> Result:
    """How an event that nobody is asked about appears in the log."""
    if context.size:
        return "too_large"
    return "unreadable" if event.payload.fault is not None else "logged"


def speaks(ask: Ask, verdict: Verdict | None) -> Verdict | None:
    """The verdict that decides `ask` by itself; None when there is none, or when people are to be asked.

    A question is not allowed but answered, so a rule that allows its tool leaves it to people.
    """
    if verdict is None or verdict.effect == "ask":
        return None
    return None if verdict.effect == "allow" and isinstance(ask, QuestionAsk) else verdict


def is_for_people(ask: Ask, verdict: Verdict | None) -> bool:
    """Whether a person is asked. A plain tool call before it runs is, only when a rule says so: reads must not ring."""
    if not isinstance(ask, ApprovalAsk):
        return True
    if ask.tool.startswith(OWN_TOOLS):
        return False
    return ask.event != "PreToolUse" or verdict is not None


def come_back(known: BridgeRequest) -> HookOutcome:
    """What a hook is told that comes back: to wait on, or what was decided meanwhile."""
    if known.closing is not None:
        return HookOutcome(result="reattached", output=known.closing.output)
    return HookOutcome(result="reattached", request_id=known.id, expires_at=known.expires_at)
