"""Two OpenAPI documents compared: where ours does not keep what theirs promises to clients.

What may differ everywhere, and why no client notices:

- An operation, a parameter or a field of ours that theirs has not: it is optional for those who send it, and those who
  read it skip what they do not know.
- A request may leave out what theirs requires: whoever sends it all the same is understood.
- A request may take more kinds of a value than theirs, if the one of theirs is among them.
- An answer may always hold what theirs holds sometimes.
- Ours says which words a text may be, or between which bounds a number lies; theirs does so in prose.
- Ours says that an integer has 64 bits, theirs says so of most.
- A query's list is one text, joined by commas.
- Null stands for absence: ours never sends it where a field may be left out, and sends an empty list rather than it;
  where theirs may send null, a client is ready for a value too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

JSON = "application/json"
Schema = dict[str, Any]
Direction = Literal["request", "reply"]


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    """One line for each, `where: what`, which does not depend on the order of anything."""
    return set(_Comparison(ours, theirs).run())


class _Comparison:
    def __init__(self, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
        self._ours = ours
        self._theirs = theirs
        self._seen: set[tuple[str, str, Direction]] = set()

    def run(self) -> Iterator[str]:
        ours = dict(_operations(self._ours))
        for name, (place, wanted) in _operations(self._theirs):
            if name not in ours:
                yield f"{name}: missing"
                continue
            at, found = ours[name]
            if at != place:
                yield f"{name}: at {at}, not at {place}"
            yield from self._operation(name, found, wanted)

    def _operation(self, name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
        for part in ("tags", "security"):
            if ours.get(part) != theirs.get(part):
                yield f"{name}: {part} {ours.get(part)}, not {theirs.get(part)}"
        yield from self._parameters(name, ours, theirs)
        if body := theirs.get("requestBody"):
            if "requestBody" not in ours:
                yield f"{name}: no body"
            else:
                yield from self._schema(f"{name} body", _content(ours["requestBody"]), _content(body), "request")
        answers, wanted = ours["responses"], theirs["responses"]
        if set(answers) != set(wanted):
            yield f"{name}: answers {sorted(answers)}, not {sorted(wanted)}"
        for status in sorted(set(answers) & set(wanted)):
            yield from self._schema(f"{name} {status}", _content(answers[status]), _content(wanted[status]), "reply")

    def _parameters(self, name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
        found, wanted = ({(p["in"], p["name"]): p for p in side.get("parameters", ())} for side in (ours, theirs))
        for key in sorted(set(wanted) - set(found)):
            yield f"{name} {key[1]}: missing"
        for key, parameter in sorted(found.items()):
            schema = parameter["schema"]
            if key in wanted:
                if schema.get("type") == "array" and not parameter.get("explode", True):
                    schema = schema["items"]
                yield from self._schema(f"{name} {key[1]}", schema, wanted[key]["schema"], "request")
            if parameter.get("required") and not wanted.get(key, {}).get("required"):
                yield f"{name} {key[1]}: required"

    def _schema(self, where: str, ours: Schema, theirs: Schema, direction: Direction) -> Iterator[str]:
        nullable = bool(ours.get("nullable"))
        if direction == "reply" and nullable and not theirs.get("nullable"):
            yield f"{where}: may be null"
        ours, theirs = _bare(ours), _bare(theirs)
        if direction == "request" and "anyOf" in ours:
            kinds = [list(self._schema(where, each, theirs, direction)) for each in ours["anyOf"]]
            yield from min(kinds, key=len)
        elif "$ref" in theirs or "$ref" in ours:
            yield from self._reference(where, ours, theirs, direction)
        elif _kind(ours) != _kind(theirs):
            yield f"{where}: {_kind(ours)}, not {_kind(theirs)}"
        elif theirs.get("type") == "array":
            yield from self._schema(f"{where}[]", ours["items"], theirs["items"], direction)
        elif theirs.get("type") == "object":
            inner, wanted = ours.get("additionalProperties", {}), theirs.get("additionalProperties", {})
            yield from self._schema(f"{where}{{}}", inner, wanted, direction)

    def _reference(self, where: str, ours: Schema, theirs: Schema, direction: Direction) -> Iterator[str]:
        found, wanted = _name(ours), _name(theirs)
        if found != wanted:
            yield f"{where}: {found}, not {wanted}"
        if "$ref" in ours and "$ref" in theirs and (found, wanted, direction) not in self._seen:
            self._seen.add((found, wanted, direction))
            mine, other = (side["components"]["schemas"] for side in (self._ours, self._theirs))
            yield from self._record(wanted, mine[found], other[wanted], direction)

    def _record(self, name: str, ours: Schema, theirs: Schema, direction: Direction) -> Iterator[str]:
        found, wanted = ours.get("properties", {}), theirs.get("properties", {})
        needed, promised = set(ours.get("required", ())), set(theirs.get("required", ()))
        for field in sorted(set(wanted) - set(found)):
            yield f"{name}.{field}: missing"
        for field in sorted(set(found) & set(wanted)):
            yield from self._schema(f"{name}.{field}", found[field], wanted[field], direction)
            if direction == "reply" and field in promised - needed:
                yield f"{name}.{field}: not required"
        if direction == "request":
            yield from (f"{name}.{field}: required" for field in sorted(needed - promised))


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield operation["operationId"], (f"{method.upper()} {path}", operation)


def _content(part: dict[str, Any]) -> Schema:
    schema: Schema = part.get("content", {}).get(JSON, {}).get("schema", {})
    return schema


def _bare(schema: Schema) -> Schema:
    """Without the shell that OpenAPI 3.0 needs to say something beside a reference."""
    inner = schema.get("allOf")
    return inner[0] if inner and len(inner) == 1 else schema


def _kind(schema: Schema) -> str:
    words = [schema.get("type", "anything"), schema.get("format", "").replace("int64", "")]
    return " ".join(word for word in words if word) if "anyOf" not in schema else "several kinds"


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else _kind(schema)
