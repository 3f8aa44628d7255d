"""The specification of the command runtime, sentence by sentence and in its order: interactions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.commands.shelf import Screen, batch, command
from whisk.commands import (
    HUMAN_ORIGINS,
    ORIGINS,
    ChoicePrompt,
    CommandError,
    CommandRuntime,
    ConfirmationPrompt,
    ErrorInfo,
    Execution,
    ExecutionInput,
    Failed,
    Handled,
    HandoffNotice,
    InfoNotice,
    InteractionHost,
    ProgressNotice,
    SuccessNotice,
    TextPrompt,
    unavailable,
)
from whisk.errors import InvalidError


def test_prompt_asks_one_choice_text_or_confirmation_question(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)
    questions = [
        ChoicePrompt(message="Which?", choices=({"value": "a", "label": "A"},)),  # type: ignore[arg-type]
        TextPrompt(message="Name?"),
        TextPrompt(message="Token?", secret=True),
        ConfirmationPrompt(message="Sure?"),
    ]
    answers: list[Any] = [
        {"kind": "choice", "value": "a"},
        {"kind": "text", "text": "x"},
        {"kind": "text", "text": "s3cret"},
        {"kind": "confirmation", "confirmed": False},
    ]
    given: list[Any] = []

    def answer() -> None:
        shown = host.snapshot().open
        if shown is not None:
            host.answer(shown.number, answers[shown.number - 1])

    host.subscribe(answer)
    runtime.contribute(
        "s", "a", [command("a.x", lambda input: given.extend(input.interaction.prompt(each) for each in questions))]
    )
    assert runtime.execute("a.x", ExecutionInput("palette")) == Handled()
    assert given == ["a", "x", "s3cret", False]
    assert "s3cret" not in repr(host.snapshot())


def test_notify_shows_info_progress_handoff_or_success(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)
    notices = (
        InfoNotice(message="Looking"),
        ProgressNotice(message="Half", fraction=0.5),
        HandoffNotice(message="Sign in", url="https://example.org/device", code="AB-12"),
        SuccessNotice(message="Done"),
    )

    def act(input: ExecutionInput[Any]) -> None:
        assert input.interaction is not None
        for notice in notices:
            input.interaction.notify(notice)

    runtime.contribute("s", "a", [command("a.x", act)])
    runtime.execute("a.x", ExecutionInput("menu"))
    assert host.snapshot().notices == notices


def test_the_vocabulary_names_the_kind_of_answer_never_a_widget() -> None:
    fields = {name for kind in (ChoicePrompt, TextPrompt, ConfirmationPrompt) for name in kind.__struct_fields__}
    assert fields == {"message", "choices", "secret", "placeholder"}


def test_a_caller_can_pass_its_own_interaction(runtime: CommandRuntime) -> None:
    mounted, own = Screen(), Screen("mine")
    runtime.present(mounted)
    runtime.contribute("s", "a", [command("a.x", lambda input: input.interaction.prompt(TextPrompt(message="?")))])
    assert runtime.execute("a.x", ExecutionInput("palette", interaction=own)) == Handled(result="mine")  # type: ignore[arg-type]
    assert mounted.opened == []
    assert own.settled == []


@pytest.mark.parametrize("origin", ORIGINS)
def test_present_opens_one_for_each_human_origin_execution_and_none_for_agents_and_programs(
    runtime: CommandRuntime, origin: Any
) -> None:
    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", lambda input: input.interaction is None)])
    outcome = runtime.execute("a.x", ExecutionInput(origin, {"n": 1}))
    assert (origin in HUMAN_ORIGINS) == (origin not in ("agent", "programmatic"))
    if origin in HUMAN_ORIGINS:
        assert outcome == Handled(result=False)
        assert [(each.command_id, each.origin, each.arguments) for each in screen.opened] == [("a.x", origin, {"n": 1})]
    else:
        assert outcome == Handled(result=True)
        assert screen.opened == []


def test_the_session_is_settled_with_handled_cancelled_or_failed_when_the_handler_ends(runtime: CommandRuntime) -> None:
    def act(input: ExecutionInput[Any]) -> None:
        match input.arguments:
            case "fail":
                raise CommandError("broken", "it broke")
            case "cancel":
                input.cancellation.cancel("enough")
                input.cancellation.check()

    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", act)])
    for what in ("go", "fail", "cancel"):
        runtime.execute("a.x", ExecutionInput("palette", what))
    assert screen.settled == [
        ("handled", None),
        ("failed", ErrorInfo(code="broken", message="it broke")),
        ("cancelled", ErrorInfo(code="cancelled", message="enough")),
    ]


def test_nothing_is_opened_for_a_command_that_does_not_run(runtime: CommandRuntime) -> None:
    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", availability=lambda: unavailable("no"))])
    for id in ("a.x", "a.missing", ""):
        runtime.execute(id, ExecutionInput("palette"))
    assert screen.opened == []


def test_the_presenter_can_retry_the_same_execution(runtime: CommandRuntime) -> None:
    attempts: list[Any] = []

    def act(input: ExecutionInput[Any]) -> str:
        attempts.append(input.arguments)
        if len(attempts) == 1:
            raise CommandError("busy", "try again")
        return "done"

    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", act)])
    assert isinstance(runtime.execute("a.x", ExecutionInput("palette", {"n": 1})), Failed)
    assert screen.opened[0].retry() == Handled(result="done")
    assert attempts == [{"n": 1}, {"n": 1}]
    assert [settlement for settlement, _ in screen.settled] == ["failed", "handled"]


def test_the_newest_presenter_wins_until_its_disposer_runs(runtime: CommandRuntime) -> None:
    old, new = Screen(), Screen()
    runtime.present(old)
    dispose = runtime.present(new)
    runtime.contribute("s", "a", batch(["a.x"]))
    runtime.execute("a.x", ExecutionInput("palette"))
    dispose()
    dispose()
    runtime.execute("a.x", ExecutionInput("palette"))
    assert (len(old.opened), len(new.opened)) == (1, 1)


def test_a_presenter_that_fails_keeps_the_handler_from_running(runtime: CommandRuntime) -> None:
    ran: list[str] = []

    def broken(_: Execution) -> Any:
        raise RuntimeError("no screen")

    runtime.present(broken)
    runtime.contribute("s", "a", [command("a.x", lambda _: ran.append("x"))])
    outcome = runtime.execute("a.x", ExecutionInput("palette"))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "presenter_failed"
    assert ran == []


def test_the_host_parses_every_prompt_notice_and_answer(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)

    def act(input: ExecutionInput[Any]) -> None:
        for wrong in (TextPrompt(message=" "), ChoicePrompt(message="?", choices=())):
            with pytest.raises(InvalidError):
                input.interaction.prompt(wrong)  # type: ignore[union-attr]
        with pytest.raises(InvalidError):
            input.interaction.notify(HandoffNotice(message="x", url="javascript:alert(1)"))  # type: ignore[union-attr]

    runtime.contribute("s", "a", [command("a.x", act)])
    assert runtime.execute("a.x", ExecutionInput("browser")) == Handled()
