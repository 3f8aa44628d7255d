"""What may come next on a command line: command words, options, and values, the daemon's ids among them.

Everything is read from the commands' own help texts, so a new command or option is completed without a word here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from whisk.cli import registry
from whisk.cli.command import Command
from whisk.cli.option import Option

Fetch = Callable[[str], "list[Candidate]"]
"""The ids that there are of a noun (`pty`, `work-item`); none for a noun without ids, or when nobody can be asked."""

# `passed, failed or overridden.`: a description that begins with a closed list of words.
_CHOICES = re.compile(r"((?:[a-z_]+, )*[a-z_]+ or [a-z_]+)(?=[.;:,]|$)")
_FILES = frozenset({"path", "file"})
_FOLDERS = frozenset({"dir", "folder"})
_ADDRESSES = frozenset({"address", "addresses"})
_ADDRESS_KINDS = ("run", "pty", "session", "work-item", "project", "@project", "@work-item", "@idle")


class Candidate(NamedTuple):
    """`text` replaces the word that is being typed; `about` is shown beside it."""

    text: str
    about: str = ""


class Candidates(NamedTuple):
    """`paths` asks the shell to complete file names itself (`files` or `folders`), behind `prefix`."""

    found: list[Candidate]
    paths: str = ""
    prefix: str = ""


def complete(words: list[str], load: Callable[[str], Command], fetch: Fetch) -> Candidates:
    """What the last of `words` may become. `words` are those behind `whisk`; the last may be empty."""
    *before, typed = words or [""]
    known = [word for word in before if not word.startswith("-")]
    match = registry.find(known)
    longer = _next_words(known, typed)
    if match is None or (longer and match[1] == len(known)):
        return Candidates(longer)
    command = load(match[0])
    rest = _behind(before, match[1])
    options = command.options
    if rest and (asked := _wants_value(rest[-1], options)) is not None:
        return _values(asked.name, _placeholder(command, asked.name), _about(command, asked.name), typed, fetch)
    if typed.startswith("-") and "--" not in rest:
        name, equals, value = typed.lstrip("-").partition("=")
        if equals and name in options:
            lead = typed[: len(typed) - len(value)]
            return _behind_equals(_values(name, _placeholder(command, name), _about(command, name), value, fetch), lead)
        return Candidates(_options(command, rest, typed))
    place = _positional(command, _positionals(rest, options))
    if place is None:
        return Candidates([])
    return _values(_noun(command) if place in ("id", "name") else place, place, "", typed, fetch)


def _noun(command: Command) -> str:
    """`work-item` of `work-item update`, `pty` of `session pty kill`."""
    return command.words.split()[-2:][0]


def _next_words(known: list[str], typed: str) -> list[Candidate]:
    """The words that may follow `known` in a command; one that ends a command is shown with what it does."""
    noun = " ".join(known)
    found: dict[str, str] = {}
    for name in registry.below(noun):
        rest = name.split()[len(known) :]
        if rest and rest[0].startswith(typed):
            whole = len(rest) == 1
            found[rest[0]] = registry.COMMANDS[name].summary if whole else found.get(rest[0], "")
    if not known and "help".startswith(typed):
        found["help"] = "list the commands, or show one"
    return [Candidate(word, about) for word, about in found.items()]


def _behind(before: list[str], count: int) -> list[str]:
    """What follows the first `count` words that are no options; options in between belong to the command too."""
    rest: list[str] = []
    for word in before:
        if count and not word.startswith("-"):
            count -= 1
        else:
            rest.append(word)
    return rest


def _wants_value(word: str, options: dict[str, Option]) -> Option | None:
    if not word.startswith("-") or "=" in word:
        return None
    option = options.get(word.lstrip("-"))
    return option if option is not None and option.takes_value else None


def _positionals(rest: list[str], options: dict[str, Option]) -> int:
    """How many positionals have been given."""
    count, skip = 0, False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = _wants_value(word, options) is not None
        else:
            count += 1
    return count


def _positional(command: Command, given: int) -> str | None:
    """The name of the next positional, as the usage line calls it; the last again when it may be repeated."""
    places: list[str] = []
    repeated = False
    for line in command.synopsis.splitlines():
        found = re.findall(r"(?<!=)<([^>]+)>", line)
        if len(found) > len(places):
            places, repeated = found, line.rstrip("]").endswith("...")
    if given < len(places):
        return places[given]
    return places[-1] if places and repeated else None


def _options(command: Command, rest: list[str], typed: str) -> list[Candidate]:
    given = {word.lstrip("-").partition("=")[0] for word in rest if word.startswith("-")}
    dashes = "--" if typed.startswith("--") else "-"
    wanted = typed.lstrip("-")
    return [
        Candidate(dashes + name, _about(command, name))
        for name, option in command.options.items()
        if name.startswith(wanted) and (option.repeats or name not in given)
    ]


def _values(name: str, placeholder: str, about: str, typed: str, fetch: Fetch) -> Candidates:
    if placeholder in _FILES | _FOLDERS:
        return Candidates([], "files" if placeholder in _FILES else "folders")
    choices = _CHOICES.match(about)
    if choices is not None and placeholder not in _ADDRESSES:
        found = [Candidate(word) for word in re.split(", | or ", choices[1])]
    elif placeholder in _ADDRESSES:
        return Candidates(_addresses(typed, fetch))
    else:
        found = fetch(name)
    return Candidates([each for each in found if each.text.startswith(typed)])


def _addresses(typed: str, fetch: Fetch) -> list[Candidate]:
    """Kinds first, then the ids of the kind; behind a comma the next address begins."""
    done, comma, last = typed.rpartition(",")
    kind, colon, _ = last.partition(":")
    if not colon:
        found = [Candidate(f"{each}:") for each in _ADDRESS_KINDS]
    else:
        noun = {"@idle": "project"}.get(kind, kind.removeprefix("@"))
        found = [Candidate(f"{kind}:{each.text}", each.about) for each in fetch(noun)]
    return [Candidate(done + comma + each.text, each.about) for each in found if each.text.startswith(last)]


def _behind_equals(found: Candidates, lead: str) -> Candidates:
    return Candidates([Candidate(lead + each.text, each.about) for each in found.found], found.paths, lead)


def _placeholder(command: Command, name: str) -> str:
    found = re.search(rf"--{re.escape(name)}=<([^>]+)>", command.text)
    return found[1] if found is not None else ""


def _about(command: Command, name: str) -> str:
    """What the help says of an option, in one line."""
    found = re.search(rf"^ +--{re.escape(name)}(?:=<[^>]+>)?((?: {{2,}}(?!-).*\n)+)", command.text + "\n", re.MULTILINE)
    text = " ".join(found[1].split()) if found is not None else ""
    return re.sub(r" \[default: [^\]]*\]", "", text)
