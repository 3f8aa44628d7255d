"""The grammar of a policy rule, and which tool calls it matches.

    Bash                     every call of the tool
    Bash(git status *)       calls whose subject fits the glob: a command, a path, an address
    Bash(npm run:*)          the same, and the words alone: `npm run`, `npm run test`
    Read(src/**)             paths below the folder that the agent works in; `/etc/*` and `**/.env` are absolute
    WebFetch(domain:x.org)   that host and those below it
    mcp__server__*           every tool of an MCP server; `mcp__server` says the same

A rule that allows is read narrowly and one that denies or asks widely, because the two kinds of mistake do not cost the
same: an allowing glob never matches a command line that holds more than one command, while a denying one is tried
against each command in it, and against a file of that name in any folder when it names none.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from whisk.bridges import glob as globs
from whisk.errors import InvalidError
from whisk.values import Record, check_text

RULE_BYTES = 4096
PATH_CHARS = 4096
COMMAND_CHARS = 131_072
"""No path is longer, and no shell is given a longer command as one argument. What is longer is not taken apart: no rule
that allows fits it, and every glob that denies or asks does."""

_RULE = re.compile(r"(?P<tool>[A-Za-z0-9_*][A-Za-z0-9_.:*\-]*)(?:\((?P<glob>.*)\))?", re.DOTALL)

SHELLS = frozenset({"Bash", "shell", "exec_command", "local_shell", "run_shell_command", "PowerShell"})
_PATHS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "LS": "path",
}
_WORDS = {
    "WebFetch": "url",
    "WebSearch": "query",
    "Glob": "pattern",
    "Grep": "pattern",
    "Task": "subagent_type",
    "Agent": "subagent_type",
    "Skill": "skill",
    "SlashCommand": "command",
}

# Anything by which one command line can hold a second command, write a file, or hide either.
_COMPOUND = re.compile(r"[;&|<>`\n\r(){}]|\$\(|\$\{|\$'")
_SEPARATORS = re.compile(r"\$\(|[;&|<>`\n\r(){}]+")
_PREFIXES = re.compile(
    r"\s*(?:(?:sudo|env|command|builtin|exec|nohup|time|nice|then|do|else|!)\s+|[A-Za-z_]\w*=\S*\s+)*"
)
_LEADING = re.compile(r"then|do|else|!|[A-Za-z_]\w*=.*")
# What starts a program that it is told: the words behind may begin with options, and with those options' values.
_WRAPPERS = frozenset(
    {"sudo", "doas", "env", "command", "exec", "nohup", "time", "nice", "ionice", "timeout", "stdbuf", "setsid"}
    | {"xargs", "find", "watch", "bash", "sh", "zsh", "dash", "ksh", "eval"}
)
_PLAIN_URL = re.compile(r"https?://([a-z0-9.-]+)(?::\d+)?(?:[/?#][^\s\\]*)?", re.IGNORECASE | re.ASCII)
_LENIENT_URL = re.compile(r"(?:[a-z][a-z0-9+\-]*:)?/*(?:[^/?#]*@)?([^/?#:]*)", re.IGNORECASE)
_PATCHED = re.compile(r"^[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)", re.MULTILINE)
# The words behind a program that starts another are tried one by one as that other; with more of them than this
# times their length, it is not worth telling what they start.
_TRIED = 20_000_000


class Rule(Record, frozen=True):
    """A parsed rule; `glob` is None when every call of the tool is meant."""

    tool: str
    glob: str | None = None


@lru_cache(maxsize=1024)
def parse_rule(text: str) -> Rule:
    """Read a rule; `InvalidError` says what a rule looks like."""
    check_text(text, "rule", limit=RULE_BYTES, empty=False)
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise InvalidError(
            f"not a rule: {text!r}; write Tool, Tool(glob) or mcp__server__*",
            expected="Tool, Tool(glob), mcp__server__*",
        )
    tool, glob = match["tool"], match["glob"]
    if tool.startswith("mcp__") and glob is not None:
        raise InvalidError(f"the tools of an MCP server take no glob in brackets: write {tool}", expected=tool)
    if tool.startswith("mcp__") and tool.count("__") == 1 and not tool.endswith("*"):
        tool += "__*"
    if glob and glob.startswith("~") and tool in _PATHS:
        raise InvalidError(f"write the whole path: whiskd does not know whose home {glob!r} means", rule=text)
    return Rule(tool=tool, glob=glob or None)


def allows(rule: Rule, tool: str, tool_input: dict[str, Any], cwd: str) -> bool:
    """Whether a rule that allows matches this call, for certain."""
    if not names(rule, tool):
        return False
    if rule.glob is None:
        return True
    found = _subjects(tool, tool_input, cwd)
    if tool in SHELLS:
        simple = len(found) == 1 and len(found[0]) <= COMMAND_CHARS and _COMPOUND.search(found[0]) is None
        return simple and _fits(rule.glob, found[0], path=False)
    is_path = tool in _PATHS or tool == "apply_patch"
    if is_path and any(len(path) > PATH_CHARS for path in found):
        return False
    # A tool of unknown shape is only known by heart when there is just one thing it could mean.
    if not found or (not is_path and tool not in _WORDS and len(found) != 1):
        return False
    if tool == "WebFetch" and rule.glob.startswith("domain:"):
        return any(_host_within(host[1], rule.glob) for url in found if (host := _PLAIN_URL.fullmatch(url)))
    return all(_fits_any(rule.glob, subject, cwd, path=is_path) for subject in found)


def touches(rule: Rule, tool: str, tool_input: dict[str, Any], cwd: str) -> bool:
    """Whether a rule that denies or asks matches this call, or any part of it."""
    if not names(rule, tool):
        return False
    if rule.glob is None:
        return True
    found = _subjects(tool, tool_input, cwd)
    if tool in SHELLS:
        parts = [_commands(command) for command in found]
        return any(each is None or any(_fits(rule.glob, part, path=False) for part in each) for each in parts)
    is_path = tool in _PATHS or tool == "apply_patch"
    if is_path and any(len(path) > PATH_CHARS for path in found):
        return True
    if tool == "WebFetch" and rule.glob.startswith("domain:"):
        return any(_host_within(_host(url), rule.glob) for url in found)
    if (
        is_path
        and "/" not in rule.glob
        and any(_fits(rule.glob, posixpath.basename(path), path=True) for path in found)
    ):
        return True
    return any(_fits_any(rule.glob, subject, cwd, path=is_path) for subject in found)


def names(rule: Rule, tool: str) -> bool:
    return rule.tool == tool or ("*" in rule.tool and globs.fits(rule.tool, tool, path=False))


def _subjects(tool: str, tool_input: dict[str, Any], cwd: str) -> list[str]:
    """What a glob is compared with: the command, the paths, or every text of a tool of unknown shape."""
    if tool in SHELLS:
        command = tool_input.get("command", tool_input.get("cmd"))
        if isinstance(command, list):
            command = " ".join(str(part) for part in command)
        return [command.strip()] if isinstance(command, str) else []
    if tool == "apply_patch":
        patch = tool_input.get("command", tool_input.get("input"))
        paths = _PATCHED.findall(patch) if isinstance(patch, str) else []
        return [_absolute(path.strip(), cwd) for path in paths]
    if (name := _PATHS.get(tool)) is not None:
        path = tool_input.get(name)
        return [_absolute(path, cwd)] if isinstance(path, str) else []
    if (name := _WORDS.get(tool)) is not None:
        word = tool_input.get(name)
        return [word] if isinstance(word, str) else []
    return [value for value in tool_input.values() if isinstance(value, str)]


@lru_cache(maxsize=1)
def _commands(line: str) -> tuple[str, ...] | None:
    """The line itself and every command in it, without the words that only lead up to one; None for one that is too
    long to be told. The next rule asks for the same line again.
    """
    if len(line) > COMMAND_CHARS:
        return None
    found = [line]
    for part in _SEPARATORS.split(line):
        lead = _PREFIXES.match(part)
        bare = part[lead.end() if lead else 0 :].strip()
        found += [part.strip(), bare]
        # Quotes, a backslash and a folder do not change which program it is.
        words = re.sub(r"[\"'\\]", "", part).split()
        while words and _LEADING.fullmatch(words[0]):
            del words[0]
        told = bool(words) and posixpath.basename(words[0]) in _WRAPPERS
        if told and len(words) * len(part) > _TRIED:
            return None
        for start in range(len(words) if told else min(1, len(words))):
            found.append(" ".join([posixpath.basename(words[start]), *words[start + 1 :]]))
    return tuple(dict.fromkeys(part for part in found if part))


def _absolute(path: str, cwd: str) -> str:
    """`path` without `.` and `..`: a rule for one folder must not be left by writing `..`."""
    joined = posixpath.normpath(posixpath.join(cwd or "/", path))
    return "/" + joined.lstrip("/") if joined.startswith("/") else joined


def _fits_any(glob: str, subject: str, cwd: str, *, path: bool) -> bool:
    if path and glob.startswith("//"):
        # Claude Code's own rules write an absolute path this way.
        glob = glob[1:]
    elif path and not glob.startswith(("/", "**")) and re.search(r"[*?]", cwd):
        base = cwd.rstrip("/") + "/"
        return subject.startswith(base) and _fits(glob, subject.removeprefix(base), path=True)
    elif path and not glob.startswith(("/", "**")):
        glob = posixpath.normpath(posixpath.join(cwd or "/", glob))
    return _fits(glob, subject, path=path)


def _host(url: str) -> str:
    """The host that a lenient browser would make of `url`, however it is written."""
    text = unicodedata.normalize("NFKC", re.sub(r"[\t\r\n]", "", url).strip().replace("\\", "/"))
    match = _LENIENT_URL.match(text)
    return unicodedata.normalize("NFKC", unquote(match[1])).replace("\u3002", ".") if match else ""


def _host_within(host: str, glob: str) -> bool:
    wanted = glob.removeprefix("domain:").lower().removeprefix("*.").strip(".")
    host = host.lower().strip(".")
    return host == wanted or host.endswith("." + wanted)


def _fits(glob: str, subject: str, *, path: bool) -> bool:
    if not path and glob.endswith(":*"):
        lead = glob.removesuffix(":*")
        return subject == lead or globs.fits(lead + " *", subject, path=False)
    if not path and glob.endswith(" *") and glob.count("*") == 1 and subject == glob.removesuffix(" *"):
        # `git status *` also means `git status`: the words with nothing behind them.
        return True
    return globs.fits(glob, subject, path=path)
