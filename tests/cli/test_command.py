"""Commands as docopt reads them, and what is said when a command line does not fit."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest

from whisk.cli.argument import Arguments, parse_duration
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import HelpShown, UsageError
from whisk.cli.output import Output

SEND = Command(
    words="mail send",
    usage="""
Usage:
  whisk mail send --to=<address> [--answer=<text>]... [options] <id> [<more>...]

Options:
  --to=<address>     Who gets it.
  --body=<text>      The body.
  --answer=<text>    An answer; may be repeated.
  --limit=<n>        How many [default: 7].
  --timeout=<time>   How long.
  --work-item=<id>   Which work item.

Examples:
  whisk mail send -to run:1 -body "- the build broke" mail_1
""",
    run=lambda context, args: 0,
)


def context(env: Mapping[str, str] | None = None) -> Context:
    return Context(env or {}, Output({}, io.StringIO(), io.StringIO()))


def parse(*arguments: str, env: Mapping[str, str] | None = None) -> Arguments:
    return SEND.parse(list(arguments), context(env))


@pytest.mark.parametrize("body", ["- the build broke", "---", "--", "-h", "a -json b", "", "x\n-y"])
def test_a_body_survives_docopt(body: str) -> None:
    args = parse("mail_1", "-to", "run:1", "-body", body, "-json")
    assert args.text("body") == body
    assert args.flag("json")
    assert args.text("id") == "mail_1"


@pytest.mark.parametrize("word", ["-x", "--", "---", "-h", "mail", "send", "--to=z", "-"])
def test_a_positional_behind_the_dashes_survives_docopt(word: str) -> None:
    args = parse("-to=run:1", "--", word, word)
    assert args.text("id") == word
    assert args.many("more") == [word]


def test_repeated_options_keep_their_order() -> None:
    assert parse("-to", "x", "id", "-answer", "b", "-answer=a", "--answer", "-c").many("answer") == ["b", "a", "-c"]


def test_comma_joined_values_are_split_and_blanks_dropped() -> None:
    assert parse("-to", "run:1, pty:2,,", "id").csv("to") == ["run:1", "pty:2"]


def test_defaults_come_from_the_usage_text_and_the_environment() -> None:
    args = parse("-to", "x", "id", env={"EMPTY": "", "SET": "item_1"})
    assert args.number("limit") == 7
    assert args.text("work-item", "EMPTY", "SET") == "item_1"
    assert args.need("work-item", "SET") == "item_1"
    with pytest.raises(UsageError, match="-work-item is required, or set EMPTY"):
        args.need("work-item", "EMPTY")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["id"], "-to is required"),
        (["-to", "x"], "<id> is missing"),
        (["-to", "x", "id", "-nope"], "unknown option -nope"),
    ],
)
def test_a_complaint_names_what_is_wrong(arguments: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse(*arguments)


def test_too_many_arguments_are_named() -> None:
    command = Command("run cancel", "\nUsage:\n  whisk run cancel [options] <run>\n", run=lambda c, a: 0)
    with pytest.raises(UsageError, match="unexpected argument 'b'"):
        command.parse(["a", "b"], context())
    with pytest.raises(UsageError, match="unexpected argument 'false'; a switch is written -name=false"):
        command.parse(["a", "false"], context())


def test_help_holds_the_shared_options_and_the_example() -> None:
    with pytest.raises(HelpShown) as shown:
        parse("-h")
    text = shown.value.text
    assert text.index("Options:") < text.index("--url=<url>") < text.index("Examples:")
    assert "the build broke" in text


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10), ("500ms", 0.5), ("1m30s", 90), ("2h", 7200), ("3", 3), ("1.5s", 1.5), ("0", 0)]
)
def test_durations_are_read_as_go_writes_them(text: str, seconds: float) -> None:
    assert parse_duration(text, "-timeout") == seconds


@pytest.mark.parametrize("text", ["", "x", "10 s", "-5s", "5d", "1h x"])
def test_a_bad_duration_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="-timeout must be a duration"):
        parse("-to", "x", "id", f"-timeout={text}").seconds("timeout")


@pytest.mark.parametrize("text", ["x", "-1", "1.5", ""])
def test_a_bad_number_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="-limit must be"):
        parse("-to", "x", "id", f"-limit={text}").number("limit")
