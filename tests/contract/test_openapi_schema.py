"""What the walk through all operations holds answers against sees every kind of fault."""

from __future__ import annotations

from typing import Any

import pytest

from tests.openapi_schema import faults

LEAF = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "enum": ["oak", "elm"]},
        "size": {"type": "integer"},
        "root": {"allOf": [{"$ref": "#/components/schemas/Leaf"}], "nullable": True},
        "twigs": {"type": "array", "items": {"type": "number"}},
        "more": {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "boolean"}]}},
        "free": {},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "oak", "size": 1, "root": None, "twigs": [1, 2.5], "more": {"a": "b", "c": True}, "free": [{}]}, []),
        ({}, ["$.name is missing"]),
        ({"name": "ash"}, ["$.name is 'ash', none of ['oak', 'elm']"]),
        ({"name": "oak", "size": True}, ["$.size is True, no integer"]),
        ({"name": "oak", "root": {"name": 1}}, ["$.root.name is 1, no string"]),
        ({"name": "oak", "twigs": ["x"]}, ["$.twigs[0] is 'x', no number"]),
        ({"name": "oak", "more": {"a": 1}}, ["$.more.a is 1, no string"]),
        ({"name": "oak", "new": 1}, ["$.new is not in the schema"]),
        ([], ["$ is [], no object"]),
    ],
)
def test_a_fault_is_found_where_it_is(value: Any, expected: list[str]) -> None:
    schema = {"$ref": "#/components/schemas/Leaf"}
    assert faults({"components": {"schemas": {"Leaf": LEAF}}}, schema, value) == expected
