"""The command runtime: what is contributed to it, shows, and runs, from any thread or greenlet.

Its lock is held for bookkeeping only: handlers, availability readers, presenters and listeners are all called without
it, so they may call the runtime themselves.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from whisk.commands.command import (
    AVAILABLE,
    HUMAN_ORIGINS,
    Availability,
    Command,
    ExecutionInput,
    frozen_input,
    unavailable,
)
from whisk.commands.failure import RuntimeClosedError, sentence
from whisk.commands.graph import Contribution, Entry, Graph, draft
from whisk.commands.interaction import Execution, Presenter, Session
from whisk.commands.lease import Lease
from whisk.commands.outcome import (
    CANCELLED,
    COMMAND_FAILED,
    Closed,
    ErrorInfo,
    Failed,
    Handled,
    Invalid,
    Missing,
    Outcome,
    Unavailable,
    failure_of,
)
from whisk.commands.projection import SURFACES
from whisk.commands.row import Placed, Row, with_availability
from whisk.commands.snapshot import EMPTY, Snapshot

_log = logging.getLogger("whisk.commands")
_PROGRAMMATIC: ExecutionInput[Any] = ExecutionInput("programmatic")
PRESENTER_FAILED = "presenter_failed"

Disposer = Callable[[], None]
_Facts = dict[str, Availability]


class CommandRuntime:
    """One graph of commands. `close()` ends it; what was begun before still comes to its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graph = Graph()
        self._closed = False
        self._listeners: dict[object, Callable[[], None]] = {}
        self._presenters: dict[object, Presenter] = {}
        self._shown: tuple[int, _Facts, Snapshot] = (0, {}, EMPTY)

    # -- contributions -----------------------------------------------------------------------------------------------

    def contribute(
        self, source_id: str, namespace: str, commands: Sequence[Command[Any, Any]], scope: str | None = None
    ) -> Lease:
        """Admit all of `commands`, or none. The lease that comes back is for exactly this contribution.

        Raises `InvalidContributionError` for a blank or malformed field, `ContributionConflictError` for what is
        somebody's already, and `RuntimeClosedError`.
        """
        new = draft(source_id, namespace, commands, scope)
        with self._lock:
            if self._closed:
                raise RuntimeClosedError("the command runtime is closed", source=source_id)
            self._graph.admit(new)
        self._announce()
        return Lease(new, self._swap, self._remove, self._holds)

    def snapshot(self) -> Snapshot:
        """What every surface shows now; availability is read again at each call."""
        with self._lock:
            if self._closed:
                return EMPTY
            generation = self._graph.generation
            readers = self._graph.readers()
            tables = {surface: self._graph.table(surface) for surface in SURFACES}
        facts = {command.id: fact for command in readers if not (fact := read_availability(command)).available}
        with self._lock:
            if self._shown[:2] == (generation, facts):
                return self._shown[2]
        built: Any = {surface: _rows(table, facts) for surface, table in tables.items()}
        snapshot = Snapshot(**built)
        with self._lock:
            if self._shown[:2] == (generation, facts):
                return self._shown[2]
            if not self._closed and self._graph.generation == generation:
                self._shown = (generation, facts, snapshot)
        return snapshot

    def subscribe(self, listener: Callable[[], None]) -> Disposer:
        """Call `listener` after every change of the commands, in whoever made it. Returns what ends that."""
        return self._register(self._listeners, listener)

    # -- execution ---------------------------------------------------------------------------------------------------

    def present(self, presenter: Presenter) -> Disposer:
        """Let `presenter` open the interaction of every execution a person starts. The newest wins until disposed."""
        return self._register(self._presenters, presenter)

    def execute(self, command_id: str, input: ExecutionInput[Any] = _PROGRAMMATIC) -> Outcome:
        """Run a command in the calling thread or greenlet and return how it ended.

        Raises `InvalidError` for arguments that are no JSON. What is no `Exception` (a greenlet being killed, Ctrl-C)
        passes through, and the interaction is settled as cancelled.
        """
        begun = self._begin(command_id, input)
        if not isinstance(begun, _Begun):
            return begun
        with begun:
            result = begun.command.handler(begun.input)
            if inspect.isawaitable(result):
                if inspect.iscoroutine(result):
                    result.close()
                raise TypeError(f"{command_id} is asynchronous: run it with execute_async")
            begun.result = result
        return begun.outcome

    async def execute_async(self, command_id: str, input: ExecutionInput[Any] = _PROGRAMMATIC) -> Outcome:
        """`execute` for handlers that return awaitables; others run where this is awaited, and block it."""
        begun = self._begin(command_id, input)
        if not isinstance(begun, _Begun):
            return begun
        with begun:
            result = begun.command.handler(begun.input)
            begun.result = await result if inspect.isawaitable(result) else result
        return begun.outcome

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release every contribution. Idempotent; executions that have begun go on to their end."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            changed = bool(self._graph.entries)
            self._graph = Graph()
            self._shown = (0, {}, EMPTY)
            self._presenters.clear()
        if changed:
            self._announce()
        with self._lock:
            self._listeners.clear()

    @property
    def closed(self) -> bool:
        return self._closed

    # -- within ------------------------------------------------------------------------------------------------------

    def _begin(self, command_id: str, input: ExecutionInput[Any]) -> _Begun | Outcome:
        given = frozen_input(input)
        with self._lock:
            closed, entry = self._closed, self._graph.entries.get(command_id)
            presenter = next(reversed(self._presenters.values()), None)
        if closed:
            return Closed()
        if not command_id.strip():
            return Invalid()
        if entry is None:
            return Missing(command_id=command_id)
        fact = read_availability(entry.command)
        if not fact.available:
            return Unavailable(command_id=command_id, reason=fact.reason)
        if given.cancellation.cancelled:
            return Failed(ErrorInfo(code=CANCELLED, message=given.cancellation.reason or "cancelled before it began"))
        if given.interaction is not None or presenter is None or given.origin not in HUMAN_ORIGINS:
            return _Begun(entry, given, None)
        try:
            session = presenter(self._execution(entry, given))
        except Exception as error:  # noqa: BLE001 - a broken screen must not run a command that expects to ask first
            _log.exception("a presenter could not open an interaction for %s", command_id)
            return Failed(ErrorInfo(code=PRESENTER_FAILED, message=f"nobody can be asked: {sentence(error)}"))
        return _Begun(entry, replace(given, interaction=session), session)

    def _execution(self, entry: Entry, given: ExecutionInput[Any]) -> Execution:
        command = entry.command
        return Execution(
            command_id=command.id,
            title=command.title,
            origin=given.origin,
            arguments=given.arguments,
            cancellation=given.cancellation,
            # A call that was called off would end at once if it kept its signal.
            retry=lambda: self.execute(command.id, ExecutionInput(given.origin, given.arguments)),
        )

    def _swap(self, old: Contribution, commands: Sequence[Command[Any, Any]]) -> Contribution | None:
        if not self._holds(old):
            return None
        new = draft(old.source_id, old.namespace, commands, old.scope)
        with self._lock:
            if old not in self._graph:
                return None
            self._graph.admit(new, instead_of=old)
        self._announce()
        return new

    def _remove(self, contribution: Contribution) -> bool:
        with self._lock:
            removed = self._graph.remove(contribution)
        if removed:
            self._announce()
        return removed

    def _holds(self, contribution: Contribution) -> bool:
        with self._lock:
            return contribution in self._graph

    def _register(self, table: dict[object, Any], callback: Any) -> Disposer:
        key = object()
        with self._lock:
            if not self._closed:
                table[key] = callback

        def dispose() -> None:
            with self._lock:
                table.pop(key, None)

        return dispose

    def _announce(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            try:
                listener()
            except Exception:  # noqa: BLE001 - one listener's fault is neither the contributor's nor the others'
                _log.exception("a listener of the command runtime failed")


class _Begun:
    """An execution under way, as a context: whatever ends it becomes the outcome, and settles its interaction."""

    def __init__(self, entry: Entry, input: ExecutionInput[Any], session: Session | None) -> None:
        self.command = entry.command
        self.input = input
        self.result: Any = None
        self.outcome: Outcome = Handled()
        self._session = session

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> bool:
        if error is None:
            self.outcome = Handled(result=self.result)
            self._settle()
            return True
        if isinstance(error, Exception):
            self.outcome = Failed(failure_of(error))
            if self.outcome.error.code == COMMAND_FAILED:
                _log.warning("the handler of %s failed", self.command.id, exc_info=error)
            self._settle()
            return True
        self.outcome = Failed(ErrorInfo(code=CANCELLED, message="its worker was ended"))
        self._settle()
        return False

    def _settle(self) -> None:
        if self._session is None:
            return
        try:
            match self.outcome:
                case Failed(error=error):
                    cancelled = error.code == CANCELLED or self.input.cancellation.cancelled
                    self._session.settle("cancelled" if cancelled else "failed", error)
                case _:
                    self._session.settle("handled")
        except Exception:  # noqa: BLE001 - the command has run; a screen that is gone does not change how it ended
            _log.exception("the interaction of %s could not be settled", self.command.id)


def _rows(table: Sequence[Placed], facts: _Facts) -> tuple[Row, ...]:
    if not facts:
        return tuple([placed.row for placed in table])
    return tuple([with_availability(placed.row, facts.get(placed.command_id, AVAILABLE)) for placed in table])


def read_availability(command: Command[Any, Any]) -> Availability:
    """What the command's reader says now. One that fails makes it unavailable, since nobody knows."""
    if command.availability is None:
        return AVAILABLE
    try:
        # Contributions come from anywhere, so what a reader returns is looked at.
        fact = cast("object", command.availability())
    except Exception:  # noqa: BLE001 - a contributor's reader must not break the others' snapshot
        _log.warning("the availability of %s cannot be read", command.id, exc_info=True)
        return unavailable("its availability cannot be read")
    if not isinstance(fact, Availability):
        return unavailable(f"its availability is a {type(fact).__name__}, not an Availability")
    return AVAILABLE if fact.available else fact
