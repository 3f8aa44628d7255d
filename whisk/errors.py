"""Every refusal whisk can give, in one tree.

A `WhiskError` is an answer, not a fault: it says what was wrong, where, and what would be right. It carries a stable
`code`, a sentence, and `details` (JSON values) for programs. Anything else that is raised is a bug and is treated as a
crash by the supervisor. The HTTP status of each class is chosen in one table, `whisk.http.failure`.
"""

from __future__ import annotations

from typing import Any, ClassVar


class WhiskError(Exception):
    """A refusal with a stable code; `details` holds JSON values only."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions travel between nodes with their handles; the default would lose the details.
        return (_rebuild, (type(self), self.message, self.details))


def _rebuild(cls: type[WhiskError], message: str, details: dict[str, Any]) -> WhiskError:
    return cls(message, **details)


class RefusedError(WhiskError):
    """The rules of the domain do not allow this now (a wrong stage, a run that has ended)."""


class InvalidError(WhiskError):
    """A value is malformed, missing, or of the wrong type."""

    code = "invalid"


class NotFoundError(WhiskError):
    code = "not_found"


class ConflictError(WhiskError):
    """Someone else was first; `details` names the winner."""

    code = "conflict"


class GoneError(WhiskError):
    """The thing existed once and can never be acted on again."""

    code = "gone"


class TooLargeError(WhiskError):
    code = "too_large"


class UnauthorizedError(WhiskError):
    """No credential, or a wrong one."""

    code = "unauthorized"


class ForbiddenError(WhiskError):
    """A good credential, but not from there or not for that (a foreign Host or Origin, a human-only action)."""

    code = "forbidden"


class BusyError(WhiskError):
    """A bounded queue is full; the same request may succeed a moment later."""

    code = "busy"


class UnavailableError(WhiskError):
    """A part that is needed is not running (the pty host, the database, an actor that was stopped)."""

    code = "unavailable"


class StorageError(UnavailableError):
    """The database cannot be used; `details` holds its path and what SQLite said."""

    code = "storage"


class NotADatabaseError(StorageError):
    """The file is not a database, or is damaged."""

    code = "not_a_database"


class NewerSchemaError(StorageError):
    """A newer whisk wrote this database; `details.migrations` names what this one does not know."""

    code = "newer_schema"


class DiskFullError(StorageError):
    code = "disk_full"


class ReadOnlyError(StorageError):
    """The database file or its folder cannot be written."""

    code = "read_only"


class DeadlineError(WhiskError):
    """The answer did not come within the time that the caller gave; the work may still happen."""

    code = "deadline"


class NoSuchActorError(NotFoundError):
    code = "no_such_actor"


class ActorDeadError(UnavailableError):
    """The actor ended before it answered."""

    code = "actor_dead"


class ActorCrashedError(WhiskError):
    """The actor met a bug while handling this message; the supervisor has been told."""

    code = "actor_crashed"


class WouldDeadlockError(WhiskError):
    """An actor asked itself, or an actor that is already waiting for it."""

    code = "would_deadlock"


class CancelledError(WhiskError):
    code = "cancelled"


class SpawnError(RefusedError):
    """A terminal's program could not be started; `details.reason` says why (`executable_not_found`, …)."""

    code = "spawn_failed"


class TerminalEndedError(RefusedError):
    """The terminal has ended; `details.seen` holds what it printed last where that helps."""

    code = "terminal_ended"


class GitError(RefusedError):
    """Git did not do what was asked; `details.reason` says why where a program may act on it (`git_missing`,
    `not_a_repository`, `no_commits`, …), `details.said` holds git's own words.
    """

    code = "git_failed"
