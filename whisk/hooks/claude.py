"""Claude Code's hooks: 30 events in, and the output documents that its binary honours.

Facts found on 2.1.197: a PermissionRequest carries no tool-call id; nothing fires when a person presses Esc or answers
"No" in the native dialog; a question's answers are keyed by its text, and `questions` must be echoed.
"""

from __future__ import annotations

import json
from typing import Any

from whisk.hooks.answer import (
    Accepted,
    Allowed,
    Answer,
    Answered,
    Ask,
    AskedInstead,
    Denied,
    ElicitationAsk,
    QuestionAsk,
    Refused,
    answers_by_question,
    approval_ask,
)
from whisk.hooks.event import HookEvent, HookKind, event_name, read_common, text_at
from whisk.hooks.payload import Payload, compact, exact_text

QUESTION_TOOL = "AskUserQuestion"

_KINDS: dict[str, HookKind] = {
    "PreToolUse": HookKind.TOOL_STARTING,
    "PermissionRequest": HookKind.PERMISSION_ASKED,
    "Elicitation": HookKind.ELICITATION_ASKED,
    "ElicitationResult": HookKind.ELICITATION_ANSWERED,
    "PostToolUse": HookKind.TOOL_FINISHED,
    "PostToolUseFailure": HookKind.TOOL_FAILED,
    "Notification": HookKind.NOTIFICATION,
    "UserPromptSubmit": HookKind.PROMPT_SUBMITTED,
    "SessionStart": HookKind.SESSION_STARTED,
    "SessionEnd": HookKind.SESSION_ENDED,
    "Stop": HookKind.TURN_ENDED,
    "StopFailure": HookKind.TURN_FAILED,
    "SubagentStart": HookKind.SUBAGENT_STARTED,
    "SubagentStop": HookKind.SUBAGENT_ENDED,
    "PreCompact": HookKind.COMPACTION_STARTED,
    "PostCompact": HookKind.COMPACTION_ENDED,
    **dict.fromkeys(
        (
            "PostToolBatch",
            "UserPromptExpansion",
            "PermissionDenied",
            "Setup",
            "TeammateIdle",
            "TaskCreated",
            "TaskCompleted",
            "ConfigChange",
            "WorktreeCreate",
            "WorktreeRemove",
            "InstructionsLoaded",
            "CwdChanged",
            "FileChanged",
            "MessageDisplay",
        ),
        HookKind.OTHER,
    ),
}
EVENTS = tuple(_KINDS)


def read(payload: Payload, override: str = "") -> HookEvent:
    """The event of a payload; a name that is not Claude Code's, or none, is `unknown` with the payload kept whole."""
    name = event_name(payload, override)
    kind = _KINDS.get(name, HookKind.UNKNOWN)
    asking = kind in (HookKind.TOOL_STARTING, HookKind.PERMISSION_ASKED)
    if asking and text_at(payload.data, "tool_name", "toolName") == QUESTION_TOOL:
        kind = HookKind.QUESTION_ASKED
    return read_common(payload, kind, "claude", name)


def ask_of(event: HookEvent) -> Ask | None:
    """What this event waits for, or None when it waits for nothing that whisk could answer."""
    if event.kind is HookKind.ELICITATION_ASKED and event.elicitation is not None:
        return ElicitationAsk(provider="claude", event=event.name, form=event.elicitation)
    if event.tool is None:
        return None
    if event.kind is HookKind.QUESTION_ASKED:
        if not event.questions:
            return None
        return QuestionAsk(
            provider="claude", event=event.name, questions=event.questions, exact=exact_text(event.tool.input)
        )
    if event.kind in (HookKind.TOOL_STARTING, HookKind.PERMISSION_ASKED):
        return approval_ask("claude", event.name, event.tool)
    return None


def write(answer: Answer) -> bytes:
    """The one JSON document that tells Claude Code this answer."""
    output: dict[str, Any] = {"hookEventName": answer.ask.event}
    if isinstance(answer.ask, ElicitationAsk):
        output |= _elicitation(answer)
    elif answer.ask.event == "PermissionRequest":
        output["decision"] = _decision(answer)
    else:
        output |= _permission(answer)
    return compact({"hookSpecificOutput": output})


def _permission(answer: Answer) -> dict[str, Any]:
    match answer:
        case Answered():
            return {"permissionDecision": "allow", "updatedInput": _answered_input(answer)}
        case Allowed():
            decided: dict[str, Any] = {"permissionDecision": "allow"}
            if answer.reason:
                decided["permissionDecisionReason"] = answer.reason
            if answer.updated_input is not None:
                decided["updatedInput"] = answer.updated_input
            return decided
        case Denied():
            return {"permissionDecision": "deny", "permissionDecisionReason": answer.message}
        case AskedInstead():
            return {"permissionDecision": "ask", "permissionDecisionReason": answer.reason}
        case _:
            raise TypeError(f"no permission decision says {answer!r}")


def _decision(answer: Answer) -> dict[str, Any]:
    match answer:
        case Answered():
            return {"behavior": "allow", "updatedInput": _answered_input(answer)}
        case Allowed(updated_input=None):
            return {"behavior": "allow"}
        case Allowed():
            return {"behavior": "allow", "updatedInput": answer.updated_input}
        case Denied():
            return {"behavior": "deny", "message": answer.message}
        case _:
            raise TypeError(f"no permission request takes {answer!r}")


def _elicitation(answer: Answer) -> dict[str, Any]:
    """`action` and `content` are what the binary reads; `decision` and `elicitationId` are older names kept beside."""
    match answer:
        case Accepted():
            said: dict[str, Any] = {"action": "accept"}
            if answer.ask.form.mode != "url":
                said["content"] = answer.content
        case Refused():
            said = {"action": answer.action}
        case _:
            raise TypeError(f"no elicitation takes {answer!r}")
    said["decision"] = said["action"]
    if isinstance(answer.ask, ElicitationAsk) and answer.ask.form.id:
        said["elicitationId"] = answer.ask.form.id
    return said


def _answered_input(answer: Answered) -> dict[str, Any]:
    # The input is replaced, not merged, so everything the agent sent goes back with the answers.
    sent: dict[str, Any] = json.loads(answer.ask.exact)
    return sent | {"answers": answers_by_question(answer)}
