"""What was said to a prompt, turned into an answer that its event allows, or refused with the choices."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from whisk.bridges.choice import Given, chosen_text
from whisk.bridges.setting import FIRST_OPTION
from whisk.errors import InvalidError, RefusedError, WhiskError
from whisk.hooks.answer import (
    Accepted,
    Allowed,
    Answer,
    Answered,
    ApprovalAsk,
    Ask,
    AskedInstead,
    Denied,
    ElicitationAsk,
    QuestionAsk,
    Refused,
)
from whisk.hooks.form import content_from_texts, fields_of
from whisk.hooks.provider import find_provider
from whisk.matters.audit import Surface
from whisk.values import Record, check_text, convert

ANSWER_BYTES = 4 * 1024 * 1024
_WORDS = ("allow", "deny", "ask", "accept", "decline", "cancel")

Action = Literal["answer", "allow", "deny", "ask", "accept", "decline", "cancel"]


class Resolution(Record, frozen=True):
    """One of: `answer` (a single question, or `allow`/`deny`/… for an approval), `answers` (one per question or field
    in order, or by question text; for a form the exact content by field), `action` with `reason`, `updatedInput` (allow
    with another input), `content` (a form).

    `actor` is who answers, `ptyId` the terminal they answer from.
    """

    wire_name: ClassVar[str] = "ResolveAgentPromptRequest"

    answer: str | None = None
    answers: list[Given] | dict[str, Any] | None = None
    action: Action | None = None
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    content: dict[str, Any] | None = None
    actor: str = ""
    pty_id: str = ""
    surface: Surface = ""

    def check(self) -> None:
        """Refuse text that cannot be stored or that is out of all proportion."""
        for name, text in (("answer", self.answer or ""), ("reason", self.reason), ("actor", self.actor)):
            check_text(text, name, limit=ANSWER_BYTES)
        given = self.answers.values() if isinstance(self.answers, dict) else self.answers or []
        for item in given:
            for part in item if isinstance(item, list) else [item]:
                check_text(str(part), "answers", limit=ANSWER_BYTES)


def resolve(ask: Ask, said: Resolution) -> Answer:
    """The answer that `said` gives to `ask`; raises `InvalidError` or `RefusedError` saying what would be right."""
    said.check()
    _check_one_thing(said)
    match ask:
        case QuestionAsk():
            return _question(ask, said)
        case ApprovalAsk():
            return _approval(ask, said)
        case ElicitationAsk():
            return _elicitation(ask, said)


def _check_one_thing(said: Resolution) -> None:
    """Refuse what says two things: nobody can know which of them was meant."""
    answer = (said.answer or "").strip()
    parts = {
        "answer": bool(answer),
        "answers": said.answers is not None,
        "updatedInput": said.updated_input is not None,
        "content": said.content is not None,
    }
    given = [name for name, there in parts.items() if there]
    match said.action:
        case None | "answer" | "accept":
            pass
        case "allow" if given == ["updatedInput"]:
            pass
        case action if given == ["answer"] and answer.lower() == action:
            pass
        case action if given:
            given.append(f"the action {action}")
    if len(given) > 1:
        raise InvalidError(f"give {' or '.join(given)}, not both", given=given)


def default_answer(ask: Ask, text: str) -> Answer | None:
    """The configured default as an answer, or None where it does not fit this ask."""
    try:
        match ask:
            case QuestionAsk():
                if text in _WORDS and not all(text in question.known() for question in ask.questions):
                    # Meant for approvals or forms: as free text it would be an answer that nobody had in mind.
                    return None
                texts = [
                    question.options[0].value if text == FIRST_OPTION and question.options else text
                    for question in ask.questions
                ]
                return None if FIRST_OPTION in texts else resolve(ask, Resolution(answers=list(texts)))
            case ApprovalAsk():
                return resolve(ask, Resolution(answer=text))
            case ElicitationAsk():
                return resolve(ask, Resolution(answer=text)) if text in ("accept", "decline", "cancel") else None
    except WhiskError:
        return None


def unanswered(ask: Ask, after: str, default: str, waited: float) -> Answer | None:
    """What a hook is told when nobody answered; None to say nothing, so that the agent's own window opens.

    A rule that made a plain tool call wait for a person must not let it run because nobody came: there the agent is
    told to ask, and where it cannot be told that (Codex before a tool), the call is denied in so many words.
    """
    nobody = f"Nobody answered within {waited:g} s"
    if after == "default" and (answer := default_answer(ask, default)) is not None:
        return answer
    if after == "deny":
        return _denial(ask, f"{nobody}, and whisk is set to deny then. No person refused this.")
    return undecided(ask, f"{nobody} through whisk")


def undecided(ask: Ask, why: str) -> Answer | None:
    """What a hook is told that is let go without a decision; None to say nothing.

    Silence lets a plain tool call run, and it only waits because a rule holds it: so the agent is told to ask, or the
    call is denied. `why` is the beginning of a sentence.
    """
    if not isinstance(ask, ApprovalAsk) or ask.event != "PreToolUse":
        return None
    if "ask" in ask.shapes:
        return AskedInstead(ask=ask, reason=f"{why}.")
    return Denied(ask=ask, message=f"{why}, and {ask.provider} cannot be made to ask here.")


def released(ask: Ask) -> Answer | None:
    """What a hook is told when a person sends the decision back to the agent's own window.

    Raises `RefusedError` where that window would not open, so that the call would simply run.
    """
    answer = undecided(ask, "Sent back to this window through whisk")
    if isinstance(answer, Denied):
        raise RefusedError(f"{ask.provider} cannot be made to ask before a tool runs: allow or deny it")
    return answer


def _denial(ask: Ask, message: str) -> Answer:
    if isinstance(ask, ElicitationAsk):
        return Refused(ask=ask, action="cancel")
    return Denied(ask=ask, message=message)


def _question(ask: QuestionAsk, said: Resolution) -> Answer:
    if said.action == "deny":
        return Denied(ask=ask, message=said.reason.strip() or "A person declined to answer this question.")
    if said.action not in (None, "answer"):
        raise _wrong_action(ask, said.action)
    free_text = find_provider(ask.provider).free_text
    given = _given(ask, said)
    texts = [
        chosen_text(question, item, free_text=free_text) for question, item in zip(ask.questions, given, strict=True)
    ]
    return Answered(ask=ask, texts=tuple(texts))


def _given(ask: QuestionAsk, said: Resolution) -> list[Given]:
    """One item per question, in order."""
    wanted = [question.text for question in ask.questions]
    given: list[Given]
    if isinstance(said.answers, dict):
        unknown = [text for text in said.answers if text not in wanted]
        if unknown:
            raise InvalidError(f"no such question: {unknown[0]}", questions=wanted)
        missing = [text for text in wanted if text not in said.answers]
        if missing:
            raise InvalidError(f"no answer to: {missing[0]}", questions=wanted, missing=missing)
        given = [_given_as(text, said.answers[text]) for text in wanted]
    elif said.answers is not None:
        given = said.answers
    elif said.answer is not None and said.answer.strip():
        given = [said.answer]
    else:
        raise InvalidError("prompt answer required", questions=wanted)
    if len(given) != len(wanted):
        raise InvalidError(
            f"{len(wanted)} questions were asked but {len(given)} answers were given; give one for each, in order",
            questions=wanted,
        )
    return given


def _given_as(question: str, value: Any) -> Given:
    try:
        given: Given = convert(value, Given)  # type: ignore[arg-type]  # to msgspec a union is a type as well
    except InvalidError as error:
        raise InvalidError(f"not an answer to {question!r}: {error.message}", question=question) from None
    return given


def _approval(ask: ApprovalAsk, said: Resolution) -> Answer:
    if said.updated_input is not None:
        if said.action not in (None, "allow"):
            raise InvalidError("an edited input goes with allow", action=said.action)
        return Allowed(ask=ask, updated_input=said.updated_input, reason=said.reason)
    word = said.action or (said.answer or "").strip().lower()
    match word:
        case "allow":
            return Allowed(ask=ask, reason=said.reason)
        case "deny":
            return Denied(ask=ask, message=said.reason.strip() or "A person denied this call.")
        case "ask" if "ask" in ask.shapes:
            return AskedInstead(ask=ask, reason=said.reason.strip() or "A person wants to decide this here.")
        case "":
            raise InvalidError("approval decision action required", choices=sorted(ask.shapes))
        case _:
            raise _wrong_action(ask, word)


def _elicitation(ask: ElicitationAsk, said: Resolution) -> Answer:
    content = said.content if said.content is not None else said.answers if isinstance(said.answers, dict) else None
    if content is not None:
        return Accepted(ask=ask, content=content)
    texts = _form_texts(said)
    match said.action or (texts[0] if len(texts) == 1 and _is_word(ask, texts[0]) else "answer"):
        case "deny" | "decline":
            return Refused(ask=ask, action="decline")
        case "cancel":
            return Refused(ask=ask, action="cancel")
        case "accept" if not texts or said.action is None:
            return Accepted(ask=ask, content={} if ask.form.mode == "url" else _defaults(ask))
        case "accept" | "answer" if texts:
            return Accepted(ask=ask, content=content_from_texts(ask.form.schema, texts))
        case "answer":
            names = [field.name for field in fields_of(ask.form.schema)]
            raise InvalidError("prompt answer required", choices=["accept", "decline", "cancel"], fields=names)
        case other:
            raise _wrong_action(ask, other)


def _form_texts(said: Resolution) -> tuple[str, ...]:
    """One text per field of the form, in order."""
    if isinstance(said.answers, list):
        return tuple(_joined(item) for item in said.answers)
    return (said.answer,) if said.answer is not None else ()


def _joined(given: Given) -> str:
    return ",".join(str(part) for part in given) if isinstance(given, list) else str(given)


def _is_word(ask: ElicitationAsk, text: str) -> bool:
    """Whether a lone `accept`, `decline` or `cancel` is the action and not what is typed into the form."""
    if text not in ("accept", "decline", "cancel"):
        return False
    fields = fields_of(ask.form.schema)
    return len(fields) != 1 or fields[0].kind != "string" or bool(fields[0].choices and text not in fields[0].choices)


def _defaults(ask: ElicitationAsk) -> dict[str, Any]:
    return {field.name: field.default for field in fields_of(ask.form.schema) if field.default is not None}


def _wrong_action(ask: Ask, given: str) -> InvalidError:
    allowed = sorted(ask.shapes)
    return InvalidError(f'"{given}" is not an option here; choose from: {", ".join(allowed)}', choices=allowed)
