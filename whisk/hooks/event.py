"""One vocabulary for what agents report: whatever the provider calls it, the rest of whisk sees a `HookEvent`."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from whisk.hooks.payload import Payload, plain, plain_text
from whisk.values import Record


class HookKind(StrEnum):
    """What happened. `other` is an event the provider is known to send that means nothing here; `unknown` is none."""

    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    PROMPT_SUBMITTED = "prompt_submitted"
    TOOL_STARTING = "tool_starting"
    PERMISSION_ASKED = "permission_asked"
    QUESTION_ASKED = "question_asked"
    ELICITATION_ASKED = "elicitation_asked"
    ELICITATION_ANSWERED = "elicitation_answered"
    TOOL_FINISHED = "tool_finished"
    TOOL_FAILED = "tool_failed"
    NOTIFICATION = "notification"
    TURN_ENDED = "turn_ended"
    TURN_FAILED = "turn_failed"
    TURN_INTERRUPTED = "turn_interrupted"
    COMPACTION_STARTED = "compaction_started"
    COMPACTION_ENDED = "compaction_ended"
    SUBAGENT_STARTED = "subagent_started"
    SUBAGENT_ENDED = "subagent_ended"
    MODEL_OBSERVED = "model_observed"
    OTHER = "other"
    UNKNOWN = "unknown"


class ToolCall(Record, frozen=True):
    """`input` is exactly what the agent sent; `use_id` is absent where the provider gives none."""

    name: str
    input: dict[str, Any]
    use_id: str | None = None


_TELLING = ("command", "file_path", "notebook_path", "path", "url", "query", "pattern", "description", "prompt")


def telling(tool_input: dict[str, Any]) -> str:
    """The one argument of a tool that says what a call would do; empty where none is known to."""
    return next((str(tool_input[name]) for name in _TELLING if tool_input.get(name)), "")


class Option(Record, frozen=True):
    """`value` differs from `label` only for agents that send both."""

    wire_name: ClassVar[str] = "AgentBridgeEventOption"

    label: str
    value: str
    description: str = ""


class Question(Record, frozen=True):
    text: str
    options: tuple[Option, ...] = ()
    header: str = ""
    multi_select: bool = False

    def known(self) -> tuple[str, ...]:
        """Every text that names an option, labels first."""
        labels = [option.label for option in self.options]
        return (*labels, *(option.value for option in self.options if option.value not in labels))


class Elicitation(Record, frozen=True):
    """A form or a link that an MCP server wants a person to fill in or open."""

    server: str = ""
    message: str = ""
    mode: str = "form"
    url: str = ""
    id: str = ""
    schema: dict[str, Any] = {}


class HookEvent(Record, frozen=True):
    """One report of one agent. Everything but `payload` and `tool.input` is text that can be shown and stored.

    `session` and `turn` are the provider's own ids; `agent` names a subagent and is empty for the main one.
    """

    kind: HookKind
    provider: str
    name: str
    payload: Payload
    session: str = ""
    turn: str = ""
    agent: str = ""
    cwd: str = ""
    transcript: str = ""
    mode: str = ""
    model: str = ""
    tool: ToolCall | None = None
    questions: tuple[Question, ...] = ()
    elicitation: Elicitation | None = None
    message: str = ""
    notification: str = ""
    source: str = ""
    reason: str = ""
    error: str = ""
    action: str = ""
    response: str = ""
    continuing: bool = False
    """True when the turn is going on because a Stop hook blocked before: never block again."""


def text_at(data: dict[str, Any], *names: str) -> str:
    """The first non-empty text under one of `names`, fit to be shown; anything else counts as absent."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value:
            return plain_text(value)
    return ""


def event_name(payload: Payload, override: str = "") -> str:
    """The event's name: what the hook command was told beats what the payload says."""
    return plain_text(override) or text_at(payload.data, "hook_event_name", "eventName", "event_name")


def tool_call(data: dict[str, Any]) -> ToolCall | None:
    """The tool call of a payload; an input that is no object counts as empty."""
    name = text_at(data, "tool_name", "toolName")
    if not name:
        return None
    given = data.get("tool_input", data.get("toolInput"))
    return ToolCall(
        name=name,
        input=given if isinstance(given, dict) else {},
        use_id=text_at(data, "tool_use_id", "toolUseId") or None,
    )


def questions_in(tool_input: dict[str, Any]) -> tuple[Question, ...]:
    """The questions of a tool's input, in order; empty if any of them cannot be shown as it stands.

    All or nothing, because an answer must cover every question the agent asked.
    """
    given = tool_input.get("questions")
    if not isinstance(given, list):
        return ()
    found = [_question(item) for item in given]
    return tuple(question for question in found if question is not None) if None not in found else ()


def _question(item: Any) -> Question | None:
    if not isinstance(item, dict) or not isinstance(item.get("question"), str):
        return None
    given = item.get("options")
    options = [_option(option) for option in given] if isinstance(given, list) else []
    if None in options:
        return None
    return Question(
        text=plain_text(item["question"]),
        header=text_at(item, "header"),
        options=tuple(option for option in options if option is not None),
        multi_select=item.get("multiSelect") is True,
    )


def _option(item: Any) -> Option | None:
    if not isinstance(item, dict) or not (label := text_at(item, "label")):
        return None
    return Option(label=label, value=text_at(item, "value") or label, description=text_at(item, "description"))


def elicitation_in(data: dict[str, Any]) -> Elicitation:
    schema = data.get("requested_schema", data.get("requestedSchema"))
    return Elicitation(
        server=text_at(data, "mcp_server_name", "mcpServerName"),
        message=text_at(data, "message", "prompt"),
        mode=text_at(data, "mode") or ("url" if text_at(data, "url") else "form"),
        url=text_at(data, "url"),
        id=text_at(data, "elicitation_id", "elicitationId"),
        schema=plain(schema) if isinstance(schema, dict) else {},
    )


_ELICITATIONS = (HookKind.ELICITATION_ASKED, HookKind.ELICITATION_ANSWERED)


def read_common(payload: Payload, kind: HookKind, provider: str, name: str) -> HookEvent:
    """The fields that Claude Code and Codex share; a missing or misshapen one is simply empty."""
    data = payload.data
    tool = tool_call(data)
    asked = kind is HookKind.QUESTION_ASKED and tool is not None
    return HookEvent(
        kind=kind,
        provider=provider,
        name=name,
        payload=payload,
        session=text_at(data, "session_id", "sessionId"),
        turn=text_at(data, "turn_id", "prompt_id"),
        agent=text_at(data, "agent_id"),
        cwd=text_at(data, "cwd"),
        transcript=text_at(data, "transcript_path"),
        mode=text_at(data, "permission_mode"),
        model=text_at(data, "model"),
        tool=tool,
        questions=questions_in(tool.input) if asked and tool is not None else (),
        elicitation=elicitation_in(data) if kind in _ELICITATIONS else None,
        message=text_at(data, "message", "prompt"),
        notification=text_at(data, "notification_type", "notificationType"),
        source=text_at(data, "source", "trigger"),
        reason=text_at(data, "reason"),
        error=text_at(data, "error"),
        action=text_at(data, "action"),
        response=text_at(data, "last_assistant_message"),
        continuing=data.get("stop_hook_active") is True,
    )
