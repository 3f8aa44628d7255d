"""pywsgi as whiskd needs it: quick on keep-alive, fair, bounded before it reads, and JSON in every refusal."""

from __future__ import annotations

import errno
import socket as native
from email.message import Message
from typing import Any

import gevent
from gevent import pywsgi, socket
from gevent.pool import Pool
from structlog import get_logger

from whisk.errors import UnavailableError
from whisk.http.app import WsgiApp
from whisk.http.client_gone import Stopping
from whisk.http.failure import RequestTimeoutError, problem, status_line

_log = get_logger("whisk.http")

HEADER_TIMEOUT = 10.0
# After an answer to a request whose body was not read: how long, and how much of it, is thrown away so that the client
# can read the answer. Closing at once with unread bytes would send a reset, which destroys it.
_LINGER_SECONDS = 0.5
_LINGER_BYTES = 1024 * 1024
_BACKLOG = 1024
_NO_HEADERS = Message()
# Python's default of 8 KiB would be a quarter of what a waiting connection weighs. Bodies are read past it.
_READ_BUFFER = 1024
# A client that vanished without a word (a laptop asleep behind a forwarded port) is given up after two minutes; the
# kernel's own patience is two hours. macOS has no name for the first.
_KEEPALIVE = tuple(
    (getattr(native, name), value)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
    if hasattr(native, name)
)


class _BadRequestError(ValueError):
    """The head of a request cannot be understood; `status` is what the client is told."""

    def __init__(self, status: int, message: str | None = None) -> None:
        super().__init__(message or status_line(status))
        self.status = status
        self.message = message


class _Input(pywsgi.Input):  # type: ignore[misc]
    """A body that is never drained behind the application's back, however long it says it is."""

    __slots__ = ()

    @property
    def is_unread(self) -> bool:
        if self.chunked_input:
            return bool(self.chunk_length != 0)
        return bool(self.position < (self.content_length or 0))

    def _discard(self) -> None:
        """pywsgi would read a declared 4 GB here before it closes."""


class _Handler(pywsgi.WSGIHandler):  # type: ignore[misc]
    """One connection. `server` is the `_PyWsgi` below."""

    wsgi_input: Any
    headers: Any

    def __init__(self, sock: Any, address: Any, server: _PyWsgi) -> None:
        super().__init__(sock, address, server, sock.makefile("rb", _READ_BUFFER))

    def read_request(self, raw_requestline: str) -> bool:
        late = RequestTimeoutError(f"the headers did not arrive within {HEADER_TIMEOUT:g} s")
        with gevent.Timeout(HEADER_TIMEOUT, late):
            if len(raw_requestline.split()) != 3:
                raise _BadRequestError(400, "this is not an HTTP/1 request line")
            super().read_request(raw_requestline)
        lengths = set(self.headers.get_all("content-length", ()))
        if len(lengths) > 1 or not all(text.isascii() and text.isdigit() for text in lengths):
            raise _BadRequestError(400, "Content-Length is not one number")
        coding = self.headers.get("transfer-encoding")
        if coding is not None and coding.strip().lower() != "chunked":
            # Anything else would be read as a body of no length, and the body as the next request.
            raise _BadRequestError(400, f"Transfer-Encoding {coding!r} is not understood; only chunked is")
        return True

    def get_environ(self) -> dict[str, Any]:
        env: dict[str, Any] = super().get_environ()
        plain: pywsgi.Input = self.wsgi_input
        bounded = _Input(self.rfile, plain.content_length, plain.socket, plain.chunked_input)
        if env["wsgi.input"] is plain:
            env["wsgi.input"] = bounded
        self.wsgi_input = bounded
        env["RAW_URI"] = self.path
        env["whisk.socket"] = self.socket
        env["whisk.reader"] = self.rfile
        env["whisk.stopping"] = self.server.stopping
        # All of them are in the environment now; a request that waits need not keep them twice.
        self.headers = _NO_HEADERS
        return env

    def handle_one_request(self) -> Any:
        self.server.idle.add(self)
        result = super().handle_one_request()
        self.server.idle.discard(self)
        if isinstance(result, tuple) and result[0] == "414":
            return self._raw_answer(_BadRequestError(414))
        return result

    def handle_one_response(self) -> None:
        self.server.idle.discard(self)
        # A keep-alive client whose next request is already here would otherwise never let anybody else run.
        gevent.sleep(0)
        super().handle_one_response()
        if self.server.stopping.is_set or self.environ.get("whisk.taken"):
            self.close_connection = True
        if self.wsgi_input.is_unread:
            self.close_connection = True
            self._linger()

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        if self.wsgi_input.is_unread or self.server.stopping.is_set:
            headers = [*headers, ("Connection", "close")]
        return super().start_response(status, headers, exc_info)

    def _linger(self) -> None:
        try:
            self.socket.shutdown(native.SHUT_WR)
            with gevent.Timeout(_LINGER_SECONDS, False):
                thrown_away = 0
                while thrown_away < _LINGER_BYTES and (piece := self.socket.recv(65536)):
                    thrown_away += len(piece)
        except OSError:
            # The client is gone already, which is what was waited for.
            return

    def _handle_client_error(self, ex: Exception) -> tuple[str, bytes]:
        _log.debug("a request was not understood", error=str(ex) or type(ex).__name__)
        if isinstance(ex, _BadRequestError):
            return self._raw_answer(ex)
        if isinstance(ex, RequestTimeoutError):
            return self._raw_answer(_BadRequestError(408, ex.message))
        text = str(ex)
        if "Line too long" in text or "got more than" in text:
            return self._raw_answer(_BadRequestError(431))
        return self._raw_answer(_BadRequestError(400))

    def _raw_answer(self, error: _BadRequestError) -> tuple[str, bytes]:
        """The whole response, for a request that never became one; the server closes after it."""
        body = problem(error.status, error.message)
        head = (
            f"HTTP/1.1 {status_line(error.status)}\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return str(error.status), head.encode() + body

    def _send_error_response_if_possible(self, error_code: int) -> None:
        self.close_connection = True
        if self.response_length or self.environ.get("whisk.taken"):
            return
        body = problem(error_code)
        headers = [("Content-Type", "application/json"), ("Connection", "close"), ("Content-Length", str(len(body)))]
        try:
            self.start_response(status_line(error_code), headers)
            self.write(body)
        except OSError:
            return

    def _log_error(self, t: Any, v: Any, tb: Any) -> None:
        if not issubclass(t, gevent.GreenletExit):
            _log.error("a request failed outside its handler", exc_info=(t, v, tb))

    def log_request(self) -> None:
        """Requests are counted by `whisk.http.meter`; a line for each would bury the log."""


class _PyWsgi(pywsgi.WSGIServer):  # type: ignore[misc]
    def __init__(self, listener: Any, app: WsgiApp, pool: Pool) -> None:
        self.stopping = Stopping()
        # Connections that are between two requests: at a stop they can be closed at once.
        self.idle: set[_Handler] = set()
        super().__init__(listener, app, spawn=pool, log=None, error_log=None, handler_class=_Handler)

    def handle(self, sock: Any, address: Any) -> None:
        if sock.family != native.AF_UNIX:
            # pywsgi writes head and body separately; with Nagle that is 44 ms on every keep-alive request.
            sock.setsockopt(native.IPPROTO_TCP, native.TCP_NODELAY, 1)
            sock.setsockopt(native.SOL_SOCKET, native.SO_KEEPALIVE, 1)
            for option, value in _KEEPALIVE:
                sock.setsockopt(native.IPPROTO_TCP, option, value)
        super().handle(sock, address)

    def update_environ(self) -> None:
        # The parent asks the name service for its own name here, which can take seconds on a laptop.
        self.environ.setdefault("SERVER_NAME", "whiskd")
        super().update_environ()


class Server:
    """The HTTP server on one TCP address. Port 0 takes a free port; `address` tells which."""

    def __init__(self, app: WsgiApp, host: str, port: int) -> None:
        self._pool = Pool()
        family = native.AF_INET6 if ":" in host else native.AF_INET
        listener = socket.socket(family, native.SOCK_STREAM)
        try:
            listener.setsockopt(native.SOL_SOCKET, native.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            why = f"cannot listen on {host}:{port}: {error.strerror}"
            if error.errno == errno.EADDRINUSE:
                why += "; another program has that port, and port 0 takes a free one"
            raise UnavailableError(why, host=host, port=port) from error
        self._wsgi = _PyWsgi(listener, app, self._pool)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._wsgi.address[:2]
        return host, port

    @property
    def url(self) -> str:
        """Where a client on this machine finds it."""
        host, port = self.address
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def connections(self) -> int:
        return len(self._pool)

    def start(self) -> None:
        """Serve from now on; returns at once."""
        self._wsgi.start()

    def stop(self, timeout: float = 5.0) -> int:
        """Take no more connections, end the waits, let requests finish; returns how many had to be cut off.

        Idle keep-alive connections close at once, waits are answered 503, and what is still running after `timeout`
        seconds is killed. Blocks this greenlet.
        """
        self._wsgi.close()
        self._wsgi.stopping.set()
        for handler in tuple(self._wsgi.idle):
            _hang_up(handler)
        self._pool.join(timeout=timeout)
        left = len(self._pool)
        self._pool.kill(block=True, timeout=1.0)
        return left


def _hang_up(handler: _Handler) -> None:
    try:
        handler.socket.shutdown(native.SHUT_RDWR)
    except (OSError, AttributeError):
        # Closed in the same moment by its own greenlet.
        return
