"""A receiver of webhooks on a real socket, which can be made to behave as badly as receivers do."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import gevent
from gevent.event import Event
from gevent.server import StreamServer
from gevent.ssl import PROTOCOL_TLS_SERVER, SSLContext

Behaviour = int | Callable[[Any], None]
SECONDS = 20.0


class Received(NamedTuple):
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def delivery(self) -> str:
        return self.headers["x-whisk-delivery"]

    @property
    def event(self) -> Any:
        return self.document["event"]


class Receiver:
    """Answers each request with the next of `script`, a status or a function of the socket, and with 200 after it."""

    def __init__(self, port: int = 0, certificate: str = "") -> None:
        self.got: list[Received] = []
        self.script: deque[Behaviour] = deque()
        self._news = Event()
        secure: dict[str, Any] = {}
        if certificate:
            secure["ssl_context"] = SSLContext(PROTOCOL_TLS_SERVER)
            secure["ssl_context"].load_cert_chain(certificate)
        self._scheme = "https" if certificate else "http"
        self._server = StreamServer(("127.0.0.1", port), self._serve, **secure)
        self._server.start()

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/hook"

    def close(self) -> None:
        self._server.stop(timeout=0)

    def until(self, count: int) -> list[Received]:
        """Wait until so many requests have come."""
        with gevent.Timeout(SECONDS):
            while len(self.got) < count:
                self._news.clear()
                if len(self.got) < count:
                    self._news.wait()
        return self.got

    def _serve(self, sock: Any, _address: Any) -> None:
        try:
            with sock, sock.makefile("rb") as reader:
                target = reader.readline().split()[1].decode()
                headers: dict[str, str] = {}
                while line := reader.readline().strip():
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = reader.read(int(headers["content-length"]))
                behaviour = self.script.popleft() if self.script else 200
                self.got.append(Received(target, headers, body))
                self._news.set()
                if isinstance(behaviour, int):
                    sock.sendall(b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n\r\nhm" % behaviour)
                else:
                    behaviour(sock)
        except (OSError, IndexError):
            # Who sent it has gone.
            return


def hang(sock: Any) -> None:
    """Take the request and say nothing, until the other side has had enough."""
    sock.recv(1)


def drip(sock: Any) -> None:
    """An answer that never comes to its end, one byte of a header at a time."""
    sock.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        sock.sendall(b"X")
        gevent.sleep(0.02)


def flood(sock: Any) -> None:
    """An answer without end."""
    sock.sendall(b"HTTP/1.1 500 X\r\n\r\n")
    while True:
        sock.sendall(b"y" * 65_536)


def vanish(sock: Any) -> None:
    """Close the connection in the middle."""
    sock.sendall(b"HTTP/1.1 2")
