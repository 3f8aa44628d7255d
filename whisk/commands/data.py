"""JSON values that nobody can change any more: what rows, inputs and errors are made of.

A frozen value is built of `None`, `bool`, `int`, `float`, `str`, tuples and read-only mappings, so that handing it out
needs no copy. `whisk.values.encode` writes it as the JSON that it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from whisk.errors import InvalidError
from whisk.values import check_text

DEPTH = 64
"""How deep a value may be nested; JSON readers of other languages give up not far above it."""


def freeze(value: Any, place: str) -> Any:
    """A deep, read-only copy of a JSON value.

    Raises `InvalidError` with the place (`inputSchema.properties.path`) of what is no JSON: a key that is no text, a
    number that is not finite, text that UTF-8 cannot hold, another type, too deep a nesting (a cycle is one).
    """
    return _freeze(value, place, DEPTH)


def _freeze(value: Any, place: str, depth: int) -> Any:
    match value:
        case None | bool() | int():
            return value
        case str():
            return check_text(value, place)
        case float():
            if not math.isfinite(value):
                raise InvalidError(f"{place} is {value}, which JSON cannot hold", place=place)
            return value
    if depth == 0:
        raise InvalidError(f"{place} is nested deeper than {DEPTH}", place=place)
    match value:
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise InvalidError(f"{place} has a key that is no text: {key!r}", place=place)
                check_text(key, f"a key of {place}")
            return MappingProxyType({key: _freeze(each, f"{place}.{key}", depth - 1) for key, each in value.items()})
        case Sequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            return tuple(_freeze(each, f"{place}[{index}]", depth - 1) for index, each in enumerate(value))
    raise InvalidError(f"{place} is a {type(value).__name__}, which is no JSON value", place=place)


def thaw(value: Any) -> Any:
    """The same value of plain dicts and lists, the caller's own."""
    if isinstance(value, Mapping):
        return {key: thaw(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(each) for each in value]
    return value
