"""What every record shares: the msgspec base, JSON in and out, and the rules for text from outside.

Records are frozen; on the wire their names are camelCase, absent optional fields are left out, and an `Instant` is
RFC 3339 text. JSON enters through `decode` and is never `Any` after that.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError

T = TypeVar("T")


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Base of everything that crosses an actor, the database or the wire.

    `omit_defaults` leaves out a field that equals its default; declare a field without a default when the wire must
    always carry it.
    """


def _encode(value: Any) -> Any:
    if isinstance(value, Instant):
        return value.rfc3339()
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise TypeError(f"cannot encode {type(value).__name__}")


def _decode(kind: type, value: Any) -> Any:
    if kind is Instant and isinstance(value, str):
        try:
            return Instant.parse(value)
        except InvalidError as error:
            raise ValueError(error.message) from error
    raise TypeError(f"cannot decode {kind.__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_encode)


def encode(value: Any) -> bytes:
    """Compact UTF-8 JSON."""
    return _ENCODER.encode(value)


def encode_pretty(value: Any) -> str:
    """Two-space indented JSON, as the CLI prints it."""
    return msgspec.json.format(encode(value), indent=2).decode()


def decode(data: bytes | str, kind: type[T]) -> T:
    """Typed JSON decoding. Raises `InvalidError` naming the place (`$.to[0].kind`) and what was expected there."""
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise InvalidError(f"the JSON does not fit: {error}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidError(f"not JSON: {error}") from error


def to_builtins(value: Any) -> Any:
    """Plain dicts, lists and strings, as they would be on the wire."""
    return msgspec.to_builtins(value, enc_hook=_encode)


def convert(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """Typed conversion of plain values (TOML, query strings); raises `InvalidError` naming the place.

    With `strict=False` text that reads as a number or a bool is taken for one, as in a query string.
    """
    try:
        return msgspec.convert(value, kind, dec_hook=_decode, strict=strict)
    except msgspec.ValidationError as error:
        raise InvalidError(f"the value does not fit: {error}") from error


def check_text(text: str, field: str, *, limit: int | None = None, empty: bool = True) -> str:
    """Refuse text that SQLite or UTF-8 cannot hold, before anything is stored.

    NUL is refused because SQL functions stop at it; a lone surrogate because it is not UTF-8. `limit` is in UTF-8
    bytes. Returns the text unchanged; raises `InvalidError` or `TooLargeError` with the field and the position.
    """
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidError(
            f"{field} is not valid Unicode: a lone surrogate at character {error.start}",
            field=field,
            position=error.start,
        ) from error
    if (position := text.find("\0")) >= 0:
        raise InvalidError(f"{field} holds a NUL at character {position}", field=field, position=position)
    if not empty and not text.strip():
        raise InvalidError(f"{field} required", field=field)
    if limit is not None and size > limit:
        raise TooLargeError(f"{field} exceeds {limit} bytes", field=field, limit=limit, size=size)
    return text
