"""What the last lines of a terminal's screen tell of its agent: the least of all sources.

An agent prints what it reads: other people's dialogs, logs, this very page. So a line counts only when it is nothing
but a status line, near the bottom of what is on the screen now, and nobody is ever *waiting* because of a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from whisk.terminal.agent import PROMPT_CHARS, AgentName, AgentState, Sighting, agent_called, tidy

BOTTOM_LINES = 8
"""How many lines that are not empty count: an agent's input box and its hints stand below its status."""

# What agents show while they work, as data: what a new version shows instead is unknown, not idle.
_AT_WORK: dict[AgentName, re.Pattern[str]] = {
    "claude": re.compile("[\u00b7\u2722\u2733\u2736\u273b\u273d*] .*\\([^()]*\\besc to interrupt\\b[^()]*\\)"),
    "codex": re.compile("[\u2022\u25e6] .*\\([^()]*\\besc to interrupt\\)"),
    "gemini": re.compile("[\u2801-\u28ff] .*\\(esc to cancel\\b[^()]*\\)"),
}
# The very last line is the program's own: what it prints stands above it. Claude Code 2.1.197; a dialog has another.
_FOOTERS: dict[AgentName, tuple[tuple[AgentState, re.Pattern[str]], ...]] = {
    "claude": (("working", re.compile(r"esc to interrupt\b")), ("idle", re.compile(r"\? for shortcuts\b"))),
}
_STATUS_LINE = re.compile(
    r"\W*(?P<agent>claude|codex|gemini|opencode|aider)(?: (?:code|cli))?"
    r"(?:\s+is\s+|[\s:\u00b7|\u2014\u2013)\]-]{1,4})"
    r"(?:(?P<working>working|thinking|running)|(?P<idle>ready|idle)|(?P<done>done|finished|completed?))[.\u2026!]*",
    re.IGNORECASE,
)


def read_tail(lines: Sequence[str], known: AgentName = "unknown") -> Sighting | None:
    """What the lines of the screen, top to bottom, tell of the agent `known`, or of the one that they name."""
    shown = [text for line in lines if (text := " ".join(line.split()))][-BOTTOM_LINES:]
    found = _by_signs(shown, known) if shown else None
    return found or next((told for line in reversed(shown) if (told := _status_line(line, known)) is not None), None)


def _by_signs(shown: Sequence[str], known: AgentName) -> Sighting | None:
    at_work = _AT_WORK.get(known)
    for line in reversed(shown):
        if at_work is not None and at_work.fullmatch(line):
            return Sighting(state="working", agent=known, prompt=tidy(line, PROMPT_CHARS))
    for state, footer in _FOOTERS.get(known, ()):
        if footer.match(shown[-1]):
            return Sighting(state=state, agent=known, prompt=tidy(shown[-1], PROMPT_CHARS))
    return None


def _status_line(line: str, known: AgentName) -> Sighting | None:
    told = _STATUS_LINE.fullmatch(line)
    if told is None:
        return None
    agent = agent_called(told["agent"])
    if known not in ("unknown", agent):
        return None
    states: tuple[AgentState, ...] = ("working", "idle", "done")
    state = next(state for state in states if told[state])
    return Sighting(state=state, agent=agent, prompt=tidy(line, PROMPT_CHARS))
