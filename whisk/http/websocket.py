"""The server's half of a WebSocket, on the raw socket of a pywsgi connection.

wsproto does the protocol and no I/O; this adds the reading, the writing, and what two greenlets on one connection need:
one may receive while the other sends, and a frame is written whole before the next begins.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import gevent
from gevent.lock import BoundedSemaphore
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Message,
    Ping,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from whisk.errors import InvalidError
from whisk.http.failure import STATUS
from whisk.http.route import Request as HttpRequest

MESSAGE_LIMIT = 1024 * 1024
_PIECE = 65_536
# How long a client may take to answer our goodbye.
GOODBYE = 2.0
# A client that takes nothing for this long has stopped, or is gone without a word while output was under way to it,
# and the kernel would go on trying for a quarter of an hour.
STALLED = 75.0
# Close codes of RFC 6455.
NORMAL, GOING_AWAY, PROTOCOL_ERROR, NOT_THIS_TYPE, TOO_BIG = 1000, 1001, 1002, 1003, 1009


class UpgradeRequiredError(InvalidError):
    """The route speaks WebSocket and the request does not ask for one."""

    code = "upgrade_required"


STATUS[UpgradeRequiredError] = 426


class WebSocket:
    """An accepted connection. Use as a context manager: leaving it says goodbye and ends the reading."""

    def __init__(self, request: HttpRequest[Any, Any]) -> None:
        """Accept the upgrade. What it raises (`UpgradeRequiredError`, `InvalidError`) can still be answered in HTTP."""
        environ = request.environ
        if environ.get("HTTP_UPGRADE", "").lower() != "websocket":
            raise UpgradeRequiredError("this is a WebSocket; ask for it with Upgrade: websocket")
        self._protocol = WSConnection(ConnectionType.SERVER)
        headers = [
            (name[5:].replace("_", "-").lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in environ.items()
            if name.startswith("HTTP_")
        ]
        try:
            self._protocol.initiate_upgrade_connection(headers, environ.get("PATH_INFO") or "/")
            accepted = [event for event in self._protocol.events() if isinstance(event, Request)]
        except (RemoteProtocolError, LocalProtocolError) as error:
            raise InvalidError(f"the WebSocket handshake does not fit: {error}") from error
        if not accepted:
            raise InvalidError("the WebSocket handshake is not complete")
        answer = self._protocol.send(AcceptConnection())
        self._writing = BoundedSemaphore()
        self._received: deque[str | bytes] = deque()
        self._parts: list[str] | list[bytes] = []
        self._size = 0
        # After our goodbye nothing is sent; after the client's, or its death, nothing is received either.
        self.closing = False
        self.closed = False
        self._goodbye_ends = 0.0
        self.last_heard = time.monotonic()
        self._socket, self._reader = request.take_socket()
        self._write(answer)

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close(NORMAL)
        self.hang_up()

    @property
    def is_open(self) -> bool:
        return not (self.closing or self.closed)

    def send(self, data: str | bytes) -> bool:
        """One message; blocks this greenlet while the client does not read. False when the client is gone."""
        return self._send(Message(data=data))

    def ping(self) -> bool:
        """Ask for a sign of life; whatever the client sends next moves `last_heard`."""
        return self._send(Ping())

    def receive(self) -> str | bytes | None:
        """The next message, `None` when the client has closed or is gone. Pings are answered on the way.

        A message above 1 MiB, or bytes that are no WebSocket, close the connection. What arrives after our goodbye is
        dropped.
        """
        while self.closing or not self._received:
            if self.closed:
                return None
            self._received.clear()
            data = self._read()
            self.last_heard = time.monotonic()
            try:
                self._protocol.receive_data(data or None)
                self._handle_events()
            except RemoteProtocolError as error:
                self.close(PROTOCOL_ERROR, str(error))
                self.closed = True
            if not data:
                self.closed = True
        return self._received.popleft()

    def _read(self) -> bytes:
        """What has arrived; empty at the end, and when the client's goodbye does not follow ours in time."""
        limit = max(self._goodbye_ends - time.monotonic(), 0.0) if self.closing else None
        data = b""
        with gevent.Timeout(limit, False):
            try:
                data = self._reader.read1(_PIECE)
            except (OSError, ValueError):
                data = b""
        return data

    def close(self, code: int, reason: str = "") -> None:
        """Say goodbye, once. Go on receiving until the client's own goodbye, or what was sent last may be lost."""
        if self.is_open:
            # A close frame holds 125 bytes at most, two of them the code.
            self._send(CloseConnection(code=code, reason=reason.encode()[:123].decode(errors="ignore")))
            self._goodbye_ends = time.monotonic() + GOODBYE
            self.closing = True

    def hang_up(self) -> None:
        """Wake whoever receives or sends: nothing more can be read or written."""
        self.closed = True
        try:
            self._socket.shutdown(2)
        except OSError:
            # The client was quicker.
            return

    def _handle_events(self) -> None:
        for event in self._protocol.events():
            if isinstance(event, TextMessage | BytesMessage):
                self._take(event)
            elif isinstance(event, Ping):
                self._send(event.response())
            elif isinstance(event, CloseConnection):
                self._reply_to_close(event.response)

    def _take(self, event: TextMessage | BytesMessage) -> None:
        self._size += len(event.data)
        if self._size > MESSAGE_LIMIT:
            self.close(TOO_BIG, f"a message has at most {MESSAGE_LIMIT} bytes")
            self._parts = []
            return
        self._parts.append(event.data)  # type: ignore[arg-type]
        if event.message_finished:
            empty: Any = "" if isinstance(event, TextMessage) else b""
            self._received.append(empty.join(self._parts))
            self._parts = []
            self._size = 0

    def _reply_to_close(self, response: Callable[[], CloseConnection]) -> None:
        if not self.closing:
            self._send(response())
        self.closed = True

    def _send(self, event: Any) -> bool:
        # Made under the lock too: what is made first must be written first.
        with self._writing:
            if not self.is_open:
                return False
            try:
                return self._write(self._protocol.send(event))
            except LocalProtocolError:
                self.closed = True
                return False

    def _write(self, data: bytes) -> bool:
        sent = False
        try:
            with gevent.Timeout(STALLED, False):
                self._socket.sendall(data)
                sent = True
        except OSError:
            sent = False
        if not sent:
            # Perhaps half of a frame is on its way; nothing can follow it.
            self.closed = True
        return sent
