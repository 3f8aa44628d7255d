"""The specification of the command runtime, sentence by sentence and in its order: handlers and presentation hints."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.commands.shelf import batch, command, everywhere
from whisk.commands import (
    Action,
    Cancellation,
    Command,
    CommandRuntime,
    ErrorInfo,
    ExecutionInput,
    Failed,
    Handled,
    InteractionHost,
    InvalidContributionError,
    Presentation,
    TextPrompt,
)
from whisk.errors import InvalidError


def test_a_handler_may_return_an_awaitable(runtime: CommandRuntime) -> None:
    async def act(input: ExecutionInput[Any]) -> Any:
        await asyncio.sleep(0)  # why: the point is a handler that is suspended
        return input.arguments

    runtime.contribute("s", "a", [command("a.x", act), command("a.sync")])
    assert asyncio.run(runtime.execute_async("a.x", ExecutionInput("agent", 1))) == Handled(result=1)
    assert asyncio.run(runtime.execute_async("a.sync", ExecutionInput("agent", 2))) == Handled(result=2)
    refused = runtime.execute("a.x")
    assert isinstance(refused, Failed)
    assert "execute_async" in refused.error.message


def test_an_asynchronous_handler_asks_and_is_answered_from_another_thread(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)

    async def act(input: ExecutionInput[Any]) -> Any:
        assert input.interaction is not None
        return await input.interaction.prompt_async(TextPrompt(message="Name?"))

    def answer() -> None:
        shown = host.snapshot().open
        if shown is not None:
            threading.Thread(target=host.answer, args=(shown.number, {"kind": "text", "text": "Ada"})).start()

    host.subscribe(answer)
    runtime.contribute("s", "a", [command("a.x", act)])
    assert asyncio.run(runtime.execute_async("a.x", ExecutionInput("terminal"))) == Handled(result="Ada")


def test_commands_with_different_types_share_one_contribution(runtime: CommandRuntime) -> None:
    def number(input: ExecutionInput[int]) -> str:
        return str(input.arguments)

    def text(input: ExecutionInput[str]) -> int:
        return len(input.arguments or "")

    runtime.contribute("s", "a", [Command("a.n", "N", "T", number), Command("a.t", "T", "T", text)])
    assert runtime.execute("a.n", ExecutionInput("agent", 3)) == Handled(result="3")


def test_arguments_reach_the_handler_frozen_and_unchecked_against_any_schema(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.x", action=Action(input_schema={"type": "string"}))])
    given = {"list": [1]}
    outcome = runtime.execute("a.x", ExecutionInput("agent", given))
    assert outcome == Handled(result={"list": (1,)})
    with pytest.raises(InvalidError, match="arguments is a set"):
        runtime.execute("a.x", ExecutionInput("agent", {1}))


def test_schemas_keep_opaque_json_annotations(runtime: CommandRuntime) -> None:
    schema = {"type": "object", "x-whatever": {"nested": [None, True, 1.5]}}
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"), action=Action(output_schema=schema))])
    assert runtime.snapshot().agent[0].output_schema == {
        "type": "object",
        "x-whatever": {"nested": (None, True, 1.5)},
    }


def test_presentation_is_one_of_five_and_only_custom_has_opaque_data(runtime: CommandRuntime) -> None:
    custom = Presentation(kind="custom", data={"fields": [1]})
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"), action=Action(presentation=custom))])
    shown = runtime.snapshot()
    assert shown.palette[0].action == Action(presentation=Presentation(kind="custom", data={"fields": (1,)}))
    with pytest.raises(InvalidContributionError, match="only a custom hint has data"):
        runtime.contribute(
            "s", "a", [command("a.y", action=Action(presentation=Presentation(kind="form", data={"x": 1})))]
        )


def test_an_execution_that_was_cancelled_before_it_began_does_not_run(runtime: CommandRuntime) -> None:
    called_off = Cancellation()
    called_off.cancel("changed my mind")
    runtime.contribute("s", "a", batch(["a.x"]))
    assert runtime.execute("a.x", ExecutionInput("palette", cancellation=called_off)) == Failed(
        ErrorInfo(code="cancelled", message="changed my mind")
    )
