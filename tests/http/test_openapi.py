"""The document of the wire: each record and operation as clients of OpenAPI 3.0 read them."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pytest
from msgspec import Raw

from tests.http.conftest import Caller
from whisk.clock import Instant
from whisk.http import manual, openapi
from whisk.http.reply import Stream
from whisk.http.route import Route
from whisk.http.schema import Schemas, wire_name
from whisk.http.table import all_routes
from whisk.values import Record


class Leaf(Record, frozen=True):
    """A leaf.

    On a branch.
    """

    wire_name: ClassVar[str] = "TreeLeaf"

    at: Instant


class Branch(Leaf, frozen=True):
    name: str
    leaf: Leaf | None
    either: Leaf | str
    kind: Literal["a", "b"]
    payload: Raw = Raw()
    branches: tuple[Branch, ...] = ()
    by_name: dict[str, Leaf] = {}
    anything: dict[str, Any] = {}
    tip: Leaf | None = None
    count: Annotated[int, msgspec.Meta(ge=1, lt=10)] = 3
    note: str | None = None
    on: bool = False


class Wanted(Record, frozen=True):
    """What is wanted, by `by_name`, and where it is to `start`."""

    types: list[str] = []
    start: str = msgspec.field(default="0", name="from")
    by_name: str = ""


def handler(_api: Any, _request: Any) -> None:
    """Does it."""


def route(method: Any = "POST", path: str = "/v1/trees/{tree_id}", **more: Any) -> Route:
    return Route(method, path, handler, "Do it", **{"operation": "doIt", **more})


@pytest.fixture(scope="module")
def branch() -> tuple[dict[str, Any], dict[str, Any]]:
    schemas = Schemas()
    assert schemas.of(list[Branch]) == {"type": "array", "items": {"$ref": "#/components/schemas/Branch"}}
    return schemas.components["Branch"]["properties"], schemas.components


def test_a_record_has_its_wire_name_which_its_heirs_do_not_inherit() -> None:
    assert wire_name(Leaf) == "TreeLeaf"
    assert wire_name(Branch) == "Branch"
    assert wire_name(type("KilledPty", (), {})) == "KilledPTY"


def test_a_field_without_a_default_is_required(branch: Any) -> None:
    assert branch[1]["Branch"]["required"] == ["at", "name", "leaf", "either", "kind"]
    assert branch[1]["TreeLeaf"]["required"] == ["at"]


def test_fields_say_what_crosses_the_wire(branch: Any) -> None:
    leaf = {"$ref": "#/components/schemas/TreeLeaf"}
    assert branch[0] == {
        "at": {"type": "string", "format": "date-time"},
        "name": {"type": "string"},
        "leaf": {"allOf": [leaf], "nullable": True},
        "either": {"anyOf": [leaf, {"type": "string"}]},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "payload": {},
        "branches": {"type": "array", "items": {"$ref": "#/components/schemas/Branch"}},
        "byName": {"type": "object", "additionalProperties": leaf},
        "anything": {"type": "object", "additionalProperties": {}},
        "tip": leaf,
        "count": {
            "type": "integer", "format": "int64", "minimum": 1, "maximum": 10, "exclusiveMaximum": True, "default": 3,
        },
        "note": {"type": "string"},
        "on": {"type": "boolean", "default": False},
    }  # fmt: skip


def test_a_docstring_describes_its_own_record_only(branch: Any) -> None:
    assert branch[1]["TreeLeaf"]["description"] == "A leaf.\n\nOn a branch."
    assert "description" not in branch[1]["Branch"]


def test_two_records_of_one_name_are_a_mistake() -> None:
    other = msgspec.defstruct("TreeLeaf", ["x"])
    schemas = Schemas()
    schemas.of(Leaf)
    with pytest.raises(ValueError, match="both want to be TreeLeaf"):
        schemas.of(other)


def test_what_json_has_not_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="has no schema"):
        Schemas().of(complex)


def test_an_operation_names_its_parameters_as_clients_know_them() -> None:
    made = openapi.document([route("GET", "/v1/trees/{work_item_id}/{name}", query=Wanted, reply=list[Leaf])])
    operation = made["paths"]["/v1/trees/{workItemID}/{name}"]["get"]
    assert operation["parameters"] == [
        {"name": "workItemID", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}},
        {
            "name": "types", "in": "query", "schema": {"type": "array", "items": {"type": "string"}},
            "style": "form", "explode": False,
        },
        {"name": "from", "in": "query", "schema": {"type": "string", "default": "0"}},
        {"name": "byName", "in": "query", "schema": {"type": "string"}},
    ]  # fmt: skip
    assert operation["description"] == "Does it.\n\nWhat is wanted, by `byName`, and where it is to `from`."
    assert operation["tags"] == ["trees"]
    assert operation["security"] == [{"controlBearer": []}]


def test_a_body_is_required_when_a_field_of_it_is() -> None:
    def required(body: Any) -> Any:
        made = openapi.document([route(body=body, status=204)])
        return made["paths"]["/v1/trees/{treeID}"]["post"]["requestBody"]["required"]

    assert required(Leaf) is True
    assert required(Wanted) is False
    assert required(bytes) is False


def test_what_whiskd_fills_in_is_nobodys_to_send() -> None:
    class Decision(Record, frozen=True):
        surface: str = ""
        actor: str = ""

    made = openapi.document([route(body=Decision, status=204)])
    assert list(made["components"]["schemas"]["Decision"]["properties"]) == ["actor"]


def test_answers_are_json_a_stream_a_socket_or_nothing() -> None:
    def answers(**more: Any) -> Any:
        operation = openapi.document([route("GET", **more)])["paths"]["/v1/trees/{treeID}"]["get"]
        assert operation["responses"].pop("default")["content"]["application/json"]["schema"] == {
            "$ref": "#/components/schemas/ErrorResponse"
        }
        return operation["responses"], operation.get("x-frames"), operation["security"]

    bearer = [{"controlBearer": []}]
    leaf = {"$ref": "#/components/schemas/TreeLeaf"}
    json = {"description": "Created", "content": {"application/json": {"schema": leaf}}}
    assert answers(reply=Leaf, status=201) == ({"201": json}, None, bearer)
    assert answers(status=204) == ({"204": {"description": "No Content"}}, None, bearer)
    text = {"description": "OK", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    assert answers(reply=Stream, media="text/event-stream", frames=(Leaf,)) == ({"200": text}, [leaf], bearer)
    socket = {"description": "The connection becomes a WebSocket"}
    assert answers(token_in_query=True) == ({"101": socket}, None, [*bearer, {"controlQuery": []}])
    assert answers(auth="none", status=204)[2] == []


def test_every_operation_needs_a_name_of_its_own() -> None:
    with pytest.raises(ValueError, match="needs an operation"):
        openapi.document([route(operation="")])
    with pytest.raises(ValueError, match="needs an operation of its own, not 'doIt'"):
        openapi.document([route(), route("GET")])


def test_the_daemon_serves_the_document_of_its_own_routes(call: Caller) -> None:
    answer = call("GET", "/v1/openapi.json")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == json.loads(json.dumps(openapi.document(all_routes())))


def test_the_page_has_every_operation_and_every_record() -> None:
    made = openapi.document(all_routes())
    text = manual.page(all_routes(), made)
    for each in all_routes():
        assert f"`{each.method} {openapi.wire_path(each.path)}` · `{each.operation}`" in text
    for name in made["components"]["schemas"]:
        assert f"### {name}\n" in text


def test_every_link_of_the_page_leads_to_one_heading() -> None:
    text = manual.page(all_routes(), openapi.document(all_routes()))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    assert [link for link in set(re.findall(r"\(#([^)]*)\)", text)) if anchors.count(link) != 1] == []
