"""Whether a JSON value is what a schema of our OpenAPI document says, with no field that it does not name."""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


def faults(document: dict[str, Any], schema: dict[str, Any], value: Any, where: str = "$") -> list[str]:
    """What is wrong, each with its place; nothing when the value fits."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return faults(document, document["components"]["schemas"][name], value, where)
    if value is None and schema.get("nullable"):
        return []
    for choice in ("anyOf", "allOf"):
        if choice in schema:
            return min((faults(document, each, value, where) for each in schema[choice]), key=len)
    kind = schema.get("type")
    if kind is None:
        return []
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{where} is {value!r}, no {kind}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where} is {value!r}, none of {schema['enum']}"]
    if kind == "array":
        return [
            fault for i, each in enumerate(value) for fault in faults(document, schema["items"], each, f"{where}[{i}]")
        ]
    return _fields(document, schema, value, where) if kind == "object" else []


def _fields(document: dict[str, Any], schema: dict[str, Any], value: dict[str, Any], where: str) -> list[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    found = [f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value]
    for name, each in value.items():
        inner = known.get(name, others)
        found += (
            [f"{where}.{name} is not in the schema"]
            if inner is None
            else faults(document, inner, each, f"{where}.{name}")
        )
    return found
