"""What a running command may ask and tell a person, in words about the answer and never about a widget."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from whisk.errors import InvalidError
from whisk.values import Record, check_text, convert

TEXT_LIMIT = 65_536


class Choice(Record, frozen=True):
    value: str
    label: str
    description: str = ""


class ChoicePrompt(Record, frozen=True, tag_field="kind", tag="choice"):
    """One of `choices`; the answer is its `value`."""

    message: str
    choices: tuple[Choice, ...]


class TextPrompt(Record, frozen=True, tag_field="kind", tag="text"):
    """A text; a secret one is not shown while it is typed and is stored nowhere."""

    message: str
    secret: bool = False
    placeholder: str = ""


class ConfirmationPrompt(Record, frozen=True, tag_field="kind", tag="confirmation"):
    message: str


Prompt: TypeAlias = ChoicePrompt | TextPrompt | ConfirmationPrompt


class ChoiceAnswer(Record, frozen=True, tag_field="kind", tag="choice"):
    value: str


class TextAnswer(Record, frozen=True, tag_field="kind", tag="text"):
    text: str


class ConfirmationAnswer(Record, frozen=True, tag_field="kind", tag="confirmation"):
    confirmed: bool


Answer: TypeAlias = ChoiceAnswer | TextAnswer | ConfirmationAnswer


class InfoNotice(Record, frozen=True, tag_field="kind", tag="info"):
    message: str


class ProgressNotice(Record, frozen=True, tag_field="kind", tag="progress"):
    """`fraction` is 0 to 1, where it is known."""

    message: str
    fraction: float | None = None


class HandoffNotice(Record, frozen=True, tag_field="kind", tag="handoff"):
    """Open `url`, and enter `code` there when there is one."""

    message: str
    url: str
    code: str = ""


class SuccessNotice(Record, frozen=True, tag_field="kind", tag="success"):
    message: str


Notice: TypeAlias = InfoNotice | ProgressNotice | HandoffNotice | SuccessNotice
Settlement = Literal["handled", "cancelled", "failed"]
"""How an execution ended for the person who watched it."""


def parse_prompt(value: Any) -> Prompt:
    """A prompt from its record or its JSON value. Raises `InvalidError` that names the place."""
    prompt: Prompt = convert(_plain(value), ChoicePrompt | TextPrompt | ConfirmationPrompt)  # type: ignore[arg-type]
    check_text(prompt.message, "message", limit=TEXT_LIMIT, empty=False)
    match prompt:
        case ChoicePrompt(choices=choices):
            if not choices:
                raise InvalidError("a choice prompt needs choices", field="choices")
            for index, choice in enumerate(choices):
                check_text(choice.value, f"choices[{index}].value", empty=False)
                check_text(choice.label, f"choices[{index}].label", empty=False)
                check_text(choice.description, f"choices[{index}].description")
            if len({choice.value for choice in choices}) < len(choices):
                raise InvalidError("two choices have the same value", field="choices")
        case TextPrompt(placeholder=placeholder):
            check_text(placeholder, "placeholder")
        case ConfirmationPrompt():
            pass
    return prompt


def parse_notice(value: Any) -> Notice:
    """A notice from its record or its JSON value. Raises `InvalidError`; a handoff leads to http or https only."""
    kinds = InfoNotice | ProgressNotice | HandoffNotice | SuccessNotice
    notice: Notice = convert(_plain(value), kinds)  # type: ignore[arg-type]
    check_text(notice.message, "message", limit=TEXT_LIMIT, empty=False)
    match notice:
        case ProgressNotice(fraction=fraction) if fraction is not None and not 0 <= fraction <= 1:
            raise InvalidError(f"a fraction is between 0 and 1, not {fraction}", field="fraction")
        case HandoffNotice(url=url, code=code):
            check_text(url, "url", limit=TEXT_LIMIT)
            check_text(code, "code")
            if not _leads_to_the_web(url):
                raise InvalidError(f"a handoff leads to an http or https address, not {url!r}", field="url")
        case _:
            pass
    return notice


def parse_answer(value: Any, prompt: Prompt) -> Answer:
    """An answer that fits `prompt`, from its record or its JSON value. Raises `InvalidError` that says what would."""
    kinds = ChoiceAnswer | TextAnswer | ConfirmationAnswer
    answer: Answer = convert(_plain(value), kinds)  # type: ignore[arg-type]
    match prompt, answer:
        case ChoicePrompt(choices=choices), ChoiceAnswer(value=chosen):
            known = [choice.value for choice in choices]
            if chosen not in known:
                raise InvalidError(f"{chosen!r} is not among the choices: {', '.join(known)}", field="value")
        case TextPrompt(), TextAnswer(text=text):
            check_text(text, "text", limit=TEXT_LIMIT)
        case ConfirmationPrompt(), ConfirmationAnswer():
            pass
        case _:
            wanted, given = kind_of(prompt), kind_of(answer)
            raise InvalidError(f"the question takes a {wanted} answer, not a {given} one", field="kind")
    return answer


def value_of(answer: Answer) -> str | bool:
    """What the handler gets: the chosen value, the text, or whether it was confirmed."""
    match answer:
        case ChoiceAnswer(value=value):
            return value
        case TextAnswer(text=text):
            return text
        case ConfirmationAnswer(confirmed=confirmed):
            return confirmed


def kind_of(value: Prompt | Answer | Notice) -> str:
    """`choice`, `text`, …: the word on the wire."""
    return str(type(value).__struct_config__.tag)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value


def _leads_to_the_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False
