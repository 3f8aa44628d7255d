"""What an agent wrote on a hook's stdin, read without ever raising, and JSON written back without loss.

Payloads come from other people's programs: a byte order mark, CRLF, bytes that are not UTF-8, text after the document
and half a document have all been seen. Text that JSON can carry but UTF-8 cannot (a lone surrogate) is kept exactly for
the answer that must echo it, and replaced only in what is shown or stored.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from typing import Any, NamedTuple

import msgspec

from whisk.values import Record

MAX_DEPTH = 100
"""Nesting beyond this is not read; no agent comes near it, and it keeps every walk over a payload bounded."""


class Payload(Record, frozen=True):
    """`data` is the exact object, or with the reason in `fault` empty, or no more than the names of a document that is
    nested too deeply or holds an endless number; `notes` say what was overlooked.

    `kept` is what the log keeps of it, where that was made beforehand because the payload is large.
    """

    data: dict[str, Any]
    fault: str | None = None
    notes: tuple[str, ...] = ()
    kept: dict[str, Any] | None = None


class _Text(NamedTuple):
    text: str
    notes: tuple[str, ...]


def read_payload(body: bytes) -> Payload:
    """The first JSON object in `body`. Never raises: what cannot be read comes back as a fault."""
    text, notes = _decode(body)
    text = text.lstrip(" \t\r\n")
    if not text:
        return Payload(data={}, fault="empty", notes=notes)
    try:
        data, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        return Payload(data={}, fault=f"not JSON: {error}", notes=notes)
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits and a document of thousands of levels are refused by the parser itself.
        return Payload(data=_outline(text), fault=f"not readable: {error}", notes=notes)
    if not isinstance(data, dict):
        return Payload(data={}, fault=f"not an object but {type(data).__name__}", notes=notes)
    if text[end:].strip():
        notes = (*notes, "text after the document ignored")
    if _deeper_than(data, MAX_DEPTH):
        return Payload(data=_outline(text), fault=f"nested deeper than {MAX_DEPTH} levels", notes=notes)
    return Payload(data=data, notes=notes)


def _outline(text: str) -> dict[str, Any]:
    """What a well-meant but unreadable document is about, so that a rule for its tool still holds.

    Agents write these names before the tool's input, and text inside another text would have its quotes escaped.
    """
    found: dict[str, Any] = {}
    for match in _NAMES.finditer(text[:_OUTLINE_CHARS]):
        found.setdefault(match[1], match[2])
    return found


_OUTLINE_CHARS = 64 * 1024
_NAMES = re.compile(r'(?<!\\)"(session_id|cwd|hook_event_name|tool_name|tool_use_id|agent_id)"\s*:\s*"([^"\\]*)"')


def _decode(body: bytes) -> _Text:
    for mark, name in _MARKS:
        if body.startswith(mark):
            text = body[len(mark) :].decode(name, "replace")
            return _Text(text, ("byte order mark ignored",))
    try:
        return _Text(body.decode("utf-8"), ())
    except UnicodeDecodeError:
        return _Text(body.decode("utf-8", "replace"), ("bytes that are not UTF-8 replaced",))


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _finite(digits: str) -> float | None:
    """Numbers that Python reads but no JSON writer can give back (NaN, Infinity, 1e999) become null."""
    number = float(digits)
    return number if math.isfinite(number) else None


_DECODER = json.JSONDecoder(parse_constant=_finite, parse_float=_finite)


def _deeper_than(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [
            child
            for item in layer
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not layer:
            return False
    return True


def plain(value: Any) -> Any:
    """`value` as it can be stored and sent: the same object if it already can be, else a repaired copy."""
    try:
        msgspec.json.encode(value)
    except (UnicodeError, OverflowError, TypeError, ValueError):
        return _repaired(value)
    return value


def plain_text(text: str) -> str:
    """`text` with every lone surrogate replaced, so that it is valid UTF-8."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _repaired(value: Any) -> Any:
    match value:
        case str():
            return plain_text(value)
        case dict():
            return {plain_text(str(key)): _repaired(item) for key, item in value.items()}
        case list() | tuple():
            return [_repaired(item) for item in value]
        case bool() | None:
            return value
        case int() if not -(2**63) <= value < 2**64:
            return float(value) if abs(value) < 10**300 else str(value)
        case _:
            return value


def compact(value: Any) -> bytes:
    """JSON with no blanks, as agents' parsers and existing tests expect it; exact even for lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def exact_text(value: Any) -> str:
    """`value` as ASCII JSON: any storage can hold it, and `json.loads` gives back exactly the same value."""
    return json.dumps(value, separators=(",", ":"))
