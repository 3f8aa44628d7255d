"""Codex's hooks: 14 events in, and the few output documents that its strict parser takes.

Facts found on 0.171.0: one unknown key makes the whole output invalid, and the tool then goes on; PreToolUse knows only
"deny"; a PermissionRequest hook runs before the dialog, so no native answer is possible until it returns; a question
(`request_user_input`) cannot be answered by a hook and is left to Codex's own window.
"""

from __future__ import annotations

from whisk.hooks.answer import Allowed, Answer, Ask, Denied, approval_ask
from whisk.hooks.event import HookEvent, HookKind, event_name, read_common, text_at
from whisk.hooks.payload import Payload, compact

QUESTION_TOOL = "request_user_input"

_KINDS: dict[str, HookKind] = {
    "PreToolUse": HookKind.TOOL_STARTING,
    "PermissionRequest": HookKind.PERMISSION_ASKED,
    "PostToolUse": HookKind.TOOL_FINISHED,
    "PreCompact": HookKind.COMPACTION_STARTED,
    "PostCompact": HookKind.COMPACTION_ENDED,
    "SessionStart": HookKind.SESSION_STARTED,
    "SessionEnd": HookKind.SESSION_ENDED,
    "UserPromptSubmit": HookKind.PROMPT_SUBMITTED,
    "SubagentStart": HookKind.SUBAGENT_STARTED,
    "SubagentStop": HookKind.SUBAGENT_ENDED,
    "Stop": HookKind.TURN_ENDED,
    "Interrupt": HookKind.TURN_INTERRUPTED,
    "PreModelRequest": HookKind.MODEL_OBSERVED,
    "PostModelRequest": HookKind.MODEL_OBSERVED,
}
EVENTS = tuple(_KINDS)


def read(payload: Payload, override: str = "") -> HookEvent:
    """The event of a payload; a name that is not Codex's, or none, is `unknown` with the payload kept whole."""
    name = event_name(payload, override)
    kind = _KINDS.get(name, HookKind.UNKNOWN)
    if kind is HookKind.TOOL_STARTING and text_at(payload.data, "tool_name") == QUESTION_TOOL:
        kind = HookKind.QUESTION_ASKED
    return read_common(payload, kind, "codex", name)


def ask_of(event: HookEvent) -> Ask | None:
    """What this event waits for; never a question."""
    if event.tool is None or event.kind not in (HookKind.TOOL_STARTING, HookKind.PERMISSION_ASKED):
        return None
    return approval_ask("codex", event.name, event.tool)


def write(answer: Answer) -> bytes:
    """The document Codex takes, or nothing where saying nothing is how a call goes on."""
    event = answer.ask.event
    match answer:
        case Denied() if event == "PreToolUse":
            said: dict[str, object] = {
                "permissionDecision": "deny",
                "permissionDecisionReason": answer.message,
            }
        case Denied():
            said = {"decision": {"behavior": "deny", "message": answer.message}}
        case Allowed() if event == "PreToolUse":
            return b""
        case Allowed():
            said = {"decision": {"behavior": "allow"}}
        case _:
            raise TypeError(f"Codex takes no {answer!r}")
    return compact({"hookSpecificOutput": {"hookEventName": event, **said}})
