"""What a terminal's title tells of its agent. A title is the program's own word, but written for people."""

from __future__ import annotations

import re

from whisk.terminal.agent import TITLE_CHARS, AgentName, AgentState, Sighting, agent_named, tidy

_GEMINI: dict[str, AgentState] = {"\u270b": "waiting", "\u2726": "working", "\u23f2": "working", "\u25c7": "idle"}
_CLAUDE_IDLE = "\u2733"  # the star in front of the topic, while nothing runs
_SPINNER = re.compile("[\u2801-\u28ff]")
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
    ("working", re.compile("\\b(?:working|thinking|running)\\b|[\u2801-\u28ff]", re.IGNORECASE)),
)


def read_title(title: str, known: AgentName = "unknown") -> Sighting | None:
    """What `title` tells of the agent it names, or of `known`, which runs there; None when it is of neither.

    The state is `unknown` for a title that only names the agent.
    """
    text = tidy(title, TITLE_CHARS)
    # A list of Claude's agents, not an agent of its own.
    if re.fullmatch(r"(?:\S*[/\\])?claude(?:\.\w+)? agents", text, re.IGNORECASE):
        return None
    mark = text[:1]
    if mark in _GEMINI and mark:
        return Sighting(state=_GEMINI[mark], agent="gemini")
    if mark == _CLAUDE_IDLE:
        return Sighting(state="idle", agent="claude")
    agent = agent_named(text)
    agent = known if agent == "unknown" else agent
    if agent == "unknown":
        return None
    if agent == "claude" and text.startswith((". ", "* ")):
        return Sighting(state="working" if mark == "." else "idle", agent=agent)
    if agent == "claude" and _SPINNER.match(mark):
        # Behind the spinner stands the topic, whose words say nothing of the state.
        return Sighting(state="working", agent=agent)
    return Sighting(state=next((state for state, sign in _PHRASES if sign.search(text)), "unknown"), agent=agent)
