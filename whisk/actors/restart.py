"""When a crashed actor is started again, and when it is given up. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RestartKind = Literal["permanent", "transient", "temporary"]
Strategy = Literal["one_for_one", "rest_for_one"]

LONG_FACTOR = 60
"""A crash loop slower than the short window is caught by a window this many times longer …"""
LONG_ALLOWANCE = 4
"""… in which this many times more restarts are allowed."""


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """At most `max_restarts` within `within` seconds; waits `backoff` seconds, doubled at each crash, at most `cap`."""

    kind: RestartKind = "transient"
    max_restarts: int = 5
    within: float = 10.0
    backoff: float = 0.05
    cap: float = 5.0

    def after_crash(self, crashes: Sequence[float], now: float) -> float | None:
        """Seconds until the restart, or None to give up. `crashes` are the times of all crashes, this one included."""
        if self.kind == "temporary":
            return None
        recent = [at for at in crashes if now - at <= self.within]
        long = [at for at in crashes if now - at <= self.within * LONG_FACTOR]
        if len(recent) > self.max_restarts or len(long) > self.max_restarts * LONG_ALLOWANCE:
            return None
        return min(self.backoff * 2.0 ** (len(long) - 1), self.cap)

    def remembered(self, crashes: Sequence[float], now: float) -> list[float]:
        """The crashes that still count."""
        return [at for at in crashes if now - at <= self.within * LONG_FACTOR]
