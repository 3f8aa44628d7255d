"""One line of the hook log, as clients see it: what an agent reported, redacted, and what whisk made of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from whisk.clock import Instant
from whisk.hooks.event import HookEvent, HookKind, Option, telling
from whisk.hooks.payload import Payload, plain, plain_text
from whisk.hooks.provider import find_provider
from whisk.hooks.redaction import bounded, redact, redact_text
from whisk.ids import new_id
from whisk.values import Record

EntryKind = Literal["approval", "question", "notification", "tool_result", "session", "prompt", "lifecycle"]
Result = Literal[
    "logged", "prompt_created", "approval_created", "allowed_by_rule", "denied_by_rule", "passed", "released_before",
    "decided_by_caller", "reattached", "unreadable", "too_large", "hook_protocol_mismatch",
    "draft_plan_submitted", "plan_submission_required", "execution_completed",
]  # fmt: skip

_KINDS: dict[HookKind, EntryKind] = {
    HookKind.TOOL_STARTING: "approval",
    HookKind.PERMISSION_ASKED: "approval",
    HookKind.QUESTION_ASKED: "question",
    HookKind.ELICITATION_ASKED: "question",
    HookKind.ELICITATION_ANSWERED: "question",
    HookKind.NOTIFICATION: "notification",
    HookKind.TOOL_FINISHED: "tool_result",
    HookKind.TOOL_FAILED: "tool_result",
    HookKind.SESSION_STARTED: "session",
    HookKind.SESSION_ENDED: "session",
    HookKind.PROMPT_SUBMITTED: "prompt",
}
_TITLES: dict[EntryKind, str] = {"tool_result": "tool result", "lifecycle": "event"}


class HookContext(Record, frozen=True):
    """What the surroundings of a hook say: the ids of the environment it ran in, and its bridge if it has one."""

    bridge_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    project_id: str = ""
    work_item_id: str = ""
    actor: str = ""
    tmux_server: str = ""
    tmux_pane: str = ""
    ancestry: str = ""
    """The processes above the hook, as `whisk.peers.liveness` reads them."""
    protocol: int | None = None
    size: int = 0
    """Bytes of a payload that was too large to be sent; 0 when it was sent."""


class AgentBridgeEvent(Record, frozen=True):
    """`kind` and `title` are the coarse ones that clients show; `event` is the word of whisk's own vocabulary."""

    id: str
    provider: str
    event_name: str
    status: Literal["pending", "read"]
    created_at: Instant
    event: HookKind
    kind: EntryKind
    result: Result
    title: str = ""
    bridge_id: str = ""
    session_id: str = ""
    provider_session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    project_id: str = ""
    cwd: str = ""
    agent: str = ""
    tool_name: str = ""
    message: str = ""
    notification_type: str = ""
    source: str = ""
    elicitation_id: str = ""
    action: str = ""
    options: tuple[Option, ...] = ()
    answerable: bool = False
    model: str = ""
    request_id: str = ""
    rule_id: str = ""
    raw: dict[str, Any] = {}


def entry_of(
    event: HookEvent, context: HookContext, result: Result, now: Instant, *, request_id: str = "", rule_id: str = ""
) -> AgentBridgeEvent:
    """The log entry of one event."""
    kind = _KINDS.get(event.kind, "lifecycle")
    question = event.questions[0] if event.questions else None
    return AgentBridgeEvent(
        id=new_id("hev"),
        provider=event.provider,
        event_name=event.name or "unknown",
        status="pending",
        created_at=now,
        event=event.kind,
        kind=kind,
        title=f"{find_provider(event.provider).title} {_TITLES.get(kind, kind)}",
        bridge_id=context.bridge_id,
        session_id=context.session_id,
        provider_session_id=event.session,
        pty_id=context.pty_id,
        run_id=context.run_id,
        project_id=context.project_id,
        cwd=event.cwd,
        agent=event.agent or context.actor,
        tool_name=event.tool.name if event.tool is not None else "",
        message=redact_text(_message(event, context)),
        notification_type=event.notification,
        source=event.source,
        elicitation_id=event.elicitation.id if event.elicitation is not None else "",
        action=event.action,
        result=result,
        options=question.options if question is not None else (),
        answerable=bool(request_id),
        model=event.model,
        request_id=request_id,
        rule_id=rule_id,
        raw=event.payload.kept if event.payload.kept is not None else kept_of(event.payload),
    )


def bare(entry: AgentBridgeEvent) -> AgentBridgeEvent:
    """Only what happened, when and where, for a log that is switched off: others still decide by it."""
    return msgspec.structs.replace(entry, message="", options=(), raw={})


def kept_of(payload: Payload) -> dict[str, Any]:
    """What the log keeps of a payload. Takes its time for a large one."""
    return bounded(redact(plain(payload.data)))


def _message(event: HookEvent, context: HookContext) -> str:
    if context.size:
        return f"a payload of {context.size} bytes was not read"
    if event.payload.fault is not None:
        return f"unreadable payload: {event.payload.fault}"
    said = event.message or (event.questions[0].text if event.questions else "") or event.error or event.response
    return said or (plain_text(telling(event.tool.input)) if event.tool is not None else "")
