"""From words to a command, and from every way a command can fail to words on stderr and an exit code."""

from __future__ import annotations

import os
import sys

from whisk.cli import registry
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import (
    BROKEN_PIPE,
    INTERRUPTED,
    OK,
    REFUSED,
    USAGE,
    CommandError,
    HelpShown,
    OutputError,
    RefusedError,
    UnreachableError,
    UsageError,
)
from whisk.cli.option import near_names
from whisk.cli.output import Output, prepare

_HELP_OPTIONS = ("-h", "-help", "--help")
_VERSION_OPTIONS = ("-version", "--version")


def run(arguments: list[str]) -> int:
    """Run the command that `arguments` name and return its exit code; raises only for bugs."""
    # A descriptor that was closed has no stream: what would be said there goes nowhere.
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
    prepare(sys.stderr)
    if sys.stdout is None:
        sys.stderr.write("whisk: cannot write to stdout: it is closed\n")
        return REFUSED
    prepare(sys.stdout)
    context = Context(os.environ, Output(os.environ))
    try:
        code = _run(_options_last(as_utf8(arguments)), context)
        context.out.flush()
        return code
    except BrokenPipeError:
        # Whoever read us has seen enough.
        _forget_stdout()
        return BROKEN_PIPE
    except OutputError as error:
        _forget_stdout()
        sys.stderr.write(f"whisk: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except CommandError as error:
        _complain(context, error)
        return error.exit_code


def as_utf8(arguments: list[str]) -> list[str]:
    """The arguments read as UTF-8, whatever the locale; raises `UsageError` for one that is something else."""
    texts = []
    for argument in arguments:
        raw = os.fsencode(argument)
        try:
            texts.append(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise UsageError(f"not UTF-8 text: {str(raw)[1:]}") from None
    return texts


def load(words: str) -> Command:
    """Import one command. Modules of other commands stay unread."""
    from importlib import import_module

    module, _, name = registry.COMMANDS[words].place.partition(":")
    command = getattr(import_module(module), name)
    if not isinstance(command, Command):
        raise TypeError(f"{module}:{name} is not a Command")
    return command


def _run(arguments: list[str], context: Context) -> int:
    if not arguments or arguments[0] in _HELP_OPTIONS:
        return _list(context, "")
    if arguments[0] == "help":
        return _help(context, [word for word in arguments[1:] if not word.startswith("-")])
    found = registry.find(arguments)
    if found is None:
        return _no_command(context, arguments)
    words, count = found
    command = load(words)
    try:
        given = command.parse(arguments[count:], context)
        context.json_wanted = "json" in command.common and given.flag("json")
        context.chosen_url = given.text("url") if "url" in command.common else None
        return command.run(context, given) or OK
    except HelpShown as shown:
        from whisk.cli.help import fit

        text = f"whisk {words}: {registry.COMMANDS[words].summary}\n\n{shown.text.rstrip()}"
        context.out.line(fit(text, context.out.columns))
        return OK
    except UsageError as error:
        raise UsageError(f"{error}\n{command.synopsis}\n`whisk {words} -h` says more") from None


def _options_last(arguments: list[str]) -> list[str]:
    """`whisk -json mail list` and `whisk mail -json list` mean `whisk mail list -json`.

    They go right behind the command's words, where no `--` can swallow them.
    """
    words: list[str] = []
    options: list[str] = []
    rest = list(arguments)
    while rest and " ".join(words) not in registry.COMMANDS:
        token = rest[0]
        if token.startswith("-") and token not in _HELP_OPTIONS:
            if token in _VERSION_OPTIONS and not words:
                return ["version", *options, *rest[1:]]
            options.append(rest.pop(0))
            if token in ("-url", "--url") and rest:
                options.append(rest.pop(0))
        elif registry.below(" ".join([*words, token])):
            words.append(rest.pop(0))
        else:
            break
    return rest if not words and rest[:1] == ["help"] else [*words, *options, *rest]


def _help(context: Context, words: list[str]) -> int:
    found = registry.find(words)
    if found is not None and found[1] == len(words):
        return _run([*words, "-h"], context)
    if words and not registry.below(" ".join(words)):
        return _no_command(context, words)
    return _list(context, " ".join(words))


def _list(context: Context, noun: str) -> int:
    """The commands below `noun` with one line each; without a noun the nouns with their verbs."""
    out = context.out
    if not noun:
        out.line("whisk: one local daemon for people who run several coding agents at once\n")
        out.line("Usage: whisk <command> [options]\n")
        for line in _overview(out.columns or 80):
            out.line(line)
        out.line("\n`whisk help <noun>` says what each does; `whisk help <command>` has options and")
        out.line("an example.")
        return OK
    names = registry.below(noun)
    wide = max(len(name) for name in names) + 2
    for name in names:
        out.line(f"  {name:<{wide}}{registry.COMMANDS[name].summary}")
    out.line("\n`whisk help <command>` shows options and an example; -json and --json are the same.")
    return OK


def _overview(columns: int) -> list[str]:
    """A hundred commands are too many to read: one line a noun. A command of one word is shown with what it does."""
    import textwrap

    verbs: dict[str, list[str]] = {}
    for name in registry.COMMANDS:
        noun, _, verb = name.rpartition(" ")
        if noun not in registry.COMMANDS:
            verbs.setdefault(noun or name, []).append(verb if noun else registry.COMMANDS[name].summary)
    wide = max(map(len, verbs)) + 4
    lines: list[str] = []
    for noun, words in verbs.items():
        lead = f"  {noun}".ljust(wide)
        lines += textwrap.wrap(
            ", ".join(words),
            max(columns, wide + 20),
            initial_indent=lead,
            subsequent_indent=" " * wide,
            break_on_hyphens=False,
        )
    return lines


def _no_command(context: Context, arguments: list[str]) -> int:
    """A noun without its verb lists the verbs; anything else is answered with what was probably meant."""
    words: list[str] = []
    for word in arguments:
        if not registry.below(" ".join([*words, word])):
            break
        words.append(word)
    noun, rest = " ".join(words), arguments[len(words) :]
    if noun and rest and rest[0] in _HELP_OPTIONS:
        return _list(context, noun)
    prefix = f"{noun} " if noun else ""
    choices = list(dict.fromkeys(name.removeprefix(prefix).split()[0] for name in registry.below(noun)))
    wrong = next((word for word in rest if not word.startswith("-")), None)
    if wrong is None:
        context.out.note(f"{' '.join(['whisk', *words])} needs one more word: {', '.join(choices)}")
    else:
        near = near_names(wrong, choices)
        hint = f"did you mean {' or '.join(prefix + one for one in near)}?" if near else "`whisk help` lists them all"
        context.out.note(f"unknown command: {prefix}{wrong}; {hint}")
    return USAGE


def _forget_stdout() -> None:
    """Python would complain once more when it flushes stdout at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(context: Context, error: CommandError) -> None:
    """The sentence on stderr; for `-json` callers a JSON object with the stable code as well as the sentence."""
    if context.json_wanted and not isinstance(error, UsageError):
        import json

        body: dict[str, object] = {"error": str(error), "code": error.code}
        if isinstance(error, RefusedError) and error.details:
            body["details"] = error.details
        context.out.note(json.dumps(body, indent=2, ensure_ascii=False))
    else:
        context.out.note(f"whisk: {error}")
        if isinstance(error, UnreachableError) and (remark := context.other_daemon()):
            context.out.note(remark)
