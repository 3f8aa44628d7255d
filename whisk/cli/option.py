"""Go-style options, made into the GNU tokens that docopt understands.

docopt reads `-json` as `-j -s -o -n` and a mail body `- the build broke` as options with a help flag among them. So
docopt never sees what a person typed: this module knows each command's options, joins every value to its option as one
token, and puts what is left behind `--`. Options may stand before or after ids, with one dash or two, and names are
never abbreviated.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from whisk.cli.failure import UsageError

# A line of an "Options:" section: `--name=<value>  what it is` or `--name  what it is`.
_OPTION_LINE = re.compile(r"^ {2,}(?:-h, )?--([a-z][a-z0-9-]*)(=<[^>]+>)?(?: {2,}|$)", re.MULTILINE)
# A switch that is on unless it is switched off: `--launch  Start it now [default: true].`
_ON = re.compile(r"^ {2,}--([a-z][a-z0-9-]*) {2,}.*\[default: true\]", re.MULTILINE)
_REPEATED = re.compile(r"--([a-z][a-z0-9-]*)=<[^>]+>\]?\)?\.\.\.")
# What Go's strconv.ParseBool takes.
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class Option(NamedTuple):
    name: str
    takes_value: bool
    repeats: bool = False
    on: bool = False


class Rewritten:
    """The command line taken apart: `tokens` are `--name` or `--name=value`, in the order they were given."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.positionals: list[str] = []
        self.help = False


def known_options(text: str) -> dict[str, Option]:
    """The options that a command's usage text declares, by name without dashes."""
    repeated, on = set(_REPEATED.findall(text)), set(_ON.findall(text))
    return {name: Option(name, bool(value), name in repeated, name in on) for name, value in _OPTION_LINE.findall(text)}


def rewrite(arguments: list[str], options: dict[str, Option]) -> Rewritten:
    """Split `arguments` into option tokens and positionals; raises `UsageError`.

    The token after a value option is its value whatever it looks like, as in Go: `-body --` is the body `--`. A `--`
    that is no value ends the options. A lone `-` is a positional.
    """
    result = Rewritten([f"--{option.name}" for option in options.values() if option.on])
    seen: dict[str, str] = {}
    rest = iter(arguments)
    for token in rest:
        if token == "--":
            result.positionals.extend(rest)
            break
        if not token.startswith("-") or token == "-":
            result.positionals.append(token)
            continue
        name, equals, value = token.removeprefix("-").removeprefix("-").partition("=")
        if name in ("h", "help"):
            result.help = True
            continue
        option = options.get(name)
        if option is None:
            raise UsageError(_unknown(token, name, options))
        if option.takes_value:
            if not equals:
                following = next(rest, None)
                if following is None:
                    raise UsageError(f"-{name} needs a value")
                value = following
            _add_value(result, seen, option, value)
        else:
            _add_switch(result, option, value if equals else "true")
    return result


def _add_value(result: Rewritten, seen: dict[str, str], option: Option, value: str) -> None:
    if not option.repeats and option.name in seen:
        if seen[option.name] == value:
            return
        raise UsageError(f"-{option.name} was given twice: {seen[option.name]!r} and {value!r}")
    seen[option.name] = value
    result.tokens.append(f"--{option.name}={value}")


def _add_switch(result: Rewritten, option: Option, value: str) -> None:
    token = f"--{option.name}"
    if value not in _TRUE and value not in _FALSE:
        raise UsageError(f"-{option.name} is a switch: -{option.name} or -{option.name}=false, not {value!r}")
    # The last one wins, so that a wrapper's switch can be taken back.
    if token in result.tokens:
        result.tokens.remove(token)
    if value in _TRUE:
        result.tokens.append(token)


def _unknown(token: str, name: str, options: dict[str, Option]) -> str:
    sentence = f"unknown option {token.partition('=')[0]}"
    if " " in name or not re.match(r"[A-Za-z]", name):
        return f"unknown option {token!r}; text that begins with a dash goes behind --"
    near = near_names(name, [*options, "help"])
    return f"{sentence}; did you mean {' or '.join('-' + one for one in near)}?" if near else sentence


def near_names(word: str, names: list[str]) -> list[str]:
    """Up to three of `names` that `word` may have been meant to be."""
    from difflib import get_close_matches

    prefixed = [name for name in names if len(word) > 1 and name.startswith(word)]
    return list(dict.fromkeys([*prefixed, *get_close_matches(word, names, n=3, cutoff=0.6)]))[:3]
