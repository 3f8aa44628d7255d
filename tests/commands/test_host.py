"""The store of one interaction, as a renderer and a handler meet in it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.commands.shelf import command
from whisk.commands import (
    Cancellation,
    Choice,
    ChoicePrompt,
    CommandError,
    CommandRuntime,
    ErrorInfo,
    ExecutionInput,
    Failed,
    Handled,
    InfoNotice,
    InteractionHost,
    ProgressNotice,
    TextPrompt,
)
from whisk.commands.failure import RetryRefusedError
from whisk.errors import ConflictError, GoneError, InvalidError

COLOURS = ChoicePrompt(message="Colour?", choices=(Choice(value="r", label="Red"), Choice(value="b", label="Blue")))


class House:
    """A runtime with one host, and a command that does what a test says, in a thread of its own."""

    def __init__(self) -> None:
        self.runtime = CommandRuntime()
        self.host = InteractionHost()
        self.runtime.present(self.host.begin)
        self.changed = threading.Condition()
        self.host.subscribe(self._notify)
        self.outcomes: list[Any] = []

    def _notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def run(self, handler: Any, arguments: Any = None, cancellation: Cancellation | None = None) -> threading.Thread:
        self.runtime.contribute("s", "a", [command("a.x", handler)])
        given: ExecutionInput[Any] = ExecutionInput("palette", arguments, cancellation or Cancellation())
        worker = threading.Thread(target=lambda: self.outcomes.append(self.runtime.execute("a.x", given)))
        worker.start()
        return worker

    def until(self, what: Any) -> Any:
        """The host's snapshot as soon as `what` holds of it."""
        with self.changed:
            assert self.changed.wait_for(lambda: what(self.host.snapshot()), 10)
        return self.host.snapshot()


@pytest.fixture
def house() -> House:
    return House()


def ask(input: ExecutionInput[Any]) -> Any:
    assert input.interaction is not None
    return input.interaction.prompt(COLOURS)


def test_a_question_waits_until_it_is_answered(house: House) -> None:
    worker = house.run(ask)
    shown = house.until(lambda snapshot: snapshot.open)
    assert (shown.status, shown.title, shown.open.prompt) == ("running", "A.X", COLOURS)
    house.host.answer(shown.open.number, {"kind": "choice", "value": "b"})
    worker.join(10)
    assert house.outcomes == [Handled(result="b")]
    assert (house.host.snapshot().status, house.host.snapshot().settlement) == ("settled", "handled")


def test_an_answer_that_does_not_fit_says_what_would_and_the_question_stays(house: House) -> None:
    worker = house.run(ask)
    number = house.until(lambda snapshot: snapshot.open).open.number
    with pytest.raises(InvalidError, match="not among the choices: r, b"):
        house.host.answer(number, {"kind": "choice", "value": "green"})
    with pytest.raises(InvalidError, match="takes a choice answer, not a text one"):
        house.host.answer(number, {"kind": "text", "text": "r"})
    with pytest.raises(InvalidError):
        house.host.answer(number, {"kind": "dance"})
    assert house.host.snapshot().open is not None
    house.host.answer(number, {"kind": "choice", "value": "r"})
    worker.join(10)


def test_an_answer_to_an_earlier_question_answers_no_later_one(house: House) -> None:
    def twice(input: ExecutionInput[Any]) -> Any:
        return [ask(input), ask(input)]

    worker = house.run(twice)
    first = house.until(lambda snapshot: snapshot.open).open.number
    house.host.answer(first, {"kind": "choice", "value": "r"})
    second = house.until(lambda snapshot: snapshot.open and snapshot.open.number != first).open.number
    with pytest.raises(GoneError, match=f"question {first} is not open"):
        house.host.answer(first, {"kind": "choice", "value": "b"})
    house.host.answer(second, {"kind": "choice", "value": "b"})
    worker.join(10)
    assert house.outcomes == [Handled(result=["r", "b"])]


@pytest.mark.parametrize("by", ["person", "caller"])
def test_calling_it_off_ends_the_question_and_the_execution(house: House, by: str) -> None:
    cancellation = Cancellation()
    worker = house.run(ask, cancellation=cancellation)
    house.until(lambda snapshot: snapshot.open)
    if by == "person":
        assert house.host.cancel()
    else:
        cancellation.cancel("the caller left")
    worker.join(10)
    shown = house.host.snapshot()
    assert (shown.status, shown.settlement, shown.open) == ("settled", "cancelled", None)
    reason = "cancelled by the person" if by == "person" else "the caller left"
    assert house.outcomes == [Failed(ErrorInfo(code="cancelled", message=reason))]
    assert not house.host.cancel()


def test_progress_replaces_progress_and_other_notices_stay(house: House) -> None:
    def tell(input: ExecutionInput[Any]) -> None:
        assert input.interaction is not None
        for notice in (
            InfoNotice(message="begin"),
            ProgressNotice(message="1"),
            ProgressNotice(message="2", fraction=1.0),
            InfoNotice(message="end"),
        ):
            input.interaction.notify(notice)

    house.run(tell).join(10)
    assert [notice.message for notice in house.host.snapshot().notices] == ["begin", "2", "end"]


def test_a_second_execution_is_refused_while_one_runs_and_its_handler_does_not_run(house: House) -> None:
    worker = house.run(ask)
    number = house.until(lambda snapshot: snapshot.open).open.number
    second = house.runtime.execute("a.x", ExecutionInput("menu"))
    assert isinstance(second, Failed)
    assert "still running" in second.error.message
    house.host.answer(number, {"kind": "choice", "value": "r"})
    worker.join(10)
    assert house.outcomes == [Handled(result="r")]


def test_retry_runs_the_same_again_and_only_after_the_end(house: House) -> None:
    attempts: list[Any] = []

    def act(input: ExecutionInput[Any]) -> str:
        attempts.append(input.arguments)
        if len(attempts) == 1:
            with pytest.raises(RetryRefusedError):
                house.host.retry()
            raise CommandError("busy", "try again")
        return "done"

    with pytest.raises(RetryRefusedError):
        house.host.retry()
    house.run(act, {"n": 1}).join(10)
    assert house.host.snapshot().error == ErrorInfo(code="busy", message="try again")
    assert house.host.snapshot().can_retry
    assert house.host.retry() == Handled(result="done")
    assert attempts == [{"n": 1}, {"n": 1}]
    assert house.host.snapshot().settlement == "handled"


def test_an_interaction_that_outlives_its_execution_reaches_nobody(house: House) -> None:
    kept: list[Any] = []
    house.run(lambda input: kept.append(input.interaction)).join(10)
    before = house.host.snapshot()
    with pytest.raises(GoneError):
        kept[0].notify(InfoNotice(message="late"))
    with pytest.raises(GoneError):
        kept[0].prompt(TextPrompt(message="late?"))
    assert house.host.snapshot() is before


def test_one_question_is_asked_at_a_time(house: House) -> None:
    refused: list[Exception] = []

    def act(input: ExecutionInput[Any]) -> Any:
        def second() -> None:
            house.until(lambda snapshot: snapshot.open)
            try:
                ask(input)
            except ConflictError as error:
                refused.append(error)
            finally:
                house.host.answer(house.host.snapshot().open.number, {"kind": "choice", "value": "r"})  # type: ignore[union-attr]

        other = threading.Thread(target=second)
        other.start()
        value = ask(input)
        other.join(10)
        return value

    house.run(act).join(20)
    assert house.outcomes == [Handled(result="r")]
    assert "one is asked at a time" in str(refused[0])


def test_the_same_snapshot_is_given_until_something_changes(house: House) -> None:
    assert house.host.snapshot() is house.host.snapshot()
    stop = house.host.subscribe(lambda: None)
    stop()
    stop()
