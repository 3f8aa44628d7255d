"""The one function that turns what a handler returned into a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gevent

from whisk.errors import WhiskError
from whisk.http.bottle_app import HTTPResponse
from whisk.http.failure import problem, refusal, status_line
from whisk.values import encode

JSON = "application/json"
# Records of a list that are encoded at once: some milliseconds.
_PIECE = 500
JSON_LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Text:
    """A handler returns this for anything that is not JSON."""

    content: bytes
    content_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Stream:
    """A handler returns this to go on sending; `chunks` is closed when the client is gone, so its `finally` runs.

    The first chunk must come at once, or the client does not even get its headers.
    """

    chunks: Iterator[bytes]
    content_type: str = "application/octet-stream"


def lines_of(values: Iterable[Any]) -> bytes:
    """JSON lines: one value in each, which never holds a line break itself."""
    return b"".join(encode(value) + b"\n" for value in values)


def reply(value: Any, status: int, accept: str = "") -> Any:
    """A response for a handler's value: a record, a list, a dict, `None` (only with 204), `Text` or `Stream`.

    A list goes out as JSON lines to a client whose `accept` header names them.
    """
    if isinstance(value, list) and JSON_LINES in accept.lower():
        return respond(status, lines_of(value), JSON_LINES)
    if isinstance(value, Text):
        return respond(status, value.content, value.content_type)
    if isinstance(value, Stream):
        return respond(status, value.chunks, value.content_type)
    if status == 204:
        return respond(status, b"", None)
    return respond(status, _encode(value), JSON)


def _encode(value: Any) -> bytes:
    """JSON. A long list is encoded piece by piece, and between two pieces it is the turn of other requests."""
    if not isinstance(value, list) or len(value) <= _PIECE:
        return encode(value)
    pieces = []
    for start in range(0, len(value), _PIECE):
        pieces.append(encode(value[start : start + _PIECE])[1:-1])
        # Not 0: that runs what is ready and does not look for what has come.
        gevent.sleep(0.00001)
    return b"[" + b",".join(pieces) + b"]"


def refuse(error: WhiskError, *, close: bool = False) -> Any:
    """A response for a refusal; `close` ends the connection, because the rest of the request was not read."""
    status, body = refusal(error)
    response = respond(status, body, JSON)
    if status == 401:
        response.set_header("WWW-Authenticate", "Bearer")
    if status == 503:
        response.set_header("Retry-After", "1")
    if close:
        response.set_header("Connection", "close")
    return response


def broken() -> Any:
    """A response for a bug of ours: it says so and nothing more, the log has the rest."""
    return respond(500, problem(500), JSON)


def respond(status: int, body: bytes | Iterator[bytes], content_type: str | None) -> Any:
    response = HTTPResponse(body, status=status_line(status))
    if content_type is not None:
        response.content_type = content_type
        # Answers hold live state and text from agents: neither a cache nor a guess at the type may touch them.
        response.set_header("Cache-Control", "no-store")
        response.set_header("X-Content-Type-Options", "nosniff")
    return response
