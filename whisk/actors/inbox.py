"""An actor's inbox: two lanes, control before data, and a bound on the data lane."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from gevent import get_hub, getcurrent
from pykka._envelope import Envelope

from whisk.errors import BusyError

_REST = object()


class Call(Envelope[Any]):
    """One message: which method, with what, who gets the reply, until when (monotonic seconds), and who sent it."""

    __slots__ = ("args", "at", "cause", "deadline", "kwargs", "method")

    def __init__(
        self,
        method: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
        reply_to: Any,
        deadline: float | None,
        cause: str | None,
        at: float,
        message: Any = None,
    ) -> None:
        self.message = message
        self.method = method
        self.args = args
        self.kwargs = kwargs
        self.reply_to = reply_to
        self.deadline = deadline
        self.cause = cause
        self.at = at

    def __repr__(self) -> str:
        return f"<Call {self.method} from {self.cause or 'outside'}>"


class Inbox:
    """Bounded queue with one reader, the actor's own greenlet. All use is from the hub's thread."""

    __slots__ = ("bound", "control", "data", "high", "loop", "name", "wake")

    def __init__(self, name: str = "", bound: int = 0) -> None:
        self.name = name
        self.bound = bound
        # An empty deque weighs as much as all the rest of an actor's record, so each lane is made when it is needed.
        self.data: deque[Any] | None = None
        self.control: deque[Any] | None = None
        self.high = 0
        # What the next message calls, from the hub: the reader that waits here, or the way to get another one.
        self.wake: Callable[..., object] | None = None
        self.loop = get_hub().loop

    def put(self, envelope: Any) -> None:
        """Queue at the end of the data lane; `BusyError` at once when it is full."""
        if self.data is None:
            self.data = deque()
        size = len(self.data)
        if self.bound and size >= self.bound:
            raise BusyError(f"{self.name} has {size} messages waiting", actor=self.name, queue=size)
        self.data.append(envelope)
        if size >= self.high:
            self.high = size + 1
        if self.wake is not None:
            self._wake()

    def put_control(self, envelope: Any) -> None:
        """Queue in the control lane, which is read first and never refuses."""
        if self.control is None:
            self.control = deque()
        self.control.append(envelope)
        if self.wake is not None:
            self._wake()

    def put_last(self, envelope: Any) -> None:
        """Queue behind everything, whatever the bound: for a graceful stop."""
        if self.data is None:
            self.data = deque()
        self.data.append(envelope)
        if self.wake is not None:
            self._wake()

    def _wake(self) -> None:
        wake, self.wake = self.wake, None
        self.loop.run_callback(wake)

    def send_to_rest(self) -> None:
        """Let a reader that waits go away: its `get` returns None, unless a message comes in the same moment."""
        wake, self.wake = self.wake, None
        if wake is not None:
            self.loop.run_callback(wake, _REST)

    def get(self) -> Any:
        """The next message; blocks the reading greenlet until there is one, or until it is sent to rest (None)."""
        while True:
            if self.control:
                return self.control.popleft()
            if self.data:
                return self.data.popleft()
            self.wake = getcurrent().switch
            try:
                if get_hub().switch() is _REST and self.empty():
                    self.data = self.control = None
                    return None
            finally:
                self.wake = None

    def empty(self) -> bool:
        return not self.data and not self.control

    def qsize(self) -> int:
        return len(self.data or ()) + len(self.control or ())

    def take_all(self) -> list[Any]:
        """Everything queued, control first; the inbox is empty afterwards."""
        left = [*(self.control or ()), *(self.data or ())]
        self.data = self.control = None
        return left

    def oldest(self) -> float | None:
        """When (monotonic seconds) the longest waiting call came in."""
        times = [lane[0].at for lane in (self.control, self.data) if lane and isinstance(lane[0], Call)]
        return min(times, default=None)
