"""Refusals as HTTP: the status of every error class in one table, and the one JSON shape of an error.

`{"error": "a sentence", "code": "stable_word", "details": {…}}`, whatever went wrong and whoever noticed: a handler,
the router, the body reader, or the server before there was a request.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from structlog import get_logger

from whisk.errors import (
    ActorCrashedError,
    BusyError,
    CancelledError,
    ConflictError,
    DeadlineError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    RefusedError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    WhiskError,
    WouldDeadlockError,
)
from whisk.values import Record, encode, to_builtins

_log = get_logger("whisk.http")

# A class that is not named here has the status of the nearest parent that is.
STATUS: dict[type[WhiskError], int] = {
    WhiskError: 400,
    RefusedError: 400,
    InvalidError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    GoneError: 410,
    TooLargeError: 413,
    ActorCrashedError: 500,
    WouldDeadlockError: 500,
    BusyError: 503,
    UnavailableError: 503,
    CancelledError: 503,
    DeadlineError: 504,
}

# What is said where no handler was reached: the code and a sentence.
_PROBLEMS: dict[int, tuple[str, str]] = {
    400: ("invalid", "this is not a request that whiskd understands"),
    404: ("not_found", "no such path"),
    405: ("method_not_allowed", "this method is not allowed here"),
    408: ("timeout", "the request did not arrive in time"),
    414: ("too_large", "the request line is longer than 8192 bytes"),
    431: ("too_large", "too many headers, or one that is too long"),
    500: ("internal", "whiskd met an error of its own; its log has the details"),
    503: ("unavailable", "whiskd is stopping"),
}


class ErrorResponse(Record, frozen=True):
    """Why something was refused: a sentence for people, a word that stays, and facts where they help."""

    error: str
    code: str
    details: dict[str, Any] = {}


class RequestTimeoutError(WhiskError):
    """The client began a request and did not send the rest of it."""

    code = "timeout"


STATUS[RequestTimeoutError] = 408


def status_of(error: WhiskError) -> int:
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
    return 400


def status_line(status: int) -> str:
    """`404 Not Found`."""
    return f"{status} {HTTPStatus(status).phrase}"


def shape(message: str, code: str, details: dict[str, Any] | None = None) -> bytes:
    """The bytes of an error. Details that are not JSON values are left out rather than losing the whole answer."""
    facts: dict[str, Any] = {}
    try:
        facts = to_builtins(details or {})
    except (TypeError, ValueError):
        _log.error("error details are not JSON", code=code, fields=sorted(details or ()))
    try:
        return encode(ErrorResponse(error=message, code=code, details=facts))
    except UnicodeEncodeError:
        # A lone surrogate of the caller's own text, quoted back to it; the sentence matters more than the quotation.
        return encode(ErrorResponse(error=message.encode("utf-8", "replace").decode(), code=code))


def problem(status: int, message: str | None = None, **details: Any) -> bytes:
    """The bytes of an error that no `WhiskError` stands for; with no message, the usual sentence of that status."""
    code, sentence = _PROBLEMS.get(status, ("refused", "the request was refused"))
    return shape(message or sentence, code, details)


def refusal(error: WhiskError) -> tuple[int, bytes]:
    return status_of(error), shape(error.message, error.code, error.details)
