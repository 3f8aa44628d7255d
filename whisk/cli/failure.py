"""How a command ends when it does not end well; the exit code is part of the interface.

0 done · 1 refused · 2 wrong usage · 3 daemon unreachable · 130 interrupted.
"""

from __future__ import annotations

from typing import Any

OK, REFUSED, USAGE, UNREACHABLE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 130, 141


class CommandError(Exception):
    """A sentence for stderr, an exit code, and the stable code that `-json` says."""

    exit_code = REFUSED
    code = "failed"


class UsageError(CommandError):
    """The command line itself is wrong; nothing was sent anywhere."""

    exit_code = USAGE


class UnreachableError(CommandError):
    """No daemon answered."""

    exit_code = UNREACHABLE
    code = "unreachable"


class OutputError(CommandError):
    """Stdout does not take what there is to say."""


class RefusedError(CommandError):
    """The daemon said no. `status` is the HTTP status, `code` the stable code, `details` JSON values."""

    def __init__(self, message: str, *, status: int = 0, code: str = "refused", details: dict[str, Any] | None = None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = details or {}


class HelpShown(Exception):
    """Help was asked for and `text` is it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
