"""What the command runtime refuses, and what a handler raises to say why it failed."""

from __future__ import annotations

from typing import Any

from whisk.commands.data import freeze
from whisk.errors import CancelledError, ConflictError, InvalidError, RefusedError, UnavailableError, WhiskError

MESSAGE_LIMIT = 2000
"""Characters of a failure's sentence that cross a result."""


class ContributionError(WhiskError):
    """A contribution was not admitted, and nothing of it is live. `details` names both parties where there are two."""


class InvalidContributionError(ContributionError, InvalidError):
    """A field is blank or malformed, or a command lies outside the namespace it is contributed to."""

    code = "invalid_contribution"


class ContributionConflictError(ContributionError, ConflictError):
    """A namespace, a command id, or a slash alias of one scope is somebody's already."""

    code = "contribution_conflict"


class RuntimeClosedError(UnavailableError):
    """The runtime was closed; it admits nothing more."""

    code = "runtime_closed"


class PromptCancelledError(CancelledError):
    """The person, or whoever started the execution, called it off while a question was open."""

    code = "cancelled"


class RetryRefusedError(RefusedError):
    """The execution still runs, or is not there to be repeated."""

    code = "retry_refused"


class CommandError(Exception):
    """Raised by a handler to choose the failure's code and to attach JSON details.

    The code is a stable word for programs, the message a sentence for people. Details that are no JSON value are a
    mistake of the handler, and refused here where it can be seen.
    """

    def __init__(self, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        if not code.strip():
            raise InvalidError("the code of a command error is blank", field="code")
        self.code = code
        self.message = message
        self.details = freeze(details, "details")


def sentence(error: BaseException) -> str:
    """What an exception says, fit to cross a result: its first line, never a stack; its class when it says nothing."""
    text = error.message if isinstance(error, (CommandError, WhiskError)) else str(error)
    lines = text.strip().splitlines()
    first = lines[0].strip() if lines else ""
    # A lone surrogate could not be sent on.
    return first[:MESSAGE_LIMIT].encode("utf-8", "replace").decode() or type(error).__name__
