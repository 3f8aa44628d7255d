"""Requests as clients see them: the prompt and approval records of the wire, and their one-line summaries."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal

from whisk.bridges.request import BridgeRequest, State
from whisk.clock import Instant
from whisk.hooks.answer import ApprovalAsk, Ask, ElicitationAsk, QuestionAsk, Shape
from whisk.hooks.event import Option, Question, telling
from whisk.hooks.form import Field, fields_of
from whisk.hooks.payload import plain
from whisk.hooks.provider import find_provider
from whisk.values import Record

WireStatus = Literal["pending", "resolved", "timed_out", "cancelled"]

STATUS: dict[State, WireStatus] = {
    "pending": "pending",
    "answered": "resolved",
    "denied": "resolved",
    "timed_out": "timed_out",
    "withdrawn": "cancelled",
    "released": "cancelled",
    "orphaned": "cancelled",
}


class PromptQuestion(Record, frozen=True):
    """One question of a prompt. `multiSelect` is always there; an empty list of options asks for free text."""

    question: str
    multi_select: bool
    options: tuple[Option, ...]
    header: str = ""


class AgentPrompt(Record, frozen=True):
    """`message` and `options` are those of the first question, for clients that know only one.

    `status` is `pending`, `resolved`, `timed_out` or `cancelled`; `outcome` tells exactly: `pending`, `answered`,
    `denied`, `timed_out`, `withdrawn`, `released`, `orphaned`. `appliedAt` is set when the agent's later events showed
    that the answer took effect, `overruledAt` when they showed that it did not.
    """

    id: str
    provider: str
    kind: Literal["question", "approval"]
    event_name: str
    message: str
    status: WireStatus
    created_at: Instant
    outcome: State
    expires_at: Instant
    allowed: tuple[Shape, ...]
    bridge_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    project_id: str = ""
    provider_session_id: str = ""
    agent_id: str = ""
    tool_name: str = ""
    tool_input: dict[str, Any] | None = None
    cwd: str = ""
    elicitation_id: str = ""
    url: str = ""
    server: str = ""
    options: tuple[Option, ...] = ()
    questions: tuple[PromptQuestion, ...] = ()
    form: tuple[Field, ...] = ()
    answer: str = ""
    answers: tuple[str, ...] = ()
    reason: str = ""
    resolved_at: Instant | None = None
    answered_by: str = ""
    rule_id: str = ""
    applied_at: Instant | None = None
    overruled_at: Instant | None = None


class HookDecision(Record, frozen=True):
    wire_name: ClassVar[str] = "AgentBridgeHookDecision"

    action: str = ""
    reason: str = ""


class AgentBridgeApproval(Record, frozen=True):
    id: str
    bridge_id: str
    provider: str
    event_name: str
    tool_name: str
    status: WireStatus
    created_at: Instant
    outcome: State
    session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    tool_input: dict[str, Any] | None = None
    decision: HookDecision | None = None
    resolved_at: Instant | None = None
    answered_by: str = ""
    rule_id: str = ""
    applied_at: Instant | None = None
    overruled_at: Instant | None = None


def prompt_of(request: BridgeRequest) -> AgentPrompt:
    """Any request as a prompt; approvals are prompts of kind `approval`."""
    ask, closing = request.ask, request.closing
    questions = _questions(ask)
    form = ask.form if isinstance(ask, ElicitationAsk) else None
    return AgentPrompt(
        id=request.id,
        provider=request.provider,
        kind="approval" if request.is_approval else "question",
        event_name=ask.event,
        message=summary(ask),
        status=STATUS[request.state],
        created_at=request.created_at,
        outcome=request.state,
        expires_at=request.expires_at,
        allowed=tuple(sorted(ask.shapes)),
        bridge_id=request.bridge_id,
        session_id=request.session_id,
        pty_id=request.pty_id,
        run_id=request.run_id,
        project_id=request.project_id,
        provider_session_id=request.provider_session,
        agent_id=request.agent,
        tool_name=_tool(ask, request.provider),
        tool_input=_input(ask),
        cwd=request.cwd,
        elicitation_id=form.id if form else "",
        url=form.url if form else "",
        server=form.server if form else "",
        options=questions[0].options if questions else _choices(ask),
        questions=questions,
        form=fields_of(form.schema) if form else (),
        answer=closing.answer if closing else "",
        answers=closing.answers if closing else (),
        reason=closing.reason if closing else "",
        resolved_at=closing.at if closing else None,
        answered_by=closing.by if closing else "",
        rule_id=(closing.rule_id if closing else "") or request.rule_id,
        applied_at=request.applied_at,
        overruled_at=request.overruled_at,
    )


def approval_of(request: BridgeRequest) -> AgentBridgeApproval:
    """An approval request in the record that only approvals have."""
    closing = request.closing
    decision = HookDecision(action=closing.answer, reason=closing.reason) if closing and closing.action else None
    return AgentBridgeApproval(
        id=request.id,
        bridge_id=request.bridge_id,
        provider=request.provider,
        event_name=request.ask.event,
        tool_name=_tool(request.ask, request.provider),
        status=STATUS[request.state],
        created_at=request.created_at,
        outcome=request.state,
        session_id=request.session_id,
        pty_id=request.pty_id,
        run_id=request.run_id,
        tool_input=_input(request.ask),
        decision=decision,
        resolved_at=closing.at if closing else None,
        answered_by=closing.by if closing else "",
        rule_id=(closing.rule_id if closing else "") or request.rule_id,
        applied_at=request.applied_at,
        overruled_at=request.overruled_at,
    )


def summary(ask: Ask) -> str:
    """What is asked, in one text: the first question, the form's message, or the tool with what it would do."""
    match ask:
        case QuestionAsk():
            return ask.questions[0].text
        case ElicitationAsk():
            return ask.form.message or f"{ask.form.server} asks for input"
        case ApprovalAsk():
            what = telling(ask.tool_input())
            return f"{ask.tool}: {what}" if what else ask.tool


def _tool(ask: Ask, provider: str) -> str:
    match ask:
        case ApprovalAsk():
            return ask.tool
        case QuestionAsk():
            return find_provider(provider).question_tool
        case _:
            return ""


def _input(ask: Ask) -> dict[str, Any] | None:
    match ask:
        case ApprovalAsk():
            return ask.tool_input()
        case QuestionAsk():
            found: dict[str, Any] = plain(json.loads(ask.exact))
            return found
        case _:
            return None


def _questions(ask: Ask) -> tuple[PromptQuestion, ...]:
    return tuple(_question(question) for question in ask.questions) if isinstance(ask, QuestionAsk) else ()


def _question(question: Question) -> PromptQuestion:
    return PromptQuestion(
        question=question.text,
        multi_select=question.multi_select,
        options=question.options,
        header=question.header,
    )


def _choices(ask: Ask) -> tuple[Option, ...]:
    words = ("allow", "deny", "ask") if isinstance(ask, ApprovalAsk) else ("accept", "decline", "cancel")
    return tuple(Option(label=word.capitalize(), value=word) for word in words if word in ask.shapes)
