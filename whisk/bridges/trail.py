"""What the audit trail says of a prompt's end and of a change of the rules. Never what was answered."""

from __future__ import annotations

from typing import Final

from whisk.bridges.policy import Policy
from whisk.bridges.request import BridgeRequest, State
from whisk.clock import Instant
from whisk.hooks.answer import ApprovalAsk, Ask, ElicitationAsk, QuestionAsk
from whisk.matters.audit import AuditEntry, Surface

_SURFACES: Final[dict[str, Surface]] = {"rule": "rule", "agent": "hook"}
_UNDECIDED: Final[dict[State, str]] = {
    "timed_out": "time-out",
    "withdrawn": "withdraw",
    "released": "release",
    "orphaned": "orphan",
}


def closed_entry(request: BridgeRequest) -> AuditEntry:
    """For a request that has just been closed: by whom, or by which rule."""
    closing = request.closing
    assert closing is not None
    return AuditEntry(
        at=closing.at,
        who=closing.by,
        surface=closing.surface or _SURFACES.get(closing.by, "whiskd"),
        action=_UNDECIDED.get(closing.state) or closing.action or closing.state,
        noun="approval" if request.is_approval else "prompt",
        id=request.id,
        outcome=closing.state,
        rule_id=closing.rule_id or request.rule_id,
        reason=closing.reason,
        about=what(request.ask),
        project_id=request.project_id,
        run_id=request.run_id,
        session_id=request.session_id,
        pty_id=request.pty_id,
    )


def policy_entry(policy: Policy, action: str, who: str, surface: Surface, now: Instant) -> AuditEntry:
    """For a policy that was added or removed."""
    return AuditEntry(
        at=now,
        who=who,
        surface=surface,
        action=action,
        noun="policy",
        id=policy.id,
        outcome="added" if action == "add" else "removed",
        reason=policy.reason,
        about=f"{policy.effect} {policy.rule}" + (f" ({policy.provider})" if policy.provider else ""),
        project_id=policy.project_id,
    )


def what(ask: Ask) -> str:
    """What was asked, without anything that the agent or a person filled in: a tool's name, a question, a server."""
    match ask:
        case ApprovalAsk():
            return ask.tool
        case QuestionAsk():
            return ask.questions[0].text
        case ElicitationAsk():
            return ask.form.server
