"""A command: its words, its usage text, and the function that does it. docopt-ng parses the usage text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from whisk.cli.argument import Arguments
from whisk.cli.context import Context
from whisk.cli.failure import HelpShown, UsageError
from whisk.cli.option import Option, known_options, rewrite

_COMMON = {
    "json": "  --json            Print JSON (two-space indented) instead of text.",
    "url": "  --url=<url>       The daemon's address; else $WHISKD_URL, else the running daemon of this state folder.",
}
_HELP = "  -h, --help        Show this and exit."


class Command(NamedTuple):
    """One command.

    `usage` is a docopt text: a "Usage:" section in which every line holds `[options]`, an "Options:" section with GNU
    names, an "Examples:" section. Options that take a value are written `--name=<value>`; one that may be repeated
    stands in the usage line as `[--name=<value>]...`. `common` names the shared options that are added: json, url.
    `run` gets the context and the arguments and returns the exit code (None counts as 0).
    """

    words: str
    usage: str
    run: Callable[[Context, Arguments], int | None]
    common: tuple[str, ...] = ("json", "url")

    @property
    def text(self) -> str:
        """The whole help text, common options included."""
        usage = self.usage.strip("\n")
        shared = "\n".join(["Common options:", *(_COMMON[name] for name in self.common), _HELP])
        head, examples, tail = usage.partition("Examples:\n")
        return f"{head.rstrip()}\n\n{shared}\n" + (f"\n{examples}{tail.rstrip()}\n" if examples else "")

    @property
    def options(self) -> dict[str, Option]:
        return known_options(self.text)

    def parse(self, arguments: list[str], context: Context) -> Arguments:
        """Read the command line behind the words; raises `UsageError` or `HelpShown`."""
        given = rewrite(arguments, self.options)
        if given.help:
            raise HelpShown(self.text)
        from docopt import DocoptExit, docopt

        # `[--]` lets docopt take any text as a positional; it is noise in the help, so it is added here.
        text = self.text.replace("[options]", "[options] [--]")
        argv = [*self.words.split(), *given.tokens, "--", *given.positionals]
        try:
            values = docopt(text, argv, default_help=False)
        except DocoptExit:
            raise UsageError(self._complaint(given.tokens, given.positionals)) from None
        return Arguments(values, context.env)

    def _complaint(self, tokens: list[str], positionals: list[str]) -> str:
        """What is missing or too much. docopt knows only that the whole does not fit."""
        lines = [line.split(None, 1)[-1] for line in self._usage_lines()]
        given = {token.partition("=")[0] for token in tokens}
        if len(lines) == 1:
            required = _outside_brackets(lines[0].removeprefix(self.words))
            for name in re.findall(r"(--[a-z0-9-]+)", required):
                if name not in given and "|" not in required:
                    return f"{name[1:]} is required"
            wanted = re.findall(r"(?<!=)(<[^>]+>)", required)
            if len(positionals) < len(wanted):
                return f"{wanted[len(positionals)]} is missing"
            most = len(re.findall(r"(?<!=)<[^>]+>", lines[0]))
            if len(positionals) > most and "..." not in lines[0]:
                extra = positionals[most]
                hint = "; a switch is written -name=false" if extra in ("true", "false") else ""
                return f"unexpected argument {extra!r}{hint}"
        return "these arguments do not fit together"

    def _usage_lines(self) -> list[str]:
        body = self.usage.partition("Usage:")[2].lstrip("\n").split("\n\n", 1)[0]
        return [line.strip() for line in body.splitlines() if line.strip()]

    @property
    def synopsis(self) -> str:
        """The usage lines, for the end of a usage error."""
        return "\n".join(f"usage: {line}" for line in self._usage_lines())


def _outside_brackets(text: str) -> str:
    """The part of a usage line that is not optional."""
    while (shorter := re.sub(r"\[[^\[\]]*\](\.\.\.)?", " ", text)) != text:
        text = shorter
    return text
