"""Request bodies: read by whisk itself, bounded before a byte is read, and typed JSON or a refusal."""

from __future__ import annotations

from typing import Any, TypeVar

import gevent

from whisk.errors import InvalidError, TooLargeError
from whisk.http.failure import RequestTimeoutError
from whisk.values import decode

T = TypeVar("T")

DEFAULT_LIMIT = 1024 * 1024
READ_TIMEOUT = 30.0
_BOM = b"\xef\xbb\xbf"
_PIECE = 64 * 1024


def read_body(environ: dict[str, Any], limit: int = DEFAULT_LIMIT) -> bytes:
    """The whole body; blocks while the client sends it.

    A declared length over `limit` is refused unread; a chunked body is read until it passes the limit. Raises
    `TooLargeError`, `InvalidError` (cut short, bad chunks) or `RequestTimeoutError`.
    """
    chunked = environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked"
    declared = 0 if chunked else _length(environ)
    if declared > limit:
        raise TooLargeError(
            f"the body has {declared} bytes; at most {limit} are taken here", limit=limit, size=declared
        )
    if not chunked and not declared:
        return b""
    late = RequestTimeoutError(f"the body did not arrive within {READ_TIMEOUT:g} s")
    try:
        with gevent.Timeout(READ_TIMEOUT, late):
            return _read_chunks(environ["wsgi.input"], limit) if chunked else _read_exactly(environ, declared)
    except OSError as error:
        raise InvalidError(f"the body could not be read: {error}") from error


def decode_body(data: bytes, content_type: str | None, kind: type[T]) -> T:
    """Typed JSON. No body at all is read as `{}`; a UTF-8 byte order mark in front is allowed.

    The kind `bytes` leaves the body as it was sent, for a handler that has its own way with what does not parse.
    Raises `InvalidError` for another content type, for what is not JSON, and for a value of the wrong type, naming the
    place (`$.to[0].kind`).
    """
    if data and content_type and not _is_json(content_type):
        raise InvalidError(f"send the body as application/json, not {content_type}", contentType=content_type)
    if kind is bytes:
        return data  # type: ignore[return-value]
    try:
        # The decoder does not look into strings that it skips.
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidError(f"the body is not valid UTF-8 at byte {error.start}", position=error.start) from error
    return decode(data.removeprefix(_BOM) or b"{}", kind)


def _length(environ: dict[str, Any]) -> int:
    text = environ.get("CONTENT_LENGTH") or "0"
    if not (text.isascii() and text.isdigit()):
        raise InvalidError(f"Content-Length is not a number: {text!r}")
    return int(text)


def _is_json(content_type: str) -> bool:
    essence = content_type.partition(";")[0].strip().lower()
    return essence == "application/json" or (essence.startswith("application/") and essence.endswith("+json"))


def _read_exactly(environ: dict[str, Any], length: int) -> bytes:
    data: bytes = environ["wsgi.input"].read(length)
    if len(data) < length:
        raise InvalidError(f"the body ended after {len(data)} of {length} bytes")
    return data


def _read_chunks(stream: Any, limit: int) -> bytes:
    pieces = bytearray()
    while piece := stream.read(_PIECE):
        pieces += piece
        if len(pieces) > limit:
            raise TooLargeError(f"the body has more than {limit} bytes", limit=limit)
    return bytes(pieces)
