"""Time is passed in: an `Instant` is integer nanoseconds UTC inside whisk and RFC 3339 text outside."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Protocol

from whisk.errors import InvalidError

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)")


class Instant(int):
    """Nanoseconds since 1970-01-01T00:00:00Z."""

    __slots__ = ()

    def rfc3339(self) -> str:
        """`2026-01-02T03:04:05.000000006Z`: always nine digits, so the text sorts like the time."""
        seconds, nanos = divmod(int(self), 1_000_000_000)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{nanos:09d}Z"

    def plus(self, seconds: float) -> Instant:
        return Instant(int(self) + round(seconds * 1_000_000_000))

    def seconds_until(self, later: Instant) -> float:
        return (int(later) - int(self)) / 1_000_000_000

    @classmethod
    def parse(cls, text: str) -> Instant:
        """Read RFC 3339 with any offset; raises `InvalidError`."""
        match = _RFC3339.fullmatch(text)
        if match is None:
            raise InvalidError(f"not an RFC 3339 time: {text!r}", expected="2026-01-02T03:04:05Z")
        date, clock, fraction, offset = match.groups()
        try:
            moment = datetime.fromisoformat(f"{date}T{clock}{'+00:00' if offset in 'Zz' else offset}")
        except ValueError as error:
            raise InvalidError(f"not an RFC 3339 time: {text!r} ({error})") from error
        return cls(int(moment.timestamp()) * 1_000_000_000 + int((fraction or "0").ljust(9, "0")))


class Clock(Protocol):
    def now(self) -> Instant:
        """The wall clock."""

    def monotonic(self) -> float:
        """Seconds that never go back; for deadlines and rates."""


class SystemClock:
    def now(self) -> Instant:
        return Instant(time.time_ns())

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told; for tests of leases, deadlines and back-off."""

    def __init__(self, start: int = 1_800_000_000_000_000_000) -> None:
        self._now = start
        self._mono = 0.0

    def now(self) -> Instant:
        return Instant(self._now)

    def monotonic(self) -> float:
        return self._mono

    def advance(self, seconds: float) -> None:
        self._now += round(seconds * 1_000_000_000)
        self._mono += seconds
