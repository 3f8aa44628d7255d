"""Messages that reached nobody: kept in a bounded ring, listed and replayable."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from whisk.actors.inbox import Call
from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.ids import new_id
from whisk.values import Record

_ARGUMENTS_SHOWN = 200


class DeadLetter(Record, frozen=True):
    """One undelivered message, as it is shown."""

    id: str
    at: Instant
    to: str
    method: str
    arguments: str
    reason: str
    sender: str | None = None


class DeadLetters:
    """The last `limit` undelivered messages; older ones are only counted."""

    def __init__(self, limit: int = 1000) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, tuple[DeadLetter, Call]] = OrderedDict()
        self.total = 0

    def add(self, to: str, call: Call, reason: str, at: Instant) -> DeadLetter:
        shown = ", ".join([*(repr(a) for a in call.args), *(f"{k}={v!r}" for k, v in (call.kwargs or {}).items())])
        if len(shown) > _ARGUMENTS_SHOWN:
            shown = shown[: _ARGUMENTS_SHOWN - 1] + "…"
        letter = DeadLetter(
            id=new_id("dead"), at=at, to=to, method=call.method, arguments=shown, reason=reason, sender=call.cause
        )
        self._kept[letter.id] = (letter, call)
        self.total += 1
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        return letter

    def list(self) -> tuple[DeadLetter, ...]:
        """Oldest first."""
        return tuple(letter for letter, _ in self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)

    def replay(self, letter_id: str, send: Callable[[str, Call], None]) -> DeadLetter:
        """Send one again by `send(to, call)` and forget it; it stays when `send` raises."""
        try:
            letter, call = self._kept[letter_id]
        except KeyError:
            raise NotFoundError(f"dead letter {letter_id} not found", id=letter_id) from None
        send(letter.to, call)
        del self._kept[letter_id]
        return letter
