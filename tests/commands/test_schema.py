"""The shipped JSON Schemas are those of the records, and say of real documents what the records say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.commands.shelf import command, everywhere
from whisk.commands import (
    Action,
    Choice,
    ChoicePrompt,
    CommandError,
    CommandRuntime,
    HandoffNotice,
    SlashArguments,
    SlashProjection,
    SlashWord,
    unavailable,
)
from whisk.commands.projection import Projections
from whisk.commands.schema import SCHEMAS, generate, load_schema
from whisk.values import encode, to_builtins


def check(name: Any, value: Any) -> bool:
    return bool(Draft202012Validator(load_schema(name)).is_valid(json.loads(encode(value))))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_shipped_schema_is_the_generated_one(name: Any) -> None:
    assert json.loads(generate(name)) == load_schema(name), "run: python -m whisk.commands.schema"
    Draft202012Validator.check_schema(load_schema(name))


def test_snapshots_and_outcomes_fit_their_schemas() -> None:
    def fail(_: Any) -> None:
        raise CommandError("broken", "it broke", {"at": [1]})

    runtime = CommandRuntime()
    slash = SlashProjection(alias="go", arguments=SlashArguments(words=(SlashWord(word="on", arguments={"on": True}),)))
    runtime.contribute(
        "s",
        "a",
        [
            command("a.x", projections=everywhere("x"), action=Action(input_schema={"type": "object"})),
            command("a.go", projections=Projections(slash=(slash,))),
            command("a.fail", fail),
            command("a.off", availability=lambda: unavailable("off")),
        ],
    )
    assert check("snapshot", runtime.snapshot())
    outcomes = [runtime.execute(id) for id in ("a.x", "a.fail", "a.off", "a.none", "")]
    runtime.close()
    outcomes.append(runtime.execute("a.x"))
    assert [to_builtins(each)["status"] for each in outcomes] == [
        "handled",
        "failed",
        "unavailable",
        "missing",
        "invalid",
        "closed",
    ]
    assert all(check("outcome", each) for each in outcomes)
    assert not check("outcome", {"status": "done"})


def test_prompts_notices_answers_and_steps_fit_their_schemas() -> None:
    prompt = ChoicePrompt(message="?", choices=(Choice(value="a", label="A"),))
    assert check("prompt", prompt)
    assert check("notice", HandoffNotice(message="Sign in", url="https://example.org", code="1"))
    assert check("answer", {"kind": "confirmation", "confirmed": True})
    assert not check("answer", {"kind": "confirmation", "confirmed": "yes"})
    assert check("step", {"step": "prompt", "prompt": to_builtins(prompt), "arguments": {}, "field": "x"})
    assert check("step", {"step": "done"})
    assert not check("step", {"step": "dance"})
    assert check("catalog", {"version": "whistle.catalog/v1", "namespace": "a", "commands": []})
    assert not check("catalog", {"version": "whistle.catalog/v2", "namespace": "a", "commands": []})
