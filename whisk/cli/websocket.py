"""The client's half of a WebSocket, on a connection that `Client.open` made. wsproto is imported by attach alone."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from typing import TYPE_CHECKING

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from whisk.cli.client import Reply
from whisk.cli.failure import UnreachableError

if TYPE_CHECKING:
    from whisk.cli.client import Client, Query

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_PIECE = 65_536


class WebSocket:
    """Blocking sends, and receives that read what is there: wait for `fileno()` to be readable before them."""

    def __init__(self, client: Client, path: str, query: Query, *, timeout: float = 5.0) -> None:
        """Connect. Raises `RefusedError` with the daemon's words, or `UnreachableError`."""
        key = base64.b64encode(os.urandom(16))
        self._stream = client.open(
            "GET",
            path,
            query=query,
            timeout=timeout,
            headers={
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Key": key.decode(),
                "Sec-WebSocket-Version": "13",
            },
        )
        self._stream.deadline = time.monotonic() + timeout
        try:
            status, headers = self._stream.head()
            if status != 101:
                raise client.refusal(Reply(status, headers, b"".join(self._stream.body(headers))))
            expected = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
            if headers.get("sec-websocket-accept") != expected:
                raise UnreachableError(f"what answers at {client.url} does not speak WebSocket")
        except BaseException:
            self._stream.close()
            raise
        self._stream.socket.settimeout(None)
        self._protocol = Connection(ConnectionType.CLIENT)
        self._texts: list[str] = []
        self._bytes: list[bytes] = []
        self.closed = False
        self._first = self._stream.buffer

    def fileno(self) -> int:
        return self._stream.socket.fileno()

    def close(self) -> None:
        """Say goodbye if that is still possible, and drop the connection."""
        if not self.closed:
            self._send(CloseConnection(code=1000))
        self.closed = True
        self._stream.close()

    def send(self, text: str) -> None:
        """One text message; a connection that has broken shows as `closed`."""
        self._send(Message(data=text))

    def early(self) -> list[str | bytes]:
        """Messages that came with the answer to the upgrade; call it once, before the first wait."""
        first, self._first = self._first, b""
        return self._take(first) if first else []

    def receive(self) -> list[str | bytes]:
        """The whole messages among what has arrived; pings are answered. `closed` is true once nothing can follow."""
        try:
            data = self._stream.socket.recv(_PIECE)
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return []
        return self._take(data)

    def _take(self, data: bytes) -> list[str | bytes]:
        found: list[str | bytes] = []
        try:
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                if isinstance(event, TextMessage):
                    self._texts.append(event.data)
                    if event.message_finished:
                        found.append("".join(self._texts))
                        self._texts = []
                elif isinstance(event, BytesMessage):
                    self._bytes.append(bytes(event.data))
                    if event.message_finished:
                        found.append(b"".join(self._bytes))
                        self._bytes = []
                elif isinstance(event, Ping):
                    self._send(event.response())
                elif isinstance(event, CloseConnection):
                    self._send(event.response())
                    self.closed = True
        except RemoteProtocolError:
            self.closed = True
        return found

    def _send(self, event: Event) -> None:
        try:
            self._stream.socket.sendall(self._protocol.send(event))
        except (OSError, LocalProtocolError):
            self.closed = True
