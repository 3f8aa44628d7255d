"""The specification of the command runtime, sentence by sentence and in its order: catalogs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.commands.shelf import Screen
from whisk.commands import (
    CommandRuntime,
    ExecutionInput,
    Failed,
    Handled,
    SuccessNotice,
    catalog_commands,
    parse_catalog,
)
from whisk.errors import InvalidError


def catalog(**projections: Any) -> dict[str, Any]:
    return {
        "version": "whistle.catalog/v1",
        "namespace": "shop",
        "commands": [
            {
                "id": "shop.order",
                "title": "Order",
                "category": "Shop",
                "projections": projections,
                "action": {"inputSchema": {"type": "object", "x-hint": {"opaque": True}}},
            }
        ],
    }


def test_parse_catalog_validates_it_at_the_client_boundary() -> None:
    assert parse_catalog(catalog(palette={})).commands[0].id == "shop.order"
    for wrong, place in (
        ({**catalog(), "version": "whistle.catalog/v2"}, "version"),
        ({**catalog(), "extra": 1}, "extra"),
        ({**catalog(), "namespace": "other"}, r"commands\[0\]\.id"),
        ({**catalog(), "commands": catalog()["commands"] * 2}, "there twice"),
    ):
        with pytest.raises(InvalidError, match=place):
            parse_catalog(wrong)


def test_catalog_commands_call_your_invoke_function(runtime: CommandRuntime) -> None:
    calls: list[Any] = []

    def invoke(call: Any, _: ExecutionInput[Any]) -> Any:
        calls.append((call.command_id, call.origin, call.arguments))
        return {"step": "done", "result": {"ok": True}}

    runtime.contribute("backend", "shop", catalog_commands(parse_catalog(catalog(palette={})), invoke))
    assert runtime.execute("shop.order", ExecutionInput("agent", {"n": 1})) == Handled(result={"ok": True})
    assert calls == [("shop.order", "agent", {"n": 1})]


def test_each_reply_is_a_step_done_or_prompt_and_flows_are_stateless_on_the_wire(runtime: CommandRuntime) -> None:
    calls: list[Any] = []

    def invoke(call: Any, _: ExecutionInput[Any]) -> Any:
        calls.append(call.arguments)
        given = call.arguments or {}
        if "size" not in given:
            prompt = {"kind": "choice", "message": "Size?", "choices": [{"value": "l", "label": "Large"}]}
            return {"step": "prompt", "prompt": prompt, "arguments": {"item": "tea"}, "field": "size"}
        if "sure" not in given:
            prompt = {"kind": "confirmation", "message": "Sure?"}
            return {"step": "prompt", "prompt": prompt, "arguments": given, "field": "sure"}
        return {"step": "done", "notice": {"kind": "success", "message": "Ordered"}, "result": given}

    screen = Screen("l", True)
    runtime.present(screen)
    runtime.contribute("backend", "shop", catalog_commands(parse_catalog(catalog()), invoke))
    whole = {"item": "tea", "size": "l", "sure": True}
    assert runtime.execute("shop.order", ExecutionInput("slash")) == Handled(result=whole)
    assert calls == [None, {"item": "tea", "size": "l"}, whole]
    assert screen.told[-1] == SuccessNotice(message="Ordered")


def test_a_question_without_anybody_to_ask_is_a_failure(runtime: CommandRuntime) -> None:
    prompt = {"step": "prompt", "prompt": {"kind": "text", "message": "?"}, "arguments": {}, "field": "x"}
    runtime.contribute("backend", "shop", catalog_commands(parse_catalog(catalog()), lambda *_: prompt))
    outcome = runtime.execute("shop.order", ExecutionInput("agent"))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "interaction_required"


def test_a_backend_that_answers_nonsense_or_never_ends_is_a_failure(runtime: CommandRuntime) -> None:
    endless = {"step": "prompt", "prompt": {"kind": "text", "message": "?"}, "arguments": {}, "field": "x"}
    replies: dict[str, Any] = {"nonsense": {"step": "dance"}, "endless": endless}
    runtime.contribute(
        "backend", "shop", catalog_commands(parse_catalog(catalog()), lambda call, _: replies[call.arguments["go"]])
    )
    codes: list[str] = []
    for what in replies:
        replies["endless"]["arguments"] = {"go": what}
        outcome = runtime.execute(
            "shop.order",
            ExecutionInput("palette", {"go": what}, interaction=Screen(*["x"] * 100)),  # type: ignore[arg-type]
        )
        assert isinstance(outcome, Failed)
        codes.append(outcome.error.code)
    assert codes == ["invalid_step", "too_many_steps"]


def test_a_server_capability_must_not_prescribe_a_rendering() -> None:
    wrong = catalog()
    wrong["commands"][0]["action"]["presentation"] = {"kind": "form"}
    with pytest.raises(InvalidError, match="presentation"):
        parse_catalog(wrong)
