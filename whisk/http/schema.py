"""Records as schemas of OpenAPI 3.0.

A schema says what crosses the wire: names in camelCase, an `Instant` as RFC 3339 text, a field without a default as
required. A field that may be left out is never sent as null; null is understood for it all the same.
"""

from __future__ import annotations

import inspect
from typing import Any

from msgspec import NODEFAULT, structs
from msgspec import inspect as types

from whisk.clock import Instant

REFERENCE = "#/components/schemas/"
Schema = dict[str, Any]


def wire_name(kind: type) -> str:
    """The name of a record's schema: its own `wire_name`, or the class's with `PTY` in capitals."""
    return str(vars(kind).get("wire_name") or kind.__name__.replace("Pty", "PTY"))


class Schemas:
    """Makes schemas, and keeps in `components` one for each record that any of them names, in `kinds` the record."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self.kinds: dict[str, type] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type. Raises `ValueError` for two records of one name, `TypeError` for what JSON has not."""
        return self._of(types.type_info(kind))

    def fields(self, kind: Any) -> dict[str, tuple[Schema, bool]]:
        """The schema of each field of a record by its name on the wire, and whether the field is required."""
        info = types.type_info(kind)
        if not isinstance(info, types.StructType):
            raise TypeError(f"{kind} is not a record")
        return {field.encode_name: (self._field(field), field.required) for field in info.fields}

    def _of(self, info: types.Type) -> Schema:
        match info:
            case types.Metadata(extra={"wire": kind}):
                # Decoded later, by the handler; this is what it takes.
                return self.of(kind)
            case types.Metadata():
                return self._of(info.type) | (info.extra_json_schema or {})
            case types.AnyType() | types.RawType():
                return {}
            case types.BoolType():
                return {"type": "boolean"}
            case types.IntType():
                return {"type": "integer", "format": "int64"} | _bounds(info)
            case types.FloatType():
                return {"type": "number"} | _bounds(info)
            case types.StrType():
                return {"type": "string"}
            case types.LiteralType():
                return {"type": "string", "enum": list(info.values)}
            case types.EnumType():
                return {"type": "string", "enum": [member.value for member in info.cls]}
            case types.CustomType(cls=kind) if kind is Instant:
                return {"type": "string", "format": "date-time"}
            case types.ListType() | types.VarTupleType():
                return {"type": "array", "items": self._of(info.item_type)}
            case types.DictType():
                return {"type": "object", "additionalProperties": self._of(info.value_type)}
            case types.UnionType():
                return self._union(info)
            case types.StructType():
                return self._record(info)
        raise TypeError(f"{info} has no schema; teach whisk.http.schema to make one")

    def _union(self, info: types.UnionType) -> Schema:
        members = [self._of(each) for each in info.types if not isinstance(each, types.NoneType)]
        nullable = {"nullable": True} if info.includes_none else {}
        if len(members) > 1:
            return {"anyOf": members} | nullable
        # What stands beside a reference is not read.
        return {"allOf": members} | nullable if nullable and "$ref" in members[0] else members[0] | nullable

    def _record(self, info: types.StructType) -> Schema:
        name = wire_name(info.cls)
        known = self.kinds.setdefault(name, info.cls)
        if known is not info.cls:
            raise ValueError(f"{known.__module__}.{known.__name__} and {info.cls.__module__} both want to be {name}")
        if name not in self.components:
            # Named before its fields are looked at: a record may hold itself.
            self.components[name] = {}
            self.components[name] = self._object(info)
        return {"$ref": REFERENCE + name}

    def _object(self, info: types.StructType) -> Schema:
        schema: Schema = {"type": "object", "properties": {f.encode_name: self._field(f) for f in info.fields}}
        if required := [field.encode_name for field in info.fields if field.required]:
            schema["required"] = required
        if said := description(info.cls):
            schema["description"] = said
        return schema

    def _field(self, field: types.Field) -> Schema:
        schema = self._of(field.type)
        if field.default is None and schema.pop("nullable", False) and (inner := schema.get("allOf")):
            return dict(inner[0])
        # An empty default says no more than the field's absence.
        if (
            field.default is not NODEFAULT
            and isinstance(field.default, bool | int | float | str)
            and field.default != ""
        ):
            return schema | {"default": field.default}
        return schema


def description(thing: Any) -> str:
    """The docstring that stands at a class or function itself; `""` if there is none, or no thing.

    It calls a record's fields what they are called in Python, and a reader of the schema what they are on the wire.
    """
    said = vars(thing).get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    text = inspect.cleandoc(said) if said else ""
    for field in structs.fields(thing) if isinstance(thing, type) else ():
        text = text.replace(f"`{field.name}`", f"`{field.encode_name}`")
    return text


def _bounds(info: types.IntType | types.FloatType) -> Schema:
    bounds: Schema = {}
    if info.ge is not None:
        bounds["minimum"] = info.ge
    if info.gt is not None:
        bounds |= {"minimum": info.gt, "exclusiveMinimum": True}
    if info.le is not None:
        bounds["maximum"] = info.le
    if info.lt is not None:
        bounds |= {"maximum": info.lt, "exclusiveMaximum": True}
    return bounds
