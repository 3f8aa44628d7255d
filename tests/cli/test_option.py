"""What a person types, taken apart. Mail bodies are free text, so nothing of a value may ever be read as an option."""

from __future__ import annotations

import pytest

from whisk.cli.failure import UsageError
from whisk.cli.option import Option, known_options, rewrite

OPTIONS = {
    "body": Option("body", takes_value=True),
    "to": Option("to", takes_value=True),
    "answer": Option("answer", takes_value=True, repeats=True),
    "priority": Option("priority", takes_value=True),
    "json": Option("json", takes_value=False),
    "wait": Option("wait", takes_value=False),
}


@pytest.mark.parametrize(
    "body",
    [
        "- the build broke",
        "-",
        "--",
        "---",
        "-h",
        "--help",
        "-json",
        "--to=x",
        "-x=y",
        "",
        " ",
        "=",
        "a=b",
        "-1",
        "\n-h\n",
    ],
)
@pytest.mark.parametrize("dashes", ["-", "--"])
@pytest.mark.parametrize("joined", [True, False])
def test_a_value_is_never_read_as_an_option(body: str, dashes: str, joined: bool) -> None:
    given = [f"{dashes}body={body}"] if joined else [f"{dashes}body", body]
    result = rewrite([*given, "-json", "mail_1"], OPTIONS)
    assert result.tokens == [f"--body={body}", "--json"]
    assert result.positionals == ["mail_1"]
    assert not result.help


@pytest.mark.parametrize(
    "arguments",
    [
        ["-json", "-to", "run:1", "mail_1"],
        ["mail_1", "-json", "-to", "run:1"],
        ["-to=run:1", "mail_1", "--json"],
        ["--to", "run:1", "mail_1", "-json=true"],
        ["-json=false", "-to", "run:1", "-json=1", "mail_1"],
    ],
)
def test_options_stand_before_or_after_ids_in_every_style(arguments: list[str]) -> None:
    result = rewrite(arguments, OPTIONS)
    assert sorted(result.tokens) == ["--json", "--to=run:1"]
    assert result.positionals == ["mail_1"]


@pytest.mark.parametrize("value", ["false", "0", "f", "F", "False", "FALSE"])
def test_a_switch_can_be_taken_back(value: str) -> None:
    assert rewrite(["-json", f"-json={value}"], OPTIONS).tokens == []


def test_a_switch_takes_no_word() -> None:
    assert rewrite(["-wait", "false"], OPTIONS).positionals == ["false"]
    with pytest.raises(UsageError, match="-wait is a switch"):
        rewrite(["-wait=maybe"], OPTIONS)


def test_everything_behind_a_double_dash_is_text() -> None:
    result = rewrite(["-json", "--", "-body", "--", "-h"], OPTIONS)
    assert result.positionals == ["-body", "--", "-h"]
    assert not result.help


def test_a_lone_dash_is_a_positional() -> None:
    assert rewrite(["-"], OPTIONS).positionals == ["-"]


@pytest.mark.parametrize("token", ["-h", "-help", "--help"])
def test_help_is_seen_only_where_it_stands_as_an_option(token: str) -> None:
    assert rewrite(["mail_1", token], OPTIONS).help
    assert not rewrite(["-body", token], OPTIONS).help
    assert not rewrite(["--", token], OPTIONS).help


@pytest.mark.parametrize(
    ("token", "hint"),
    [("-pri", "-priority"), ("--prioritty=3", "-priority"), ("-jsn", "-json"), ("-hepl", "-help")],
)
def test_names_are_never_abbreviated_but_the_right_one_is_named(token: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"unknown option .*did you mean.*{hint}"):
        rewrite([token], OPTIONS)


@pytest.mark.parametrize("token", ["- the build broke", "---", "-5", "-é"])
def test_loose_text_with_a_dash_is_refused_and_told_where_it_belongs(token: str) -> None:
    with pytest.raises(UsageError, match="goes behind --"):
        rewrite([token], OPTIONS)


def test_a_value_that_is_missing_is_said() -> None:
    with pytest.raises(UsageError, match="-to needs a value"):
        rewrite(["-json", "-to"], OPTIONS)


def test_a_value_given_twice_is_refused_unless_it_repeats() -> None:
    assert rewrite(["-answer", "a", "-answer", "a"], OPTIONS).tokens == ["--answer=a", "--answer=a"]
    assert rewrite(["-to", "a", "-to=a"], OPTIONS).tokens == ["--to=a"]
    with pytest.raises(UsageError, match="-to was given twice: 'a' and 'b'"):
        rewrite(["-to", "a", "-to", "b"], OPTIONS)


def test_options_are_read_from_the_usage_text() -> None:
    text = """
Usage:
  whisk x [--answer=<text>]... [options] <id>

Options:
  --answer=<text>   One answer; see also
                    --nothing in here.
  --wait            Wait.
  -h, --help        Help.
"""
    assert known_options(text) == {
        "answer": Option("answer", True, True),
        "wait": Option("wait", False),
        "help": Option("help", False),
    }


@pytest.mark.parametrize(
    ("arguments", "tokens"),
    [([], ["--pty"]), (["-pty"], ["--pty"]), (["-pty=false"], []), (["--pty=0", "-pty=true"], ["--pty"])],
)
def test_a_switch_may_be_on_unless_it_is_switched_off(arguments: list[str], tokens: list[str]) -> None:
    options = known_options("Options:\n  --pty    Start a terminal in it [default: true].\n  --json   JSON.\n")
    assert [name for name, option in options.items() if option.on] == ["pty"]
    assert rewrite(arguments, options).tokens == tokens
