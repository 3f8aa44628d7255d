"""The group writer: many writes, one transaction, one sync to disk.

Plain and without a hub: `whisk.actors.journal` runs it on its own thread. A write is a function of the database; it
touches nothing else, because it may run again when a neighbour's failure undoes the group, and it creates no tables,
because those are not counted as changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from peewee import Database, SqliteDatabase

from whisk.storage.database import Store
from whisk.storage.failure import storage_error

T = TypeVar("T")
Write = Callable[[Database], T]


class Outcome(NamedTuple):
    """What became of one write: `error` is None exactly when it is committed."""

    value: Any
    error: BaseException | None


class GroupWriter:
    """Owns the store's writing connection; used by one thread at a time. The counters may be read from any thread."""

    def __init__(self, store: Store) -> None:
        self._path = store.path
        self._db = store.writer
        sqlite = isinstance(self._db, SqliteDatabase)
        self._lock_type = ("IMMEDIATE",) if sqlite else ()
        self._counts_changes = sqlite
        self.groups = 0
        self.writes = 0
        self.failed = 0
        self.largest_group = 0
        self.last_commit_ms = 0.0

    def run(self, writes: Sequence[Write[Any]]) -> list[Outcome]:
        """Write all of `writes`, in order, in one transaction; one outcome each, known only after the commit.

        A write that raises undoes itself alone. If the whole transaction is lost half-way (SQLite gives it up when
        the disk is full), each write is tried again by itself, so that only those fail that cannot be written. A
        commit that fails fails them all. Never raises, whatever a write does. Blocks.
        """
        outcomes: list[Outcome] | None = None
        if len(writes) > 1:
            # Savepoints would cost a tenth of all writes, and make the full-text index flush at each of them. So the
            # group runs without, and is undone and repeated with them only when a write fails half-way.
            if self._counts_changes:
                outcomes = self._together(writes, self._unguarded)
            if outcomes is None:
                outcomes = self._together(writes, self._guarded)
        if outcomes is None:
            outcomes = [self._alone(write) for write in writes]
        self.writes += len(outcomes)
        self.failed += sum(outcome.error is not None for outcome in outcomes)
        self.largest_group = max(self.largest_group, len(outcomes))
        return outcomes

    def write(self, write: Write[T]) -> T:
        """One write by itself: its value, or its error raised. For tools and tests that have no journal actor."""
        (outcome,) = self.run([write])
        if outcome.error is not None:
            raise outcome.error
        return outcome.value  # type: ignore[no-any-return]

    def _alone(self, write: Write[Any]) -> Outcome:
        try:
            self._begin()
            value = write(self._db)
            self._commit()
        except BaseException as error:  # noqa: BLE001 (it is the caller's, and goes to the caller)
            self._undo()
            return Outcome(None, storage_error(error, self._path))
        return Outcome(value, None)

    def _together(
        self, writes: Sequence[Write[Any]], attempt: Callable[[Write[Any]], Outcome | None]
    ) -> list[Outcome] | None:
        """None when `attempt` could not keep one write apart from the others: then nothing of the group is stored."""
        outcomes: list[Outcome] = []
        try:
            self._begin()
            for write in writes:
                outcome = attempt(write)
                if outcome is None:
                    self._undo()
                    return None
                outcomes.append(outcome)
            self._commit()
        except BaseException as error:  # noqa: BLE001 (begin or commit failed: everyone in the group is told)
            self._undo()
            failure = storage_error(error, self._path)
            errors = [outcome.error or failure for outcome in outcomes]
            return [Outcome(None, error) for error in errors + [failure] * (len(writes) - len(errors))]
        return outcomes

    def _unguarded(self, write: Write[Any]) -> Outcome | None:
        connection = self._db.connection()
        before = connection.total_changes
        try:
            return Outcome(write(self._db), None)
        except BaseException as error:  # noqa: BLE001 (it is the caller's, and goes to the caller)
            # Most refusals come before anything was changed: then there is nothing to undo.
            if not connection.in_transaction or connection.total_changes != before:
                return None
            return Outcome(None, storage_error(error, self._path))

    def _guarded(self, write: Write[Any]) -> Outcome | None:
        db = self._db
        db.execute_sql("SAVEPOINT one_write")
        try:
            outcome = Outcome(write(db), None)
        except BaseException as error:  # noqa: BLE001 (it is the caller's, and goes to the caller)
            if self._counts_changes and not db.connection().in_transaction:
                return None
            db.execute_sql("ROLLBACK TO SAVEPOINT one_write")
            outcome = Outcome(None, storage_error(error, self._path))
        db.execute_sql("RELEASE SAVEPOINT one_write")
        return outcome

    def _begin(self) -> None:
        self._db.begin(*self._lock_type)
        # peewee must know, so that an `atomic()` inside a write becomes a savepoint.
        self._db.push_transaction(self)

    def _commit(self) -> None:
        started = time.perf_counter()
        self._db.commit()
        self._db.pop_transaction()
        self.last_commit_ms = (time.perf_counter() - started) * 1000
        self.groups += 1

    def _undo(self) -> None:
        db = self._db
        while db.transaction_depth():
            db.pop_transaction()
        try:
            if not self._counts_changes or db.connection().in_transaction:
                db.rollback()
        except Exception:  # noqa: BLE001 (a connection that cannot even roll back is replaced at the next use)
            db.close()
