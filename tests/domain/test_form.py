"""The forms of MCP elicitations: what fits is passed on unchanged, what does not is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from whisk.errors import InvalidError
from whisk.hooks.form import check_content, content_from_texts, fields_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "age": {"type": "integer", "minimum": 1, "maximum": 150},
        "ratio": {"type": "number"},
        "ok": {"type": "boolean", "default": True},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2},
    },
    "required": ["name", "age"],
}


@pytest.mark.parametrize(
    "content",
    [
        {"name": "dev", "age": 1},
        {"name": "dev", "age": 2.0, "ratio": 0.5, "ok": False},
        {"name": "dev", "age": 3, "size": "l", "mail": "a@b.c", "day": "2026-01-31", "tags": ["a", "b"]},
    ],
)
def test_content_that_fits_is_passed_on_unchanged(content: dict[str, Any]) -> None:
    assert check_content(SCHEMA, dict(content)) == content


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({}, "requires name, age"),
        ({"name": "dev", "age": None}, "requires age"),
        ({"name": "d", "age": 1}, "name must be at least 2"),
        ({"name": "developer", "age": 1}, "name must be at most 5"),
        ({"name": 5, "age": 1}, "name must be text"),
        ({"name": "dev", "age": True}, "age must be"),
        ({"name": "dev", "age": 1.5}, "age must be an integer"),
        ({"name": "dev", "age": float("inf")}, "age must be"),
        ({"name": "dev", "age": 200}, "age must be at most 150"),
        ({"name": "dev", "age": 1, "ok": "yes"}, "ok must be true or false"),
        ({"name": "dev", "age": 1, "size": "Small"}, "size must be one of s, l"),
        ({"name": "dev", "age": 1, "mail": "nobody"}, "mail must be in the format email"),
        ({"name": "dev", "age": 1, "day": "yesterday"}, "day must be in the format date"),
        ({"name": "dev", "age": 1, "tags": ["z"]}, "tags must be a list of a, b, c"),
        ({"name": "dev", "age": 1, "tags": ["a", "b", "c"]}, "tags must be at most 2"),
        ({"name": "dev", "age": 1, "colour": "red"}, "no field 'colour'"),
    ],
)
def test_content_that_does_not_fit_is_refused_with_the_field(content: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidError, match=named):
        check_content(SCHEMA, content)


def test_texts_are_read_as_the_type_of_each_field_in_order() -> None:
    texts = ("dev", "Large", "7", "0.5", "no", "a@b.c", "", "a, c")
    assert content_from_texts(SCHEMA, texts) == {
        "name": "dev",
        "size": "l",
        "age": 7,
        "ratio": 0.5,
        "ok": False,
        "mail": "a@b.c",
        "tags": ["a", "c"],
    }


def test_another_number_of_texts_than_fields_is_refused_with_the_fields() -> None:
    with pytest.raises(InvalidError, match="8 fields"):
        content_from_texts(SCHEMA, ("dev",))


def test_a_form_without_fields_takes_anything() -> None:
    assert fields_of({}) == ()
    assert check_content({}, {"free": 1}) == {"free": 1}


@pytest.mark.parametrize("schema", [{"properties": 3}, {"properties": {"a": 1}}, {"required": "a"}, {"properties": []}])
def test_a_schema_of_a_wrong_shape_is_no_crash(schema: dict[str, Any]) -> None:
    assert fields_of(schema) == ()
