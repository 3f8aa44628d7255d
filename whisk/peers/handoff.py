"""What is worth knowing of an agent session when it ends: for whoever takes the work up again. Pure."""

from __future__ import annotations

from typing import ClassVar, Literal

from whisk.clock import Instant
from whisk.values import Record

Cause = Literal["session_end", "process_gone", "terminal_ended", "replaced", "not_seen"]


class Handoff(Record, frozen=True):
    """`reason` is the agent's own word at a `session_end`. `seconds` is how long the conversation lasted.

    The texts are redacted and cut; they are empty where the agent said nothing, and where the hook log is off.
    """

    wire_name: ClassVar[str] = "PeerHandoff"

    at: Instant
    cause: Cause
    reason: str
    provider_session_id: str
    seconds: float
    turns: int
    model: str = ""
    last_prompt: str = ""
    last_message: str = ""
    open_question: str = ""
    last_error: str = ""
