"""`whisk completion …`: what a shell needs to complete whisk's command lines."""

from __future__ import annotations

from whisk.cli.argument import Arguments
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.shell import SCRIPTS, render, split_line


def script(context: Context, args: Arguments) -> None:
    shell = args.need("shell")
    if shell not in SCRIPTS:
        raise UsageError(f"there is completion for {', '.join(SCRIPTS)}, not for {shell!r}")
    context.out.raw(SCRIPTS[shell].encode())


def candidates(context: Context, args: Arguments) -> None:
    from whisk.cli import candidate_source
    from whisk.cli.candidate import complete
    from whisk.cli.dispatch import load

    line = args.text("line")
    words = split_line(line) if line is not None else args.many("word") or [""]
    found = complete(words, load, lambda noun: candidate_source.ids(context, noun))
    for each in render(found, args.text("shell") or "", words[-1]):
        context.out.line(each)


SCRIPT = Command(
    words="completion",
    usage="""
Usage:
  whisk completion [options] <shell>

Prints the completion script for bash, zsh or fish. It asks whisk itself at every TAB, the daemon for ids among it.

Examples:
  whisk completion bash > ~/.local/share/bash-completion/completions/whisk
  whisk completion zsh > ~/.zfunc/_whisk
  whisk completion fish > ~/.config/fish/completions/whisk.fish
""",
    run=script,
    common=(),
)

CANDIDATES = Command(
    words="completion candidates",
    usage="""
Usage:
  whisk completion candidates [options] [<word>...]

Called by the completion scripts: prints what the last word may become, one a line, with a tab before what it means.

Options:
  --shell=<name>   For bash, zsh or fish.
  --line=<text>    The whole command line up to the cursor, instead of words.

Examples:
  whisk completion candidates -- prompt res
""",
    run=candidates,
    common=("url",),
)
