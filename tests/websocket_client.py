"""A WebSocket client for tests, on a gevent socket that a test can also be rude with."""

from __future__ import annotations

import json
from typing import Any

from gevent import socket
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Message,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)


class Refused(Exception):
    """The server answered the upgrade in HTTP."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status} {body!r}")
        self.status = status
        self.body = body

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["code"])


class WebSocketClient:
    """Connects, or raises `Refused`. `answers_pings=False` makes a client that looks dead."""

    def __init__(
        self,
        address: tuple[str, int],
        target: str,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        receive_buffer: int | None = None,
    ) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(20)
        self.socket.connect(address)
        self.answers_pings = True
        self.pings = 0
        self.close_code: int | None = None
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._ready: list[str | bytes] = []
        self._parts: list[Any] = []
        extra = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        if token is not None:
            extra.append((b"Authorization", f"Bearer {token}".encode()))
        self.socket.sendall(
            self._protocol.send(Request(host=f"{address[0]}:{address[1]}", target=target, extra_headers=extra))
        )
        refusal = [0, b""]
        while True:
            data = self.socket.recv(65536)
            self._protocol.receive_data(data or None)
            for event in self._protocol.events():
                if isinstance(event, AcceptConnection):
                    self._take()
                    return
                if isinstance(event, RejectConnection):
                    refusal[0] = event.status_code
                elif isinstance(event, RejectData):
                    refusal[1] += event.data
                    if event.body_finished:
                        self.socket.close()
                        raise Refused(*refusal)

    def send(self, data: str | bytes | dict[str, Any]) -> None:
        self.socket.sendall(self._protocol.send(Message(data=json.dumps(data) if isinstance(data, dict) else data)))

    def send_raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> str | bytes | None:
        """The next message; None once the server has said goodbye or hung up."""
        while not self._ready:
            if self.close_code is not None:
                return None
            data = self.socket.recv(65536)
            if not data:
                return None
            self._protocol.receive_data(data)
            self._take()
        return self._ready.pop(0)

    def frame(self) -> dict[str, Any]:
        """The next message, which must be a text frame."""
        message = self.receive()
        assert isinstance(message, str), message
        return dict(json.loads(message))

    @staticmethod
    def parse(message: str) -> dict[str, Any]:
        return dict(json.loads(message))

    def output(self, *, until: bytes) -> bytes:
        """What output frames (binary) bring until `until` is among it."""
        seen = b""
        while until not in seen:
            message = self.receive()
            assert message is not None, f"closed before {until!r} came; {seen[-500:]!r}"
            if isinstance(message, bytes):
                seen += message[9:]
        return seen

    def ping(self) -> None:
        self.socket.sendall(self._protocol.send(Ping(payload=b"there?")))

    def say_goodbye(self, code: int = 1000) -> None:
        self.socket.sendall(self._protocol.send(CloseConnection(code=code)))

    def close(self) -> None:
        self.socket.close()

    def _take(self) -> None:
        for event in self._protocol.events():
            if isinstance(event, TextMessage | BytesMessage):
                self._parts.append(event.data)
                if event.message_finished:
                    empty: Any = "" if isinstance(event, TextMessage) else b""
                    self._ready.append(empty.join(self._parts))
                    self._parts = []
            elif isinstance(event, Ping):
                self.pings += 1
                if self.answers_pings:
                    self.socket.sendall(self._protocol.send(event.response()))
            elif isinstance(event, Pong):
                self._ready.append("pong")
            elif isinstance(event, CloseConnection) and self.close_code is None:
                self.close_code = event.code
                if self._protocol.state is ConnectionState.REMOTE_CLOSING:
                    self.socket.sendall(self._protocol.send(event.response()))
