"""What a command line asks to be started, as the wire says it."""

from __future__ import annotations

import io

import pytest

from whisk.cli.command import Command
from whisk.cli.commands import pty, session
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.output import Output
from whisk.cli.start import start_options


def options(command: Command, *arguments: str) -> dict[str, object]:
    args = command.parse(list(arguments), Context({}, Output({}, io.StringIO(), io.StringIO())))
    return start_options(args, args.many("program") if command is pty.START else None)


def test_nothing_said_means_the_shell() -> None:
    assert options(session.CREATE, "-root", ".") == {}


def test_a_command_is_typed_and_a_program_is_executed() -> None:
    assert options(session.CREATE, "-root", ".", "-command", "npm test") == {"command": "npm test"}
    assert options(pty.START, "sess_1", "--", "htop", "-d", "20") == {
        "command": "htop",
        "args": ["-d", "20"],
        "exec": True,
    }


def test_an_agent_is_named_with_its_prompts() -> None:
    given = ["-agent-profile", "codex", "-prompt", "-x", "-system-prompt", "S", "-cols", "120", "-rows=40"]
    assert options(session.CREATE, "-root", ".", *given) == {
        "agentProfileId": "codex",
        "prompt": "-x",
        "systemPrompt": "S",
        "cols": 120,
        "rows": 40,
    }


def test_variables_are_taken_apart_at_the_first_equals_sign() -> None:
    given = ["-env", "A=1=2", "--env=B="]
    assert options(session.CREATE, "-root", ".", *given) == {"env": {"A": "1=2", "B": ""}}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["-env", "A"], "-env is written NAME=value"),
        (["-env", "=x"], "-env is written NAME=value"),
        (["-prompt", "x"], "-prompt is for an agent"),
        (["-command", "x", "-agent-profile", "claude"], "give -command or -agent-profile, not both"),
        (["-cols", "0"], "-cols must be at least 1"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(given: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        options(session.CREATE, "-root", ".", *given)
