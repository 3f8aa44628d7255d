"""Query strings and path parts: typed, or refused by name."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from whisk.errors import InvalidError
from whisk.values import check_text, convert

T = TypeVar("T", bound=msgspec.Struct)


def decode_query(text: str, kind: type[T]) -> T:
    """A record from a query string with camelCase names.

    A list field takes repeated values, comma-joined values, or both; any other field is given at most once. Names that
    the record does not have are ignored, like unknown fields of a body.
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError as error:
        raise InvalidError(f"the query is not valid UTF-8 form data: {error}") from error
    lists = _fields(kind)
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name not in lists:
            continue
        check_text(value, name)
        if lists[name]:
            values.setdefault(name, []).extend(part for part in value.split(",") if part)
        elif name in values:
            raise InvalidError(f"{name} is given twice", field=name)
        elif value:
            # `?limit=` means the same as no limit at all.
            values[name] = value
    return convert(values, kind, strict=False)


def decode_part(name: str, text: str) -> str:
    """One percent-encoded part of a path; it is decoded after routing, so it may hold any character, even a slash."""
    try:
        part = unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise InvalidError(f"{name} in the path is not valid UTF-8") from error
    return check_text(part, name, empty=False)


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """The names of a record on the wire, and whether each takes a list. Found out once: it costs a fifth of a poll."""
    return {field.encode_name: _is_list(field.type) for field in msgspec.structs.fields(kind)}


def _is_list(kind: Any) -> bool:
    members = getattr(kind, "__args__", ()) if not isinstance(get_origin(kind), type) else ()
    return get_origin(kind) in (list, tuple) or any(get_origin(member) in (list, tuple) for member in members)
