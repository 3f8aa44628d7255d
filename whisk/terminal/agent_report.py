"""OSC 9999: what a program tells its terminal about itself.

`ESC ] 9999 ; {"state": "working"} BEL` (or ST at the end), with `state` one of working, waiting (or blocked), idle and
done, and, if it likes, `agent` (or `agentType`), `label` and `prompt`. A bare word (`ESC ] 9999 ; idle BEL`) is the
same as an object with that state alone. An empty payload takes the report back.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whisk.terminal.agent import LABEL_CHARS, PROMPT_CHARS, AgentState, Sighting, agent_called, tidy

_STATES: dict[str, AgentState] = {
    "working": "working",
    "waiting": "waiting",
    "blocked": "waiting",
    "idle": "idle",
    "done": "done",
}


def read_report(payload: str) -> Sighting | None:
    """The report, with state `unknown` when it is taken back; None for a payload that means nothing here."""
    text = payload.strip()
    if not text:
        return Sighting(state="unknown")
    if not text.startswith("{"):
        state = _STATES.get(text.lower())
        return Sighting(state=state) if state is not None else None
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    state = _STATES.get(_text(given, "state").lower())
    if state is None:
        return None
    return Sighting(
        state=state,
        agent=agent_called(_text(given, "agent") or _text(given, "agentType")),
        label=tidy(_text(given, "label"), LABEL_CHARS),
        prompt=tidy(_text(given, "prompt"), PROMPT_CHARS),
    )


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""
