"""The state of a terminal's agent, from everything that tells of it: the best source that knows, nothing invented."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whisk.hooks.turn import Turn
from whisk.terminal.agent import (
    LABELS,
    PROMPT_CHARS,
    AgentName,
    AgentState,
    AgentStatus,
    Confidence,
    Sighting,
    Source,
    agent_called,
    agent_of,
    tidy,
)
from whisk.terminal.agent_tail import read_tail
from whisk.terminal.agent_title import read_title, rests, still
from whisk.values import Record

_CONFIDENCE: dict[Source, Confidence] = {
    "bridge": "explicit",
    "osc9999": "explicit",
    "osc-title": "fallback",
    "output-tail": "fallback",
    "process": "unknown",
}
_TURNS: dict[str, AgentState] = {"working": "working", "waiting": "waiting", "idle": "idle", "ended": "done"}


class Evidence(Record, frozen=True):
    """All that is known of a running terminal. `tail` are the lines of its screen, empty when nobody has looked.

    `doubted`: `contradicts` has held for a while.
    """

    argv: tuple[str, ...] = ()
    turn: Turn | None = None
    report: Sighting | None = None
    title: str | None = None
    tail: Sequence[str] = ()
    doubted: bool = False


def agent_status(evidence: Evidence) -> AgentStatus | None:
    """The status by the first of hooks, OSC 9999, title and screen that knows a state; None when no agent is known.

    An agent whose state nobody tells is `unknown`. One that says that it has ended leaves the terminal to another: a
    title or a screen of that other one counts, its own that are left behind do not.
    """
    known = _known(evidence)
    found = _sightings(evidence, known)
    telling = [each for each in found if each[1].state != "unknown"]
    if telling and telling[0][1].state == "done" and _CONFIDENCE[telling[0][0]] == "explicit":
        gone = telling[0][1].agent
        telling = [each for each in telling if each[1].agent not in ("unknown", gone)] or telling
    if telling:
        return _status(evidence, *telling[0])
    named = next((sighting.agent for _, sighting in found if sighting.agent != "unknown"), known)
    return None if named == "unknown" else _status(evidence, "process", Sighting(state="unknown", agent=named))


def contradicts(evidence: Evidence) -> bool:
    """Whether the title says that the agent rests which, by its hooks, works.

    Esc ends a turn of Claude Code without any event, so what its hooks told last would hold for ever.
    """
    return evidence.turn is not None and evidence.turn.state == "working" and rests(evidence.title)


def needs_screen(status: AgentStatus | None) -> bool:
    """Whether the screen could tell more than is known by better sources."""
    return status is None or status.source in ("output-tail", "process")


def _known(evidence: Evidence) -> AgentName:
    """The agent that runs there, whatever it is doing: by its hooks, its own word, or the program's name."""
    named = [
        agent_called(evidence.turn.provider) if evidence.turn is not None else "unknown",
        evidence.report.agent if evidence.report is not None else "unknown",
        agent_of(evidence.argv),
    ]
    return next((name for name in named if name != "unknown"), "unknown")


def _sightings(evidence: Evidence, known: AgentName) -> list[tuple[Source, Sighting]]:
    """What each source tells, the best first."""
    turn, report = evidence.turn, evidence.report
    tail = read_tail(evidence.tail, known) if evidence.tail else None
    if evidence.doubted and contradicts(evidence) and tail is not None and tail.state == "idle":
        # Two signs against one that is old; neither would be enough alone.
        turn = None
    found: list[tuple[Source, Sighting | None]] = [
        (
            "bridge",
            Sighting(state=_TURNS[turn.state], agent=known, prompt=turn.prompt, since=turn.at) if turn else None,
        ),
        ("osc9999", msgspec.structs.replace(report, agent=known) if report and report.agent == "unknown" else report),
        ("osc-title", read_title(evidence.title, known) if evidence.title else None),
        ("output-tail", tail),
    ]
    return [(source, sighting) for source, sighting in found if sighting is not None]


def _status(evidence: Evidence, source: Source, found: Sighting) -> AgentStatus:
    return AgentStatus(
        agent=found.agent,
        label=found.label or LABELS[found.agent],
        state=found.state,
        source=source,
        confidence=_CONFIDENCE[source],
        advisory=source != "bridge",
        title=still(evidence.title or "") or None,
        prompt=tidy(found.prompt, PROMPT_CHARS) or None,
        since=found.since,
    )
