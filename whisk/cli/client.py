"""A small HTTP/1.1 client on `_socket`.

`http.client` and `urllib.request` cost 30 to 40 ms of start-up each, more than everything else a command does. The
daemon is one known server, so what is needed of HTTP fits on this page: one request per connection, a body of known
length or chunks or until the end.
"""

from __future__ import annotations

import _socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from whisk import __version__
from whisk.cli.failure import RefusedError, UnreachableError, UsageError

Query = Mapping[str, object]
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHUNK = 65536
_STDOUT = 1


class Reply(NamedTuple):
    """A whole reply; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        import json

        return json.loads(self.body) if self.body else None


class Waiting(NamedTuple):
    """Called every `every` seconds while a reply has not come."""

    every: float
    call: Callable[[], None]


class Client:
    """Requests to one daemon. Every failure is an exception that names the daemon's address and what to do.

    `timeout` is for the whole exchange, in seconds; None waits for as long as the daemon lets it.
    """

    def __init__(self, url: str, token: str | None, actor: str = "") -> None:
        self.url = url.rstrip("/")
        self.host, self.port, self._base = split_url(url)
        self._token = token
        self._actor = actor

    def get(self, path: str, query: Query | None = None, *, timeout: float | None = 5.0, **more: Any) -> Any:
        return self.call("GET", path, query=query, timeout=timeout, **more)

    def post(self, path: str, body: object = None, *, timeout: float | None = 5.0, **more: Any) -> Any:
        """POST `body` as JSON; None is sent as `{}`, since every route that changes something takes an object."""
        return self.call("POST", path, {} if body is None else body, timeout=timeout, **more)

    def delete(self, path: str, query: Query | None = None, *, timeout: float | None = 5.0) -> Any:
        return self.call("DELETE", path, query=query, timeout=timeout)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        timeout: float | None = 5.0,
        waiting: Waiting | None = None,
    ) -> Any:
        """The decoded JSON of a 2xx reply; anything else raises `RefusedError` with the daemon's own words."""
        reply = self.request(method, path, body, query=query, timeout=timeout, waiting=waiting)
        if not 200 <= reply.status < 300:
            raise self.refusal(reply)
        try:
            return reply.json()
        except ValueError:
            raise UnreachableError(f"what answers at {self.url} is not whiskd: no JSON in its reply") from None

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        timeout: float | None = 5.0,
        waiting: Waiting | None = None,
    ) -> Reply:
        """One exchange, whatever its status; `body` is JSON, or bytes sent as they are."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self.open(method, path, body, query=query, timeout=timeout) as stream:
            stream.deadline, stream.waiting = deadline, waiting
            status, headers = stream.head()
            return Reply(status, headers, b"".join(stream.body(headers)))

    def stream(self, path: str, query: Query | None = None) -> Iterator[bytes]:
        """The body of an endless GET, piece by piece as it arrives; ends when the daemon ends it."""
        with self.open("GET", path, query=query, timeout=5.0) as stream:
            status, headers = stream.head()
            if not 200 <= status < 300:
                raise self.refusal(Reply(status, headers, b"".join(stream.body(headers))))
            yield from stream.body(headers)

    def open(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        timeout: float | None = 5.0,
        headers: Mapping[str, str] | None = None,
    ) -> Stream:
        """Connect and send one request; the caller reads the reply. `timeout` covers connecting and sending."""
        data = b""
        fields = {"Host": f"{self._bracketed()}:{self.port}", "User-Agent": f"whisk/{__version__}"}
        if self._token:
            fields["Authorization"] = f"Bearer {self._token}"
        if self._actor:
            # For the audit trail, where the body has no field for it.
            fields["X-Whisk-Actor"] = quote(self._actor)
        if body is not None:
            data = body if isinstance(body, bytes) else _encode(body)
            fields["Content-Type"] = "application/json"
            fields["Content-Length"] = str(len(data))
        fields = {**fields, "Connection": "close", **(headers or {})}
        target = self._base + path + _query_text(query)
        head = "".join([f"{method} {target} HTTP/1.1\r\n", *(f"{k}: {v}\r\n" for k, v in fields.items()), "\r\n"])
        stream = Stream(self._connect(timeout), self.url)
        try:
            stream.socket.sendall(head.encode("latin-1") + data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # A server that refuses a body early has often answered already; `head` reads it or complains.
        except OSError as error:
            stream.close()
            raise self._unavailable(error) from None
        return stream

    def _connect(self, timeout: float | None) -> _socket.socket:
        try:
            found = _socket.getaddrinfo(self.host, self.port, 0, _socket.SOCK_STREAM)
        except OSError as error:
            raise self._unavailable(error) from None
        failure: OSError | None = None
        for family, kind, protocol, _, address in found:
            sock = _socket.socket(family, kind, protocol)
            try:
                sock.settimeout(timeout)
                sock.connect(address)
                sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            except OSError as error:
                sock.close()
                failure = error
            else:
                return sock
        raise self._unavailable(failure or OSError("no address"))

    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def _unavailable(self, error: OSError) -> UnreachableError:
        why = "timed out" if isinstance(error, TimeoutError) else error.strerror or str(error)
        return UnreachableError(f"whiskd unavailable at {self.url}: {why}; start it with `whisk daemon start`")

    def refusal(self, reply: Reply) -> RefusedError:
        """The daemon's words for a reply that is not a 2xx."""
        try:
            body = reply.json()
        except ValueError:
            body = None
        if not isinstance(body, dict) or not isinstance(body.get("error"), str):
            return RefusedError(
                f"{self.url} answered {reply.status} without a reason; is that whiskd?", status=reply.status
            )
        message = body["error"]
        if reply.status == 401 and self._token is None:
            message += " (there is no control token in this state folder; is the daemon another user's, or another"
            message += " WHISK_STATE_DIR's?)"
        details = body.get("details")
        return RefusedError(
            message,
            status=reply.status,
            code=str(body.get("code", "refused")),
            details=details if isinstance(details, dict) else None,
        )


class Stream:
    """A connection whose request has been sent. Use as a context manager."""

    def __init__(self, sock: _socket.socket, url: str) -> None:
        self.socket = sock
        self.buffer = b""
        self.deadline: float | None = None
        self.waiting: Waiting | None = None
        self._url = url

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the reply."""
        while b"\r\n\r\n" not in self.buffer:
            if not (data := self._receive()):
                raise UnreachableError(f"whiskd at {self._url} closed the connection without an answer")
            self.buffer += data
        raw, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *rest = raw.decode("latin-1").split("\r\n")
        parts = first.split(" ", 2)
        if not first.startswith("HTTP/1.") or len(parts) < 2 or not parts[1].isdigit():
            raise UnreachableError(f"what answers at {self._url} does not speak HTTP")
        pairs = (line.partition(":") for line in rest)
        return int(parts[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def body(self, headers: Mapping[str, str]) -> Iterator[bytes]:
        """The body in pieces, however its length is told."""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            yield from self._chunks()
            return
        length = headers.get("content-length")
        left = int(length) if length is not None and length.isdigit() else None
        while left is None or left > 0:
            data, self.buffer = self.buffer or self._receive(), b""
            if not data:
                if left is not None:
                    raise UnreachableError(f"whiskd at {self._url} closed the connection in the middle of its answer")
                return
            if left is not None:
                data, self.buffer = data[:left], data[left:]
                left -= len(data)
            yield data

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._until(b"\r\n").partition(b";")[0] or b"0", 16):
            while len(self.buffer) < size + 2:
                self.buffer += self._more()
            chunk, self.buffer = self.buffer[:size], self.buffer[size + 2 :]
            yield chunk

    def _until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            self.buffer += self._more()
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def _more(self) -> bytes:
        if not (data := self._receive()):
            raise UnreachableError(f"whiskd at {self._url} closed the connection in the middle of its answer")
        return data

    def _receive(self) -> bytes:
        """Some bytes, or b"" at the end; calls `waiting` in between and raises when the deadline passes."""
        while True:
            left = None if self.deadline is None else self.deadline - time.monotonic()
            if left is not None and left <= 0:
                raise UnreachableError(f"whiskd at {self._url} did not answer in time")
            every = self.waiting.every if self.waiting else None
            slices = [one for one in (left, every) if one is not None]
            seconds = min(slices) if slices else None
            if self.waiting is not None and not self._listen(seconds):
                if left is None or left > self.waiting.every:
                    self.waiting.call()
                continue
            self.socket.settimeout(seconds)
            try:
                return self.socket.recv(_CHUNK)
            except TimeoutError:
                continue
            except OSError as error:
                raise UnreachableError(f"whiskd at {self._url} broke off: {error.strerror or error}") from None

    def _listen(self, seconds: float | None) -> bool:
        """Whether there is something to read within that time.

        Raises `BrokenPipeError` when nobody would read what this command prints: an agent that was killed leaves its
        commands waiting, and one that waits for mail would take a message for nobody.
        """
        import select

        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        poll.register(_STDOUT, 0)
        found = dict(poll.poll(None if seconds is None else seconds * 1000))
        if self.socket.fileno() not in found and found.get(_STDOUT, 0) & (select.POLLERR | select.POLLHUP):
            raise BrokenPipeError
        return bool(found)


def split_url(url: str) -> tuple[str, int, str]:
    """Host, port and path prefix of an `http://` address; raises `UsageError`."""
    scheme, marker, rest = url.partition("://")
    if not marker or scheme != "http":
        raise UsageError(f"the daemon's address must look like http://127.0.0.1:8787, not {url!r}")
    authority, _, path = rest.partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or "]" in port:
        host, port = authority, "80"
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"the daemon's address must look like http://127.0.0.1:8787, not {url!r}")
    return host.strip("[]"), int(port), f"/{path.rstrip('/')}" if path.rstrip("/") else ""


def quote(text: object) -> str:
    """Percent-encode one path segment or query value."""
    raw = str(text).encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in raw)


def path(*segments: object) -> str:
    """`path("mail", id, "read")` is `/v1/mail/<id>/read`, with the ids quoted."""
    return "/v1/" + "/".join(quote(segment) for segment in segments)


def _query_text(query: Query | None) -> str:
    """`?a=1&b=x&b=y`; None and empty lists are left out, booleans are true and false."""
    pairs: list[str] = []
    for name, value in (query or {}).items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append(f"{quote(name)}={quote(str(one).lower() if isinstance(one, bool) else one)}")
    return "?" + "&".join(pairs) if pairs else ""


def _encode(body: object) -> bytes:
    import json

    try:
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        # A folder's name or a variable can be any bytes, which Python shows as half a surrogate pair.
        text = error.object
        start, end = text.rfind('"', 0, error.start), text.find('"', error.end)
        raise UsageError(f"not UTF-8 text: {text[start + 1 : end]!r}") from None
