"""Every command in the registry exists, is documented, and its own examples are right."""

from __future__ import annotations

import io
import re
import shlex
from typing import get_args

import msgspec
import pytest

from whisk.cli import dispatch, registry
from whisk.cli.candidate_source import SOURCES
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.option import known_options
from whisk.cli.output import Output
from whisk.http.table import all_routes

ENV = {"WHISK_PTY_ID": "pty_1", "WHISK_RUN_ID": "run_1", "WHISK_SESSION_ID": "sess_1", "WHISK_WORK_ITEM_ID": "item_1"}
ALIASES = {"mail next": "mail check"}


def examples(command: Command) -> list[str]:
    """The lines of the Examples section, continued ones joined."""
    section = command.usage.partition("Examples:\n")[2].replace("\\\n", " ")
    return [line.strip() for line in section.splitlines() if line.strip()]


@pytest.fixture(params=sorted(registry.COMMANDS))
def words(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_registry_leads_to_the_command(words: str) -> None:
    assert dispatch.load(words).words == ALIASES.get(words, words)


def test_every_usage_line_takes_options(words: str) -> None:
    command = dispatch.load(words)
    lines = command.synopsis.splitlines()
    assert lines
    for line in lines:
        assert line.startswith(f"usage: whisk {command.words}"), line
        assert "[options]" in line, line


def test_every_option_line_is_understood(words: str) -> None:
    """A line that looks like an option and is not read as one would be refused when a person uses it."""
    command = dispatch.load(words)
    listed = re.findall(r"^ +(?:-h, )?--([a-z][a-z0-9-]*)", command.text.partition("Usage:")[2], re.MULTILINE)
    assert set(listed) <= set(known_options(command.text)), words


def test_help_has_an_example_and_every_example_parses(words: str) -> None:
    command = dispatch.load(words)
    found = [line for line in examples(command) if f"whisk {words}" in line or f"whisk {command.words}" in line]
    assert found, f"{words} has no example"
    context = Context(ENV, Output({}, io.StringIO(), io.StringIO()))
    for line in found:
        # What stands around the command (a pipe, a redirection, a variable) is the shell's.
        shell = re.split(r"\s(?:[|<>]|&&)\s?", line[line.index("whisk ") :])[0]
        arguments = shlex.split(shell, comments=True)[1:]
        count = len(command.words.split())
        assert arguments[:count] == command.words.split(), line
        command.parse(arguments[count:], context)


def test_the_summary_is_one_short_line(words: str) -> None:
    summary = registry.COMMANDS[words].summary
    assert summary[0].islower() or summary.split()[0] == "JSON"
    assert not summary.endswith(".")
    widest = max(len(name) for name in registry.below(words.split()[0]))
    assert len(f"  {'':<{widest}}  {summary}") <= 80, "`whisk help <noun>` would not fit a small window"


def test_every_section_of_the_help_has_something_in_it(words: str) -> None:
    assert not re.search(r"^[A-Z][a-z ]+:\n\s*\n", dispatch.load(words).text, re.MULTILINE)


def test_no_positional_has_the_name_of_an_option(words: str) -> None:
    """`<url>` would be read as `-url`, and an address to be told of things as the daemon to speak to."""
    command = dispatch.load(words)
    assert not set(re.findall(r"(?<!=)<([a-z-]+)>", command.usage.split("Options:")[0])) & set(command.options)


@pytest.mark.parametrize("noun", sorted(SOURCES))
def test_ids_are_completed_from_a_list_that_there_is(noun: str) -> None:
    source = SOURCES[noun]
    route = next(route for route in all_routes() if (route.method, route.path) == ("GET", source.path))
    (kind,) = get_args(route.reply)
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}
    assert {source.id, *source.about} <= fields
    names = (
        {field.encode_name for field in msgspec.structs.fields(route.query)} if source.query and route.query else set()
    )
    assert {name for name, _ in source.query} <= names
