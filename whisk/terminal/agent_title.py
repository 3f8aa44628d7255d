"""What a terminal's title tells of its agent. A title is the program's own word, but written for people.

Seen on the real programs: Claude Code 2.1.197 shows a star before the topic while it is idle *and* while it asks for a
permission, so the star says only that it does not work. Codex 0.171.0 blinks "Action Required" while it asks, shows a
spinner while it works, and nothing else when it is idle. Both put the first words of the prompt into their titles.
"""

from __future__ import annotations

import re

from whisk.terminal.agent import TITLE_CHARS, AgentName, AgentState, Sighting, agent_named, tidy

_GEMINI: dict[str, AgentState] = {"\u270b": "waiting", "\u2726": "working", "\u23f2": "working", "\u25c7": "idle"}
_CODEX_ASKS = re.compile(r"\[ [!.] \] Action Required\b")
_CLAUDE_STAR = "\u2733"
_SPINNER = re.compile("[\u2801-\u28ff]")
# Whose titles have signs of their own; their words are those of somebody's prompt.
_SIGNED: tuple[AgentName, ...] = ("claude", "codex", "gemini")
# The first that fits counts: what waits for a person says more than the word "working" beside it.
_PHRASES: tuple[tuple[AgentState, re.Pattern[str]], ...] = (
    (
        "waiting",
        re.compile(
            r"action required|requires approval|awaiting approval|waiting for (?:input|permission)"
            r"|\b(?:permission|waiting|approval)\b",
            re.IGNORECASE,
        ),
    ),
    ("done", re.compile(r"\b(?:done|finished|completed?)\b", re.IGNORECASE)),
    ("idle", re.compile(r"\b(?:ready|idle)\b", re.IGNORECASE)),
    ("working", re.compile(r"\b(?:working|thinking|running)\b", re.IGNORECASE)),
)
_MOVING = re.compile(r"^(?:[\u2801-\u28ff]|\[ [!.] \])\s*")


def read_title(title: str, known: AgentName = "unknown") -> Sighting | None:
    """What `title` tells of the agent it names, or of `known`, which runs there; None when it is of neither.

    The state is `unknown` for a title that only names the agent.
    """
    text = tidy(title, TITLE_CHARS)
    # A list of Claude's agents, not an agent of its own.
    if re.fullmatch(r"(?:\S*[/\\])?claude(?:\.\w+)? agents", text, re.IGNORECASE):
        return None
    mark = text[:1]
    if mark in _GEMINI:
        return Sighting(state=_GEMINI[mark], agent="gemini")
    if _CODEX_ASKS.match(text):
        return Sighting(state="waiting", agent="codex")
    if mark == _CLAUDE_STAR:
        return Sighting(state="unknown", agent="claude")
    agent = known if known != "unknown" else agent_named(text)
    if agent == "unknown":
        return None
    if _SPINNER.match(mark) or (agent == "claude" and text.startswith(". ")):
        return Sighting(state="working", agent=agent)
    if known in _SIGNED:
        return Sighting(state="unknown", agent=agent)
    return Sighting(state=next((state for state, sign in _PHRASES if sign.search(text)), "unknown"), agent=agent)


def rests(title: str | None) -> bool:
    """Whether the title says that the agent does not work, be it idle or asking."""
    return (title or "").lstrip().startswith(_CLAUDE_STAR)


def still(title: str) -> str:
    """The title without what moves in it: a spinner changes ten times a second, and that is no news."""
    return _MOVING.sub("", tidy(title, TITLE_CHARS))
