"""Whether plain JSON has the shape of a record, fault by fault: decoding stops at the first one, this goes on.

A field that the record does not know is a fault too: it is most often a typing error, and ignoring it would change what
the author meant without a word.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from whisk.errors import InvalidError

_QUOTED = 80


class Fault(NamedTuple):
    """`path` is the place, as in `actions[2].to`; empty for the whole document."""

    path: str
    message: str


class JsonObject(dict[str, Any]):
    """A JSON object that remembers which of its names were written more than once."""

    repeated: tuple[str, ...] = ()


def read_json(data: bytes) -> Any:
    """The value of a JSON text; its objects are `JsonObject`s. Raises `InvalidError` for anything else."""
    try:
        # msgspec is strict about UTF-8, surrogates and NaN, and the standard library knows of repeated names.
        msgspec.json.decode(data)
        return json.loads(data, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"not JSON: {error}") from error


def faults(value: Any, kind: type[Any], path: str = "") -> list[Fault]:
    """Everything in which `value` differs from what `kind`, a record class, is on the wire.

    `null` is taken for an array, and means an empty one: clients written in Go send it.
    """
    return _faults(value, inspect.type_info(kind), path)


def without_nulls(value: Any) -> Any:
    """The same without the fields that are null, which mean what a missing field means; arrays keep theirs."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def quote(value: Any) -> str:
    """A value of somebody else's for use in a sentence: one line, not too long, nothing that a terminal acts on."""
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def join(path: str, name: str) -> str:
    if not name.isidentifier():
        return f"{path}[{quote(name)}]"
    return f"{path}.{name}" if path else name


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    made = JsonObject(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        made.repeated = tuple(name for name in made if names.count(name) > 1)
    return made


def _faults(value: Any, kind: inspect.Type, path: str) -> list[Fault]:
    match kind:
        case inspect.StructType():
            return _object_faults(value, kind, path)
        case inspect.VarTupleType():
            if value is None:
                return []
            if not isinstance(value, list):
                return [_wrong(value, "an array", path)]
            places = [_faults(each, kind.item_type, f"{path}[{position}]") for position, each in enumerate(value)]
            return [fault for found in places for fault in found]
        case inspect.UnionType():
            # The only unions of these records: something, or nothing.
            (some,) = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
            return [] if value is None else _faults(value, some, path)
        case inspect.LiteralType():
            known = ", ".join(quote(each) for each in kind.values)
            fits = any(each == value for each in kind.values)
            return [] if fits else [Fault(path, f"{quote(value)} is none of {known}")]
        case inspect.StrType():
            return [] if isinstance(value, str) else [_wrong(value, "text", path)]
        case inspect.BoolType():
            return [] if isinstance(value, bool) else [_wrong(value, "true or false", path)]
        case inspect.IntType():
            whole = isinstance(value, int) and not isinstance(value, bool)
            return [] if whole else [_wrong(value, "a whole number", path)]
        case _:
            raise TypeError(f"no rule for {kind}")


def _object_faults(value: Any, kind: inspect.StructType, path: str) -> list[Fault]:
    if not isinstance(value, dict):
        return [_wrong(value, "an object", path)]
    fields = {field.encode_name: field for field in kind.fields}
    found = [Fault(join(path, name), "stands here more than once") for name in getattr(value, "repeated", ())]
    for name in value:
        if name not in fields:
            near = get_close_matches(name, fields, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(fields)}"
            found.append(Fault(join(path, name), f"unknown field; {hint}"))
    for name, field in fields.items():
        if name in value:
            found.extend(_faults(value[name], field.type, join(path, name)))
        elif field.required:
            found.append(Fault(join(path, name), "is missing"))
    return found


def _wrong(value: Any, wanted: str, path: str) -> Fault:
    return Fault(path, f"must be {wanted}, not {_kind(value)}")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            return f"the number {quote(value)}"
