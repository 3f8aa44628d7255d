"""One interaction as a store: what a person is asked and told, whatever draws it.

A renderer reads `snapshot()`, listens, and gives back answers. Everything that goes in is parsed by the wire's own
rules, so a renderer never sees a prompt, and a handler never an answer, that does not fit.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any, Literal, Protocol, cast, overload

import msgspec

from whisk.commands.failure import PromptCancelledError, RetryRefusedError
from whisk.commands.interaction import Execution, Session
from whisk.commands.outcome import ErrorInfo, Outcome
from whisk.commands.prompt import (
    ChoicePrompt,
    ConfirmationPrompt,
    Notice,
    ProgressNotice,
    Prompt,
    Settlement,
    TextPrompt,
    parse_answer,
    parse_notice,
    parse_prompt,
    value_of,
)
from whisk.errors import ConflictError, GoneError, RefusedError
from whisk.values import Record

NOTICES_KEPT = 200
_log = logging.getLogger("whisk.commands")


class Waiter(Protocol):
    """How a handler waits for an answer. A program on gevent gives its own kind, so that only a greenlet waits."""

    def wait(self) -> object: ...
    def set(self) -> object: ...


class OpenPrompt(Record, frozen=True):
    """The question that waits; `number` counts them, so that an answer is to this one and no other."""

    number: int
    prompt: Prompt


class HostSnapshot(Record, frozen=True, kw_only=True):
    """What a renderer draws. The same object until something changes.

    `notices` are the newest, oldest first; progress replaces the progress right before it. After the end `settlement`
    says how, and `can_retry` whether the same execution may be run again.
    """

    status: Literal["idle", "running", "settled"]
    command_id: str | None = None
    title: str | None = None
    open: OpenPrompt | None = None
    notices: tuple[Notice, ...] = ()
    settlement: Settlement | None = None
    error: ErrorInfo | None = None
    can_retry: bool = False


class InteractionHost:
    """A store for one interaction at a time; `runtime.present(host.begin)` mounts it.

    `begin` refuses while another execution runs in it. Listeners are called in whoever changed something, outside its
    lock.
    """

    def __init__(self, waiter: Callable[[], Waiter] = threading.Event) -> None:
        self._lock = threading.Lock()
        self._waiter = waiter
        self._listeners: dict[object, Callable[[], None]] = {}
        self._snapshot = HostSnapshot(status="idle")
        self._session: _Session | None = None
        self._execution: Execution | None = None
        self._count = 0

    def snapshot(self) -> HostSnapshot:
        return self._snapshot

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Returns what ends the subscription."""
        key = object()
        self._listeners[key] = listener
        return lambda: cast("None", self._listeners.pop(key, None))

    def begin(self, execution: Execution) -> Session:
        """Open a session; the presenter's part."""
        with self._lock:
            if self._snapshot.status == "running":
                raise RefusedError(f"{self._snapshot.title} is still running here", command=self._snapshot.command_id)
            session = self._session = _Session(self, execution)
            self._execution = execution
            self._snapshot = HostSnapshot(status="running", command_id=execution.command_id, title=execution.title)
        self._announce()
        return session

    def answer(self, number: int, answer: Any) -> None:
        """Answer the open prompt: a record or its JSON value.

        Raises `InvalidError` when it does not fit (the prompt stays open), `GoneError` when that prompt is not open any
        more.
        """
        with self._lock:
            question = self._question(number)
            question.give(value_of(parse_answer(answer, question.prompt)))
            self._close_question()
        question.wake()
        self._announce()

    def cancel(self, reason: str = "cancelled by the person") -> bool:
        """Call the running execution off: its open prompt ends, its handler is told. False when none runs."""
        with self._lock:
            execution = self._execution if self._snapshot.status == "running" else None
        if execution is None:
            return False
        execution.cancellation.cancel(reason)
        return True

    def retry(self) -> Outcome:
        """Run the execution that ended here again, in the caller. Raises `RetryRefusedError`."""
        with self._lock:
            execution = self._execution
            if execution is None or self._snapshot.status != "settled":
                raise RetryRefusedError("there is nothing here to repeat: it has not ended, or never began")
        return execution.retry()

    # -- for the session ---------------------------------------------------------------------------------------------

    def ask(self, session: _Session, value: Any) -> _Question:
        prompt = parse_prompt(value)
        with self._lock:
            self._need(session)
            if self._snapshot.open is not None:
                raise ConflictError("a question is open already; one is asked at a time", command=session.command_id)
            self._count += 1
            question = session.question = _Question(self._count, prompt, self._waiter())
            self._show(open=OpenPrompt(number=question.number, prompt=prompt))
        self._announce()
        return question

    def drop(self, session: _Session, question: _Question) -> None:
        """Nobody will answer this question any more."""
        with self._lock:
            if session.question is not question:
                return
            self._close_question()
        self._announce()

    def tell(self, session: _Session, value: Any) -> None:
        notice = parse_notice(value)
        with self._lock:
            self._need(session)
            told = self._snapshot.notices
            if isinstance(notice, ProgressNotice) and told and isinstance(told[-1], ProgressNotice):
                told = told[:-1]
            self._show(notices=(*told, notice)[-NOTICES_KEPT:])
        self._announce()

    def end(self, session: _Session, settlement: Settlement, error: ErrorInfo | None) -> None:
        with self._lock:
            if self._session is not session or self._snapshot.status != "running":
                return
            question, session.question = session.question, None
            self._show(status="settled", open=None, settlement=settlement, error=error, can_retry=True)
        if question is not None:
            question.wake()
        self._announce()

    # -- within, under the lock --------------------------------------------------------------------------------------

    def _need(self, session: _Session) -> None:
        if self._session is not session or self._snapshot.status != "running":
            raise GoneError("the execution has ended; nobody is there to be asked or told", command=session.command_id)

    def _question(self, number: int) -> _Question:
        question = self._session.question if self._session is not None else None
        if question is None or question.number != number:
            raise GoneError(f"question {number} is not open", number=number)
        return question

    def _close_question(self) -> None:
        assert self._session is not None, "a question belongs to a session"
        self._session.question = None
        self._show(open=None)

    def _show(self, **changes: Any) -> None:
        self._snapshot = msgspec.structs.replace(self._snapshot, **changes)

    def _announce(self) -> None:
        for listener in list(self._listeners.values()):
            try:
                listener()
            except Exception:  # noqa: BLE001 - a renderer's fault is not the handler's
                _log.exception("a listener of an interaction failed")


class _Question:
    """A question that waits for one answer, from whatever thread it comes."""

    def __init__(self, number: int, prompt: Prompt, waiter: Waiter) -> None:
        self.number = number
        self.prompt = prompt
        self.value: str | bool | None = None
        self._waiter = waiter
        self._callbacks: list[Callable[[], None]] = []
        self._woken = False

    def give(self, value: str | bool) -> None:
        self.value = value

    def wake(self) -> None:
        self._woken = True
        self._waiter.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def wait(self) -> None:
        self._waiter.wait()

    async def wait_async(self) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def from_anywhere() -> None:
            loop.call_soon_threadsafe(finish)

        self._callbacks.append(from_anywhere)
        # It may have been answered between the question and this line.
        if not self._woken:
            await done


class _Session:
    def __init__(self, host: InteractionHost, execution: Execution) -> None:
        self.command_id = execution.command_id
        self.question: _Question | None = None
        self._host = host
        self._cancellation = execution.cancellation

    @overload
    def prompt(self, prompt: ChoicePrompt | TextPrompt) -> str: ...
    @overload
    def prompt(self, prompt: ConfirmationPrompt) -> bool: ...
    def prompt(self, prompt: Prompt) -> str | bool:
        self._cancellation.check()
        question = self._host.ask(self, prompt)
        forget = self._cancellation.on_cancel(question.wake)
        try:
            question.wait()
        finally:
            forget()
            self._host.drop(self, question)
        return self._value(question)

    @overload
    async def prompt_async(self, prompt: ChoicePrompt | TextPrompt) -> str: ...
    @overload
    async def prompt_async(self, prompt: ConfirmationPrompt) -> bool: ...
    async def prompt_async(self, prompt: Prompt) -> str | bool:
        self._cancellation.check()
        question = self._host.ask(self, prompt)
        forget = self._cancellation.on_cancel(question.wake)
        try:
            await question.wait_async()
        finally:
            forget()
            self._host.drop(self, question)
        return self._value(question)

    def notify(self, notice: Notice) -> None:
        self._host.tell(self, notice)

    def settle(self, settlement: Settlement, error: ErrorInfo | None = None) -> None:
        self._host.end(self, settlement, error)

    def _value(self, question: _Question) -> str | bool:
        if question.value is None:
            raise PromptCancelledError(self._cancellation.reason or "the execution was cancelled")
        return question.value
