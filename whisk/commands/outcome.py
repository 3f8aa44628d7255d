"""How an execution ended: one of six, as a value. No stack ever crosses."""

from __future__ import annotations

from typing import Any, TypeAlias

from whisk.commands.failure import CommandError, PromptCancelledError, sentence
from whisk.values import Record

COMMAND_FAILED = "command_failed"
CANCELLED = "cancelled"


class ErrorInfo(Record, frozen=True):
    """`details` is frozen JSON, left out when there is none."""

    code: str
    message: str
    details: Any = None


class Handled(Record, frozen=True, tag_field="status", tag="handled"):
    """The handler has returned `result`. That says nothing of physical work or of a workflow that it began."""

    result: Any = None


class Unavailable(Record, frozen=True, tag_field="status", tag="unavailable"):
    command_id: str
    reason: str


class Failed(Record, frozen=True, tag_field="status", tag="failed"):
    error: ErrorInfo


class Missing(Record, frozen=True, tag_field="status", tag="missing"):
    command_id: str


class Invalid(Record, frozen=True, tag_field="status", tag="invalid"):
    """The command id was blank."""


class Closed(Record, frozen=True, tag_field="status", tag="closed"):
    """The runtime was closed before this execution began."""


Outcome: TypeAlias = Handled | Unavailable | Failed | Missing | Invalid | Closed


def failure_of(error: Exception) -> ErrorInfo:
    """A handler's exception as data. Only a `CommandError` chooses its code; one that was called off is `cancelled`."""
    if isinstance(error, CommandError):
        return ErrorInfo(code=error.code, message=sentence(error), details=error.details)
    if isinstance(error, PromptCancelledError):
        return ErrorInfo(code=CANCELLED, message=sentence(error))
    return ErrorInfo(code=COMMAND_FAILED, message=sentence(error))
