"""Which agent runs in a terminal and what it is doing: the record, and the names that agents are known by. Pure.

What is not known is `unknown`. Nothing here completes a run, answers a prompt or moves work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from whisk.clock import Instant
from whisk.terminal.plain import plain
from whisk.values import Record

AgentName = Literal["unknown", "claude", "codex", "gemini", "opencode", "aider"]
AgentState = Literal["unknown", "working", "waiting", "idle", "done"]
Source = Literal["bridge", "osc9999", "osc-title", "output-tail", "process"]
Confidence = Literal["explicit", "fallback", "unknown"]

LABELS: dict[AgentName, str] = {
    "unknown": "Agent",
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "aider": "aider",
}
# Claude last: a Codex that works on CLAUDE.md says so in its title.
NAMES: tuple[AgentName, ...] = ("codex", "gemini", "opencode", "aider", "claude")
LABEL_CHARS = 80
TITLE_CHARS = 1024
PROMPT_CHARS = 200

# A path or a longer word is not the agent: ~/.claude, claude-notes, my.codex.
_TOKENS = {
    name: re.compile(rf"(?<![\w./\\-]){name}(?:\.(?:exe|cmd|bat|ps1))?(?![\w/\\-]|\.\w)", re.IGNORECASE)
    for name in NAMES
}


class AgentStatus(Record, frozen=True):
    """`source` is what told; `advisory` says that it was not the agent's hooks. `since` is when the state was first
    seen. `prompt` is what is waited for, or the line of the screen that tells.
    """

    agent: AgentName
    label: str
    state: AgentState
    source: Source
    confidence: Confidence
    advisory: bool
    title: str | None = None
    prompt: str | None = None
    since: Instant | None = None


class Sighting(Record, frozen=True):
    """What one source tells, before it is weighed against the others. `agent` may be unknown to it."""

    state: AgentState
    agent: AgentName = "unknown"
    label: str = ""
    prompt: str = ""
    since: Instant | None = None


def agent_named(text: str) -> AgentName:
    """The agent that `text` names as a word of its own."""
    return next((name for name in NAMES if _TOKENS[name].search(text)), "unknown")


def agent_called(name: str) -> AgentName:
    """The agent of exactly that name, as hooks and programs give it."""
    return next((each for each in NAMES if each == name.strip().lower()), "unknown")


def agent_of(argv: Sequence[str]) -> AgentName:
    """The agent that a terminal's program is."""
    program = argv[0].replace("\\", "/").rpartition("/")[2] if argv else ""
    return agent_called(re.sub(r"\.(exe|cmd|bat|ps1|js)$", "", program))


def tidy(text: str, limit: int) -> str:
    """One clean line of at most `limit` characters; what was cut ends in `...`."""
    line = " ".join(plain(text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
