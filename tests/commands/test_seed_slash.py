"""The specification of the command runtime, sentence by sentence and in its order: slash arguments."""

from __future__ import annotations

import pytest

from tests.commands.shelf import command
from whisk.commands import (
    CommandRuntime,
    Projections,
    SlashArguments,
    SlashProjection,
    SlashText,
    SlashWord,
)
from whisk.commands.slash import complete, hint, parse
from whisk.errors import InvalidError

GRAMMAR = SlashArguments(
    words=(SlashWord(word="dark", arguments={"theme": "dark"}), SlashWord(word="light", arguments={"theme": "light"})),
    text=SlashText(field="name", arguments={"theme": "custom"}, request_id_field="requestId", hint="theme"),
)


def test_a_slash_projection_can_carry_a_data_only_grammar(runtime: CommandRuntime) -> None:
    slash = SlashProjection(alias="theme", arguments=GRAMMAR)
    runtime.contribute("s", "a", [command("a.x", projections=Projections(slash=(slash,)))])
    assert runtime.snapshot().slash[0].arguments == GRAMMAR


def test_fixed_words_map_to_complete_argument_objects() -> None:
    assert parse(GRAMMAR, "dark").arguments == {"theme": "dark"}


def test_text_puts_the_rest_of_the_line_into_one_field_of_a_fixed_argument_object() -> None:
    assert parse(GRAMMAR, "  solarized, but bright ").arguments == {"theme": "custom", "name": "solarized, but bright"}


def test_optionally_with_a_request_id_field_for_idempotent_retries() -> None:
    assert parse(GRAMMAR, "x", "req-1").arguments == {"theme": "custom", "name": "x", "requestId": "req-1"}


def test_clients_parse_complete_and_hint_from_this_data() -> None:
    assert [each.text for each in complete(GRAMMAR, "d")] == ["dark"]
    assert hint(GRAMMAR, "") == "dark | light | <theme>"
    with pytest.raises(InvalidError, match=r"expected dark \| light \| <theme>"):
        parse(GRAMMAR, "  ")
    with pytest.raises(InvalidError, match="nothing may follow here, not 'x'"):
        parse(None, "x")
