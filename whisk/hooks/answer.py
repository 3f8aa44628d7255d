"""What a blocked hook may be told. An answer that its event does not allow cannot be constructed.

An *ask* is one decision that an agent waits for; an *answer* belongs to one ask and checks itself against it. The table
`SHAPES` is what the real binaries were found to honour (Claude Code 2.1.197, Codex 0.171.0): anything else they ignore,
or count as a failed hook, and then the tool runs as if nobody had been asked.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from whisk.errors import InvalidError, RefusedError
from whisk.hooks.event import Elicitation, Question, ToolCall
from whisk.hooks.form import check_content
from whisk.hooks.payload import exact_text, plain, plain_text
from whisk.values import Record

Shape = Literal["answer", "allow", "edit", "deny", "ask", "accept", "decline", "cancel"]

SHAPES: dict[tuple[str, str, str], frozenset[Shape]] = {
    ("claude", "PreToolUse", "question"): frozenset({"answer", "deny"}),
    ("claude", "PermissionRequest", "question"): frozenset({"answer", "deny"}),
    ("claude", "PreToolUse", "approval"): frozenset({"allow", "edit", "deny", "ask"}),
    ("claude", "PermissionRequest", "approval"): frozenset({"allow", "edit", "deny"}),
    ("claude", "Elicitation", "elicitation"): frozenset({"accept", "decline", "cancel"}),
    # Codex has no word for "allow" here: saying nothing is how its tool goes on.
    ("codex", "PreToolUse", "approval"): frozenset({"allow", "deny"}),
    ("codex", "PermissionRequest", "approval"): frozenset({"allow", "deny"}),
}


class _Ask(Record, frozen=True):
    provider: str
    event: str

    def __post_init__(self) -> None:
        if self._key() not in SHAPES:
            raise RefusedError(f"{self.provider} waits for no {self._key()[2]} at {self.event}")

    def _key(self) -> tuple[str, str, str]:
        return (self.provider, self.event, str(self.__struct_config__.tag))

    @property
    def shapes(self) -> frozenset[Shape]:
        """Every kind of answer that the agent takes here."""
        return SHAPES[self._key()]


class QuestionAsk(_Ask, frozen=True, tag="question"):
    """`exact` is the tool's input as ASCII JSON, for the echo that the provider wants back unchanged."""

    questions: tuple[Question, ...]
    exact: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.questions:
            raise InvalidError("a question prompt needs a question")


class ApprovalAsk(_Ask, frozen=True, tag="approval"):
    tool: str
    exact: str

    def tool_input(self) -> dict[str, Any]:
        """The call's input, fit to be shown and stored."""
        found: dict[str, Any] = plain(json.loads(self.exact))
        return found


class ElicitationAsk(_Ask, frozen=True, tag="elicitation"):
    form: Elicitation


Ask: TypeAlias = QuestionAsk | ApprovalAsk | ElicitationAsk


def approval_ask(provider: str, event: str, tool: ToolCall) -> ApprovalAsk:
    return ApprovalAsk(provider=provider, event=event, tool=tool.name, exact=exact_text(tool.input))


def _require(ask: Ask, shape: Shape) -> None:
    if shape not in ask.shapes:
        raise RefusedError(
            f"{ask.provider} takes no {shape!r} at {ask.event}; it takes {', '.join(sorted(ask.shapes))}",
            given=shape,
            allowed=sorted(ask.shapes),
        )


class Answered(Record, frozen=True):
    """One text per question, in order: a label, labels joined by ", ", or free text."""

    ask: QuestionAsk
    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        _require(self.ask, "answer")
        wanted = [question.text for question in self.ask.questions]
        if len(self.texts) != len(wanted):
            raise InvalidError(
                f"{len(wanted)} questions were asked but {len(self.texts)} answers were given", questions=wanted
            )
        chosen: dict[str, str] = {}
        for number, (text, question) in enumerate(zip(self.texts, self.ask.questions, strict=True), 1):
            if not text.strip():
                raise InvalidError(f"answer {number} is empty: {question.text}", question=question.text)
            if chosen.setdefault(question.text, text) != text:
                raise InvalidError(
                    f"two questions have the same text, {question.text!r}, and {self.ask.provider} tells answers apart "
                    "by that text only: give both the same answer, deny, or release the prompt",
                    question=question.text,
                )


class Allowed(Record, frozen=True):
    """The call may run; with `updated_input` it runs with that input in place of its own."""

    ask: ApprovalAsk
    updated_input: dict[str, Any] | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        _require(self.ask, "allow" if self.updated_input is None else "edit")


class Denied(Record, frozen=True):
    """`message` is what the model reads, word for word."""

    ask: QuestionAsk | ApprovalAsk
    message: str

    def __post_init__(self) -> None:
        _require(self.ask, "deny")
        if not self.message.strip():
            raise InvalidError("a denial needs a reason")


class AskedInstead(Record, frozen=True):
    """The agent is made to ask in its own window, even where it would not have asked."""

    ask: ApprovalAsk
    reason: str

    def __post_init__(self) -> None:
        _require(self.ask, "ask")


class Accepted(Record, frozen=True):
    """`content` is checked against the form; a link takes none."""

    ask: ElicitationAsk
    content: dict[str, Any] = {}

    def __post_init__(self) -> None:
        _require(self.ask, "accept")
        if self.ask.form.mode == "url":
            if self.content:
                raise InvalidError("a link is accepted without content")
        else:
            check_content(self.ask.form.schema, self.content)


class Refused(Record, frozen=True):
    """`decline` is an explicit no, `cancel` closes the form without a choice."""

    ask: ElicitationAsk
    action: Literal["decline", "cancel"]

    def __post_init__(self) -> None:
        _require(self.ask, self.action)


Answer: TypeAlias = Answered | Allowed | Denied | AskedInstead | Accepted | Refused


def answers_by_question(answer: Answered) -> dict[str, str]:
    """Answers keyed by the exact text of each question, as the agent sent it."""
    sent = json.loads(answer.ask.exact)["questions"]
    return {item["question"]: text for item, text in zip(sent, answer.texts, strict=True)}


def action_of(answer: Answer) -> Shape:
    match answer:
        case Answered():
            return "answer"
        case Allowed():
            return "allow" if answer.updated_input is None else "edit"
        case Denied():
            return "deny"
        case AskedInstead():
            return "ask"
        case Accepted():
            return "accept"
        case Refused():
            return answer.action


def shown(answer: Answer) -> str:
    """One line for lists: what the agent was told, fit to be shown."""
    match answer:
        case Answered():
            return plain_text("; ".join(answer.texts))
        case _:
            return action_of(answer)


def reason_of(answer: Answer) -> str:
    """What was given as the reason; empty where none was."""
    match answer:
        case Denied():
            return answer.message
        case Allowed() | AskedInstead():
            return answer.reason
        case _:
            return ""
