"""What an agent's later events prove about its requests: an answer took effect, was overruled, or came from elsewhere.

Agents say nothing when a person answers in their own window, so this is how a waiting request is known to be over, and
how "answered" is told from "applied".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from whisk.bridges.request import BridgeRequest, event_key
from whisk.hooks.answer import Answered, ElicitationAsk, QuestionAsk, answers_by_question
from whisk.hooks.event import HookEvent, HookKind
from whisk.hooks.provider import find_provider
from whisk.values import Record

Proof = Literal["withdrawn", "applied", "overruled"]

_FINISHED = (HookKind.TOOL_FINISHED, HookKind.TOOL_FAILED)
_TURN_OVER = (HookKind.TURN_ENDED, HookKind.TURN_FAILED, HookKind.TURN_INTERRUPTED)
# A refused call leaves no report of its own; that the agent went on to something else is the only sign.
_GOING_ON = (HookKind.TOOL_STARTING, HookKind.PERMISSION_ASKED, HookKind.QUESTION_ASKED, *_TURN_OVER)


class Effect(Record, frozen=True):
    request_id: str
    proof: Proof
    reason: str = ""


def effects(requests: Iterable[BridgeRequest], event: HookEvent) -> list[Effect]:
    """What `event` proves about `requests`, which are given oldest first."""
    if not event.session:
        return []
    mine = [request for request in requests if request.provider_session == event.session]
    if event.kind in _FINISHED or event.kind is HookKind.ELICITATION_ANSWERED:
        return _one_call(mine, event)
    found = [effect for request in mine if (effect := _went_on(request, event)) is not None]
    reason = _over(event)
    if reason:
        found += [
            Effect(request_id=request.id, proof="withdrawn", reason=reason)
            for request in mine
            if request.state == "pending" and (request.agent == event.agent or event.kind is HookKind.SESSION_ENDED)
        ]
    return found


def is_last(event: HookEvent) -> bool:
    """Whether nothing more can be learned about answered requests of this event's agent."""
    return bool(_over(event))


def _over(event: HookEvent) -> str:
    """Why nothing of this agent can be waiting any more; empty while something can."""
    if event.kind is HookKind.SESSION_ENDED:
        return "session_ended"
    if event.kind is HookKind.TURN_INTERRUPTED:
        return "interrupted"
    if event.kind in _TURN_OVER or event.kind is HookKind.SUBAGENT_ENDED:
        return "answered_elsewhere"
    if event.kind is HookKind.PROMPT_SUBMITTED and find_provider(event.provider).prompt_ends_turn:
        return "answered_elsewhere"
    return ""


def _one_call(mine: list[BridgeRequest], event: HookEvent) -> list[Effect]:
    """A report about one call concerns one request: one that let it run, else one that waits, else one that refused.

    The order matters when equal calls meet, since nothing in the report tells them apart. One that was let run before
    the waiting one was even asked is no candidate: had it run, its report would have come before that question.
    """
    same = [request for request in mine if _same_call(request, event)]
    waiting = next((request for request in same if request.closing is None), None)
    for request in same:
        if _is_unsettled(request) and not _refuses(request) and _overlaps(request, waiting):
            return [_judge(request, event)]
    if waiting is not None:
        return [Effect(request_id=waiting.id, proof="withdrawn", reason="answered_elsewhere")]
    return [_judge(request, event) for request in same if _refuses(request) and request.overruled_at is None][:1]


def _is_unsettled(request: BridgeRequest) -> bool:
    decided = request.closing is not None and request.closing.action is not None
    return decided and request.applied_at is None and request.overruled_at is None


def _overlaps(request: BridgeRequest, waiting: BridgeRequest | None) -> bool:
    return waiting is None or (request.closing is not None and request.closing.at >= waiting.created_at)


def _refuses(request: BridgeRequest) -> bool:
    return request.closing is not None and request.closing.action in ("deny", "decline", "cancel")


def _same_call(request: BridgeRequest, event: HookEvent) -> bool:
    use_id = event.tool.use_id if event.tool is not None else None
    if request.tool_use_id and use_id:
        return request.tool_use_id == use_id
    effect = request.closing.effect if request.closing is not None else ""
    return event_key(event) == (effect or request.call_key)


def _judge(request: BridgeRequest, event: HookEvent) -> Effect:
    closing = request.closing
    assert closing is not None
    if isinstance(request.ask, ElicitationAsk):
        agrees = closing.action == event.action
    elif isinstance(request.ask, QuestionAsk) and closing.answers and event.tool is not None:
        given = event.tool.input.get("answers")
        wanted = answers_by_question(Answered(ask=request.ask, texts=closing.answers))
        # A tool that does not report its answers back proves only that it ran.
        agrees = not isinstance(given, dict) or given == wanted
    else:
        agrees = closing.action in ("allow", "edit", "answer", "ask")
    if agrees:
        return Effect(request_id=request.id, proof="applied")
    return Effect(request_id=request.id, proof="overruled", reason="the agent did otherwise")


def _went_on(request: BridgeRequest, event: HookEvent) -> Effect | None:
    if not _refuses(request) or request.applied_at is not None or request.overruled_at is not None:
        return None
    if request.agent != event.agent or event.kind not in _GOING_ON:
        return None
    return Effect(request_id=request.id, proof="applied")
