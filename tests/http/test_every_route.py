"""Every route there is, driven into its errors: a typed JSON error each time, never HTML, never a traceback.

The list is the route table itself, so a route that is added is tested by being there.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from tests.http.conftest import Caller, make_api
from whisk.http.app import WsgiApp, build_app
from whisk.http.reply import JSON, Stream, Text
from whisk.http.route import Route
from whisk.http.table import all_routes

ROUTES = all_routes()
CLOSED = [route for route in ROUTES if route.auth == "control"]
WITH_BODY = [route for route in ROUTES if route.body not in (None, bytes)]
WITH_QUERY = [route for route in ROUTES if route.query is not None]
WITH_ID = [route for route in ROUTES if "{" in route.path]


def ids(route: Route) -> str:
    return route.name


def path_of(route: Route, id: str = "x_1") -> str:
    return re.sub(r"\{[a-z_]+\}", id, route.path)


def sample(kind: inspect.Type) -> Any:
    """A value of this type with nothing in it that is not required."""
    match kind:
        case inspect.StructType():
            return {field.encode_name: sample(field.type) for field in kind.fields if field.required}
        case inspect.StrType():
            return "x"
        case inspect.IntType():
            return int(kind.ge or 1)
        case inspect.FloatType():
            return 1.5
        case inspect.BoolType():
            return True
        case inspect.ListType() | inspect.VarTupleType():
            return [sample(kind.item_type)]
        case inspect.TupleType():
            return [sample(each) for each in kind.item_types]
        case inspect.DictType():
            return {}
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.UnionType():
            return sample(kind.types[0])
        case inspect.Metadata():
            return sample(kind.type)
        case inspect.RawType() | inspect.AnyType():
            return {}
        case _:
            raise TypeError(f"teach this test to make a {kind}")


# Bodies of routes whose fields depend on each other, so that the least of them is not enough.
BODIES: dict[str, Any] = {"POST /v1/ptys/{pty_id}/write": {"data": "x"}}


def body_of(route: Route) -> Any:
    if route.name in BODIES:
        return BODIES[route.name]
    if route.body is None:
        return None
    return {} if route.body is bytes else sample(inspect.type_info(route.body))


def takes_anything(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.UnionType):
        return any(takes_anything(each) for each in kind.types)
    if isinstance(kind, inspect.Metadata):
        return takes_anything(kind.type)
    return isinstance(kind, inspect.AnyType | inspect.RawType | inspect.CustomType | inspect.DictType)


def wrong_fields(route: Route) -> list[str]:
    """The fields of a body that must not take an array of objects."""
    info = inspect.type_info(route.body)
    fields = info.fields if isinstance(info, inspect.StructType) else ()
    return [field.encode_name for field in fields if not takes_anything(field.type)]


@pytest.fixture(scope="module")
def app() -> WsgiApp:
    """All routes and no parts behind them: what is refused here is refused before anything is asked."""
    return build_app(make_api(), ROUTES)


@pytest.fixture
def gate(app: WsgiApp) -> Caller:
    return Caller(app)


def test_there_are_routes_and_only_health_is_open() -> None:
    assert len(ROUTES) > 20
    assert [route.name for route in ROUTES if route.auth == "none"] == ["GET /open/{noun}/{thing_id}", "GET /v1/health"]


@pytest.mark.parametrize("route", ROUTES, ids=ids)
def test_a_route_says_what_it_is(route: Route) -> None:
    assert re.fullmatch(r"(/v1)?(/[a-z.-]+|/\{[a-z_]+\})+", route.path), route.path
    assert route.summary[0].isupper()
    assert not route.summary.endswith(".")
    # A route that takes its token in the query is a WebSocket, which has no reply of its own.
    assert (route.reply is None) == (route.status == 204 or route.token_in_query), "a reply type, or 204"
    assert route.body is None or route.method != "GET"
    assert re.fullmatch(r"[a-z]+[A-Za-z]+", route.operation), "the name of the operation in docs/openapi.json"
    assert (route.reply in (Text, Stream)) == (route.media != JSON), "the media type of what is not JSON"


@pytest.mark.parametrize("route", CLOSED, ids=ids)
@pytest.mark.parametrize("token", [None, "wrong"])
def test_a_wrong_token_is_401(gate: Caller, route: Route, token: str | None) -> None:
    gate.token = token
    answer = gate(route.method, path_of(route), body_of(route))
    assert (answer.status, answer.code) == (401, "unauthorized")


@pytest.mark.parametrize("route", ROUTES, ids=ids)
@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}], ids=str
)
def test_a_foreign_host_or_origin_is_403(gate: Caller, route: Route, headers: dict[str, str]) -> None:
    answer = gate(route.method, path_of(route), body_of(route), headers=headers)
    assert (answer.status, answer.code) == (403, "forbidden")


@pytest.mark.parametrize("route", ROUTES, ids=ids)
def test_another_method_is_405(gate: Caller, route: Route) -> None:
    allowed = {each.method for each in ROUTES if each.path == route.path}
    method = next(each for each in ("DELETE", "PUT", "PATCH") if each not in allowed)
    answer = gate(method, path_of(route))
    assert (answer.status, answer.code) == (405, "method_not_allowed")


@pytest.mark.parametrize("route", CLOSED, ids=ids)
def test_an_oversized_body_is_413(gate: Caller, route: Route) -> None:
    size = str(route.body_limit + 1)
    answer = gate(route.method, path_of(route), raw=b"{}", headers={"Content-Length": size})
    assert (answer.status, answer.code) == (413, "too_large")


@pytest.mark.parametrize("route", WITH_BODY, ids=ids)
@pytest.mark.parametrize(
    "raw",
    [b"{", b"not json", b"\xff\xfe", b'{} {"again": 1}', b"[]", b'"text"', b"null", b"<html></html>", b'{"a":"\xff"}'],
)
def test_a_body_that_is_not_a_json_object_is_400(gate: Caller, route: Route, raw: bytes) -> None:
    answer = gate(route.method, path_of(route), raw=raw)
    assert (answer.status, answer.code) == (400, "invalid")


@pytest.mark.parametrize("route", WITH_BODY, ids=ids)
def test_a_body_of_another_content_type_is_400(gate: Caller, route: Route) -> None:
    answer = gate(route.method, path_of(route), body_of(route), headers={"Content-Type": "text/plain"})
    assert (answer.status, answer.code) == (400, "invalid")


@pytest.mark.parametrize("route", WITH_BODY, ids=ids)
def test_a_field_of_a_wrong_type_is_400_and_named(gate: Caller, route: Route) -> None:
    for field in wrong_fields(route):
        answer = gate(route.method, path_of(route), {**body_of(route), field: [{"no": 1}, [None]]})
        assert (answer.status, answer.code) == (400, "invalid"), field
        assert f"$.{field}" in answer.json["error"]


@pytest.mark.parametrize("route", WITH_QUERY, ids=ids)
def test_a_query_that_is_no_text_is_400(gate: Caller, route: Route) -> None:
    assert route.query is not None
    for field in msgspec.structs.fields(route.query):
        for value in ("%FF", "%00"):
            answer = gate(route.method, f"{path_of(route)}?{field.encode_name}={value}", body_of(route))
            assert (answer.status, answer.code) == (400, "invalid"), field.encode_name


@pytest.mark.parametrize("route", WITH_ID, ids=ids)
@pytest.mark.parametrize("id", ["%FF", "%00", "%ED%A0%BD", "%20"])
def test_an_id_that_is_no_text_is_400(gate: Caller, route: Route, id: str) -> None:
    answer = gate(route.method, path_of(route, id), body_of(route))
    assert (answer.status, answer.code) == (400, "invalid")


def test_an_unknown_id_is_404(call: Any) -> None:
    """All in one: the real actors behind them take longer to start than all these requests take."""
    wrong = []
    for route in WITH_ID:
        # A WebSocket is refused for being asked for without an upgrade, before anything is looked up.
        expected = 426 if route.token_in_query else 404
        for id in ("x_1", "a%2Fb", "a:b", "..%2F..%2Fetc%2Fpasswd", "%3Cimg%20src%3Dx%3E"):
            answer = call(route.method, path_of(route, id), body_of(route))
            known = answer.code in ("not_found", "no_such_actor", "upgrade_required")
            if answer.status != expected or not known:
                wrong.append((route.name, id, answer))
    assert wrong == []
