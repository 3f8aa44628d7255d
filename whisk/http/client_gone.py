"""Waiting for an answer while watching whether anybody still wants it."""

from __future__ import annotations

import socket as native
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gevent import get_hub
from gevent.event import Event

from whisk.errors import DeadlineError, UnavailableError

if TYPE_CHECKING:
    from whisk.actors.future import Future

T = TypeVar("T")


class ClientGoneError(Exception):
    """The client hung up while its handler waited. There is nobody left to answer; undo what was promised."""


class Stopping:
    """The server's wish to stop, and the waits that want to hear of it."""

    def __init__(self) -> None:
        self.is_set = False
        self._listeners: set[Callable[[], None]] = set()

    def set(self) -> None:
        self.is_set = True
        for listener in tuple(self._listeners):
            listener()

    def add(self, listener: Callable[[], None]) -> None:
        self._listeners.add(listener)

    def remove(self, listener: Callable[[], None]) -> None:
        self._listeners.discard(listener)


class Watch:
    """Calls `on_gone` once when the peer of `socket` closes or resets; a context manager.

    A client that shuts down only its writing half looks the same as one that has left, so clients of whiskd keep both
    halves open until they have their answer. Bytes of a pipelined next request end the watch: the peer was alive, and
    a readable socket would otherwise call without end.
    """

    def __init__(self, socket: Any, on_gone: Callable[[], None]) -> None:
        self.gone = False
        self._on_gone = on_gone
        self._socket = getattr(socket, "_sock", None)
        self._io = get_hub().loop.io(socket.fileno(), 1) if self._socket is not None else None

    def __enter__(self) -> Watch:
        if self._io is not None:
            self._io.start(self._readable)
        return self

    def __exit__(self, *_: object) -> None:
        if self._io is not None:
            self._io.stop()
            self._io.close()

    def _readable(self) -> None:
        try:
            data = self._socket.recv(1, native.MSG_PEEK | native.MSG_DONTWAIT)  # type: ignore[union-attr]
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._io.stop()  # type: ignore[union-attr]
        if not data:
            self.gone = True
            self._on_gone()


def is_gone(environ: dict[str, Any]) -> bool:
    """Whether the client has hung up by now; for a last look before giving away what cannot be given twice."""
    socket = getattr(environ.get("whisk.socket"), "_sock", None)
    if socket is None:
        return False
    try:
        return not socket.recv(1, native.MSG_PEEK | native.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def wait(environ: dict[str, Any], future: Future[T], timeout: float | None) -> T:
    """The value of `future`, or its error raised; blocks this greenlet at most `timeout` seconds (`None`: for ever).

    Raises `DeadlineError` when the time is over, `ClientGoneError` within a millisecond of the client's death, and
    `UnavailableError` when the server begins to stop. In all three cases the future is still pending, and the caller
    cancels it or withdraws what it stands for (a place in a queue of readers, say).
    """
    wake = Event()

    def arrived(_: Future[T]) -> None:
        wake.set()

    future.then(arrived)
    stopping: Stopping | None = environ.get("whisk.stopping")
    if stopping is not None:
        stopping.add(wake.set)
    try:
        with Watch(environ.get("whisk.socket"), wake.set) as watch:
            if not (stopping is not None and stopping.is_set):
                wake.wait(timeout)
    finally:
        future.forget(arrived)
        if stopping is not None:
            stopping.remove(wake.set)
    if future.done():
        return future.get(timeout=0)
    if watch.gone:
        raise ClientGoneError
    if stopping is not None and stopping.is_set:
        raise UnavailableError("whiskd is stopping")
    raise DeadlineError(f"no answer within {timeout} s", timeout=timeout)
