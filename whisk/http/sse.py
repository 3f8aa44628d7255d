"""Server-sent events: a stream of messages that notices when its reader has left.

A generator learns of a closed connection only when it writes, so a quiet stream would keep its greenlet for ever.
Between two messages it therefore waits with the client in view, and writes a comment when there is nothing to say.
"""

from __future__ import annotations

import socket as native
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from whisk.errors import BusyError, DeadlineError, UnavailableError
from whisk.http.client_gone import ClientGoneError
from whisk.http.reply import Stream
from whisk.http.route import Request
from whisk.values import encode

if TYPE_CHECKING:
    from whisk.actors.future import Future

T = TypeVar("T")

HEARTBEAT = 15.0
STALL = 60.0


def message(data: Any, *, event: str | None = None, id: int | str | None = None) -> bytes:
    """One event with JSON data, which never holds a line break."""
    head = (f"id: {id}\n" if id is not None else "") + (f"event: {event}\n" if event else "")
    return head.encode() + b"data: " + encode(data) + b"\n\n"


def stream(
    request: Request[Any, Any],
    following: Callable[[], Future[T]],
    render: Callable[[T], bytes],
    withdraw: Callable[[Future[T]], object],
    heartbeat: float = HEARTBEAT,
    hello: bytes = b"",
    stall: float = STALL,
) -> Stream:
    """Send `hello`, then `render(value)` of each future that `following()` makes, until the client or the server goes.

    A future that is still pending then is given to `withdraw`. A reader that takes nothing for `stall` seconds, or
    whose machine has vanished without a word, is given up by the kernel.
    """
    _limit_silence(request, stall)

    def chunks() -> Iterator[bytes]:
        pending: Future[T] | None = None
        yield b": whisk\n\n" + hello
        try:
            while True:
                pending = pending or following()
                try:
                    value = request.wait(pending, heartbeat)
                except DeadlineError:
                    yield b": still here\n\n"
                    continue
                pending = None
                yield render(value)
        except (ClientGoneError, UnavailableError, BusyError):
            # Who comes back with the id of its last event has missed nothing.
            return
        finally:
            if pending is not None:
                withdraw(pending)

    return Stream(chunks(), "text/event-stream")


def _limit_silence(request: Request[Any, Any], seconds: float) -> None:
    """Keepalive notices a dead peer only while nothing is on its way to it, and something always is."""
    sock = request.environ.get("whisk.socket")
    # Not there on macOS, where retransmission gives up after some minutes.
    option = getattr(native, "TCP_USER_TIMEOUT", None)
    if sock is not None and option is not None and sock.family != native.AF_UNIX:
        sock.setsockopt(native.IPPROTO_TCP, option, round(seconds * 1000))
