"""The form of an MCP elicitation: the flat JSON schema that the protocol allows, and what a person may fill in.

Claude Code passes the content on as it is (it checks nothing), so an answer that does not fit would reach the server;
it is refused here, naming the field and what would be right.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from whisk.errors import InvalidError
from whisk.values import Record


class Field(Record, frozen=True):
    """One entry of a form. `choices` are the values it is limited to, `titles` how they are shown."""

    name: str
    kind: str
    title: str
    description: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    default: Any = None


def fields_of(schema: dict[str, Any]) -> tuple[Field, ...]:
    """The fields of a form in the schema's order."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    if not isinstance(properties, dict):
        return ()
    return tuple(_field(name, rule, name in needed) for name, rule in properties.items() if isinstance(rule, dict))


def _field(name: str, rule: dict[str, Any], required: bool) -> Field:
    choices, titles = _choices(rule.get("items") if rule.get("type") == "array" else rule)
    return Field(
        name=name,
        kind=str(rule.get("type", "string")),
        title=str(rule.get("title") or name),
        description=str(rule.get("description") or ""),
        required=required,
        choices=choices,
        titles=titles,
        default=rule.get("default"),
    )


def _choices(rule: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not isinstance(rule, dict):
        return (), ()
    titled = rule.get("oneOf") or rule.get("anyOf")
    if isinstance(titled, list):
        found = [item for item in titled if isinstance(item, dict) and isinstance(item.get("const"), str)]
        return tuple(item["const"] for item in found), tuple(str(item.get("title") or item["const"]) for item in found)
    values = tuple(value for value in rule.get("enum") or () if isinstance(value, str))
    names = rule.get("enumNames")
    if isinstance(names, list) and len(names) == len(values):
        return values, tuple(str(name) for name in names)
    return values, values


def check_content(schema: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """`content` if it fits the form, else `InvalidError` with the field and what it takes."""
    fields = fields_of(schema)
    known = {field.name: field for field in fields}
    for name in content:
        if known and name not in known:
            raise InvalidError(f"the form has no field {name!r}", field=name, fields=list(known))
    missing = [field.name for field in fields if field.required and content.get(field.name) is None]
    if missing:
        raise InvalidError(f"the form requires {', '.join(missing)}", missing=missing, fields=list(known))
    for field in fields:
        if field.name in content:
            _check_value(field, schema["properties"][field.name], content[field.name])
    return content


def content_from_texts(schema: dict[str, Any], texts: tuple[str, ...]) -> dict[str, Any]:
    """One text per field in order, read as the field's type; an empty text leaves an optional field out."""
    fields = fields_of(schema)
    if len(texts) != len(fields):
        names = [field.name for field in fields]
        raise InvalidError(
            f"the form has {len(fields)} fields ({', '.join(names)}) but {len(texts)} answers were given", fields=names
        )
    given = [(field, text) for field, text in zip(fields, texts, strict=True) if text or field.required]
    return check_content(schema, {field.name: _typed(field, text) for field, text in given})


def _typed(field: Field, text: str) -> Any:
    match field.kind:
        case "boolean":
            word = text.strip().lower()
            if word in ("true", "yes", "y", "on"):
                return True
            if word in ("false", "no", "n", "off"):
                return False
            raise _refused(field, text, "true or false")
        case "integer" | "number":
            try:
                number = json.loads(text)
            except ValueError:
                raise _refused(field, text, f"a {field.kind}") from None
            return number
        case "array":
            return [_value(field, part.strip()) for part in text.split(",") if part.strip()]
        case _:
            return _value(field, text)


def _value(field: Field, text: str) -> str:
    """A choice may be given by its value or by the title a person sees."""
    if text not in field.choices and text in field.titles:
        return field.choices[field.titles.index(text)]
    return text


def _check_value(field: Field, rule: dict[str, Any], value: Any) -> None:
    match field.kind:
        case "boolean":
            if not isinstance(value, bool):
                raise _refused(field, value, "true or false")
        case "integer" | "number":
            _check_number(field, rule, value)
        case "array":
            if not isinstance(value, list) or any(item not in field.choices for item in value if field.choices):
                raise _refused(field, value, f"a list of {', '.join(field.choices) or 'values'}")
            _check_bounds(field, rule, value, len(value), "minItems", "maxItems", "entries")
        case _:
            _check_string(field, rule, value)


def _check_number(field: Field, rule: dict[str, Any], value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(field, value, f"a {field.kind}")
    if field.kind == "integer" and value != int(value):
        raise _refused(field, value, "an integer")
    _check_bounds(field, rule, value, value, "minimum", "maximum", "")


def _check_string(field: Field, rule: dict[str, Any], value: Any) -> None:
    if not isinstance(value, str):
        raise _refused(field, value, "text")
    if field.choices and value not in field.choices:
        raise _refused(field, value, f"one of {', '.join(field.choices)}")
    _check_bounds(field, rule, value, len(value), "minLength", "maxLength", "characters")
    if (check := _FORMATS.get(str(rule.get("format")))) is not None and not check(value):
        raise _refused(field, value, f"in the format {rule['format']}")


def _check_bounds(field: Field, rule: dict[str, Any], value: Any, size: float, low: str, high: str, unit: str) -> None:
    least, most = rule.get(low), rule.get(high)
    if isinstance(least, int | float) and size < least:
        raise _refused(field, value, f"at least {least} {unit}".rstrip())
    if isinstance(most, int | float) and size > most:
        raise _refused(field, value, f"at most {most} {unit}".rstrip())


def _refused(field: Field, value: Any, expected: str) -> InvalidError:
    return InvalidError(
        f"{field.name} must be {expected}, not {value!r}",
        field=field.name,
        expected=expected,
        choices=list(field.choices),
    )


def _is_uri(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_moment(text: str) -> bool:
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


_FORMATS: dict[str, Callable[[str], object]] = {
    "email": re.compile(r"[^@\s]+@[^@\s]+").fullmatch,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_moment,
}
