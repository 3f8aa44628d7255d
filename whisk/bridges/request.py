"""One blocked hook as a record: what was asked, how it ended, and who or what ended it.

pending ─▶ answered | denied ─▶ (applied, or overruled, when the agent's later events show it)
        ─▶ timed_out    nobody answered in time; never recorded as a person's denial
        ─▶ withdrawn    the hook is gone, or the agent got its answer elsewhere
        ─▶ released     a person sent it back to the agent's own window
        ─▶ orphaned     the daemon restarted and the hook never came back
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

import msgspec

from whisk.bridges.bridge import Bridge
from whisk.bridges.setting import After
from whisk.clock import Instant
from whisk.errors import ConflictError, GoneError, WhiskError
from whisk.hooks.answer import Answer, Answered, Ask, ElicitationAsk, QuestionAsk, Shape, action_of, reason_of, shown
from whisk.hooks.event import HookEvent, ToolCall
from whisk.hooks.payload import exact_text
from whisk.hooks.provider import find_provider, write_answer
from whisk.ids import new_id
from whisk.matters.audit import Surface
from whisk.values import Record

State = Literal["pending", "answered", "denied", "timed_out", "withdrawn", "released", "orphaned"]

_REFUSALS: frozenset[Shape] = frozenset({"deny", "decline", "cancel"})


class Closing(Record, frozen=True):
    """How a request ended. `by` is a person's or agent's name, `rule` for a policy, `limit`, `agent` or `whiskd`."""

    state: State
    at: Instant
    by: str
    action: Shape | None = None
    answer: str = ""
    answers: tuple[str, ...] = ()
    reason: str = ""
    rule_id: str = ""
    output: str = ""
    effect: str = ""
    """The key of the call as it will run, where the answer changed its input."""
    surface: Surface = ""
    """Which way the decision came in, when somebody made it."""


class BridgeRequest(Record, frozen=True):
    """`relay_id` is the waiting hook's own secret name for this request; `call_key` recognises the same call again."""

    id: str
    relay_id: str
    bridge_id: str
    provider: str
    ask: Ask
    call_key: str
    created_at: Instant
    expires_at: Instant
    after: After
    session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    project_id: str = ""
    provider_session: str = ""
    agent: str = ""
    tool_use_id: str = ""
    cwd: str = ""
    rule_id: str = ""
    """The `ask` rule that made this a question for a person."""
    closing: Closing | None = None
    applied_at: Instant | None = None
    overruled_at: Instant | None = None

    @property
    def state(self) -> State:
        return self.closing.state if self.closing is not None else "pending"

    @property
    def is_approval(self) -> bool:
        return not isinstance(self.ask, QuestionAsk | ElicitationAsk)


def call_key(provider: str, session: str, agent: str, tool: ToolCall | None, elicited: str = "") -> str:
    """Recognises one call across the events that report it.

    For questions only the questions count (a finished one also carries its answers), and a `description` never does:
    Codex puts its justification there, in the permission request alone.
    """
    if tool is None:
        about = ["elicitation", elicited]
    elif tool.name == find_provider(provider).question_tool:
        about = [tool.name, exact_text(tool.input.get("questions"))]
    else:
        kept = {name: value for name, value in tool.input.items() if name != "description"}
        about = [tool.name, json.dumps(kept, sort_keys=True, separators=(",", ":"))]
    return hashlib.sha256("\0".join([provider, session, agent, *about]).encode()).hexdigest()


def event_key(event: HookEvent) -> str:
    elicited = event.elicitation.server if event.elicitation is not None else ""
    return call_key(event.provider, event.session, event.agent, event.tool, elicited)


def is_about(request: BridgeRequest, event: HookEvent) -> bool:
    """Whether `event` is the very one that made `request`, sent again."""
    return request.ask.event == event.name and request.call_key == event_key(event)


def new_request(
    bridge: Bridge, relay_id: str, event: HookEvent, ask: Ask, now: Instant, wait: float, after: After, rule_id: str
) -> BridgeRequest:
    """A pending request for `event`, to be answered within `wait` seconds."""
    owner = bridge.owner
    return BridgeRequest(
        id=new_id("prompt" if isinstance(ask, QuestionAsk | ElicitationAsk) else "appr"),
        relay_id=relay_id,
        bridge_id=bridge.id,
        provider=event.provider,
        ask=ask,
        call_key=event_key(event),
        created_at=now,
        expires_at=now.plus(wait),
        after=after,
        session_id=owner.session_id,
        pty_id=owner.pty_id,
        run_id=owner.run_id,
        project_id=owner.project_id,
        provider_session=event.session,
        agent=event.agent,
        tool_use_id=(event.tool.use_id or "") if event.tool is not None else "",
        cwd=event.cwd,
        rule_id=rule_id,
    )


def answered(
    request: BridgeRequest, answer: Answer, now: Instant, by: str, rule_id: str = "", surface: Surface = ""
) -> Closing:
    """The closing of a request by an answer, with the exact output for its hook."""
    action = action_of(answer)
    effect = ""
    if (edited := getattr(answer, "updated_input", None)) is not None and not isinstance(answer.ask, QuestionAsk):
        tool = ToolCall(name=getattr(answer.ask, "tool", ""), input=edited)
        effect = call_key(request.provider, request.provider_session, request.agent, tool)
    return Closing(
        state="denied" if action in _REFUSALS else "answered",
        at=now,
        by=by,
        action=action,
        answer=shown(answer),
        answers=answer.texts if isinstance(answer, Answered) else (),
        reason=reason_of(answer),
        rule_id=rule_id,
        output=write_answer(answer).decode(),
        effect=effect,
        surface=surface,
    )


def timed_out(request: BridgeRequest, answer: Answer | None, now: Instant) -> Closing:
    """The closing when nobody answered: with what is then said in nobody's name, or with nothing."""
    waited = f"nobody answered within {request.created_at.seconds_until(request.expires_at):g} s"
    if answer is None:
        return Closing(state="timed_out", at=now, by="limit", reason=waited)
    said = answered(request, answer, now, "limit")
    return msgspec.structs.replace(said, state="timed_out", reason=waited)


def ended(state: State, now: Instant, by: str, reason: str, output: str = "", surface: Surface = "") -> Closing:
    """The closing without an answer: withdrawn, released or orphaned."""
    return Closing(state=state, at=now, by=by, reason=reason, output=output, surface=surface)


def close(request: BridgeRequest, closing: Closing) -> BridgeRequest:
    """The closed request; raises what `taken` says when something else closed it first."""
    if request.closing is not None:
        raise taken(request)
    return msgspec.structs.replace(request, closing=closing)


def taken(request: BridgeRequest) -> WhiskError:
    """Why a closed request takes no answer: somebody else decided (409, with the winner), or it is past (410)."""
    closing = request.closing
    assert closing is not None
    facts = {
        "id": request.id,
        "outcome": closing.state,
        "by": closing.by,
        "at": closing.at.rfc3339(),
        "answer": closing.answer,
        "reason": closing.reason,
    }
    if closing.state in ("answered", "denied", "released"):
        what = f"{closing.state} by {closing.by}" + (f" ({closing.answer})" if closing.answer else "")
        return ConflictError(f"{request.id} is not pending: it was {what}", **facts)
    return GoneError(f"{request.id} is not pending: {closing.state}, {closing.reason}", **facts)
