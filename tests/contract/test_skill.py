"""The skill that comes with whisk names commands that exist, and names them rightly."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

import whisk
from whisk.cli import dispatch, registry
from whisk.cli.context import Context
from whisk.cli.output import Output
from whisk.profiles.skill import read_head

TEXT = (Path(whisk.__file__).parent / "skills/whisk/SKILL.md").read_text("utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]


def test_it_says_when_to_use_it() -> None:
    head = read_head(TEXT, "folder")
    assert head.name == "whisk"
    assert 40 < len(head.description) < 1024


@pytest.mark.parametrize("line", LINES)
def test_every_command_that_it_names_parses(line: str) -> None:
    words = shlex.split(line)
    assert words[0] == "whisk"
    found = registry.find(words[1:])
    assert found is not None, line
    name, count = found
    dispatch.load(name).parse(words[1 + count :], Context({}, Output({}, io.StringIO(), io.StringIO())))


@pytest.mark.parametrize("noun", ["question", "status", "mail", "run", "gate", "work-item"])
def test_it_names_what_an_agent_needs(noun: str) -> None:
    assert any(line.startswith(f"whisk {noun} ") for line in LINES)
