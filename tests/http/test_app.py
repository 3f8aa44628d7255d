"""The framework: routing, typed queries and bodies, replies, and errors, without a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import whisk.errors
from whisk.errors import BusyError, ConflictError, GoneError, InvalidError, NotFoundError, WhiskError
from whisk.http.client_gone import ClientGoneError
from whisk.http.failure import STATUS, shape, status_of
from whisk.http.reply import Stream, Text
from whisk.http.route import Route
from whisk.values import Record


class Note(Record, frozen=True):
    title: str
    count: int = 0


class Filter(Record, frozen=True):
    to: list[str] = []
    work_item_id: str | None = None
    unread: bool = False
    limit: int | None = None


def echo_note(_api: Any, request: Any) -> Any:
    return request.body


def show_query(_api: Any, request: Any) -> Any:
    return {
        "to": request.query.to,
        "item": request.query.work_item_id,
        "unread": request.query.unread,
        "limit": request.query.limit,
    }


def raising(error: BaseException) -> Route:
    def handler(_api: Any, _request: Any) -> Any:
        raise error

    return Route("GET", "/raise", handler, "raises")


def returning(value: Any, status: int = 200) -> Route:
    return Route("GET", "/value", lambda _api, _request: value, "returns", status=status)


NOTES = Route("POST", "/notes", echo_note, "echo", body=Note, status=201)
QUERY = Route("GET", "/query", show_query, "query", query=Filter)
NAMED = Route("GET", "/things/{name}/part", lambda _api, request: {"name": request.path["name"]}, "named")

Make = Callable[..., Any]


def test_a_body_is_decoded_and_the_reply_has_the_routes_status(caller: Make) -> None:
    answer = caller([NOTES])("POST", "/notes", {"title": "hello", "count": 3})
    assert answer.status == 201
    assert answer.json == {"title": "hello", "count": 3}
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("title", ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "a\u2028b"])
def test_text_of_an_agent_is_never_a_page(caller: Make, title: str) -> None:
    answer = caller([NOTES])("POST", "/notes", {"title": title})
    assert answer.json["title"] == title
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    refused = caller([raising(InvalidError(title))])("GET", "/raise")
    assert refused.json["error"] == title
    assert refused.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        (b"{", "not JSON"),
        (b"", "title"),
        (b"[]", "expected `object`"),
        (b'{"title": 5}', "$.title"),
        (b'{"title": "a"} trailing', "not JSON"),
        (b'{"title": "\\ud83d"}', "not JSON"),
        (b'{"title": "\xff"}', "UTF-8 at byte 11"),
        (b"\xff\xfe{\x00}\x00", "UTF-8 at byte 0"),
        (b'{"title": "a", "later": "\xff"}', "UTF-8 at byte 25"),
        (b'{"title": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "not JSON"),
    ],
)
def test_a_body_that_does_not_fit_is_a_typed_400(caller: Make, raw: bytes, part: str) -> None:
    answer = caller([NOTES])("POST", "/notes", raw=raw)
    assert (answer.status, answer.code) == (400, "invalid")
    assert part.lower() in answer.json["error"].lower()


def test_a_byte_order_mark_before_the_json_is_allowed(caller: Make) -> None:
    assert caller([NOTES])("POST", "/notes", raw=b'\xef\xbb\xbf{"title": "a"}').status == 201


def test_unknown_fields_of_a_body_are_ignored(caller: Make) -> None:
    assert caller([NOTES])("POST", "/notes", {"title": "a", "later": [1]}).json == {"title": "a"}


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "text/json; charset=utf8"])
def test_a_body_of_another_type_is_refused_by_name(caller: Make, content_type: str) -> None:
    answer = caller([NOTES])("POST", "/notes", {"title": "a"}, headers={"Content-Type": content_type})
    assert (answer.status, answer.code) == (400, "invalid")
    assert content_type in answer.json["error"]


@pytest.mark.parametrize("content_type", [None, "application/json;charset=UTF-8", "application/merge-patch+json"])
def test_json_is_taken_under_each_of_its_names(caller: Make, content_type: str | None) -> None:
    assert caller([NOTES])("POST", "/notes", {"title": "a"}, headers={"Content-Type": content_type}).status == 201


def test_a_declared_length_over_the_limit_is_refused_without_reading(caller: Make) -> None:
    answer = caller([NOTES])("POST", "/notes", raw=b"{}", headers={"Content-Length": str(4 * 1024**3)})
    assert (answer.status, answer.code) == (413, "too_large")
    assert answer.json["details"] == {"limit": 1024 * 1024, "size": 4 * 1024**3}


@pytest.mark.parametrize("length", ["-1", "five", "0x10", "²"])
def test_a_length_that_is_no_number_is_a_400(caller: Make, length: str) -> None:
    assert caller([NOTES])("POST", "/notes", raw=b"{}", headers={"Content-Length": length}).code == "invalid"


def test_a_body_that_ends_early_is_a_400(caller: Make) -> None:
    answer = caller([NOTES])("POST", "/notes", raw=b"{}", headers={"Content-Length": "10"})
    assert (answer.status, answer.json["error"]) == (400, "the body ended after 2 of 10 bytes")


def test_list_values_may_be_repeated_or_comma_joined(caller: Make) -> None:
    answer = caller([QUERY])("GET", "/query?to=run:1,run:2&to=pty%3A3&workItemId=i%2C1&unread=true&limit=5")
    assert answer.json == {"to": ["run:1", "run:2", "pty:3"], "item": "i,1", "unread": True, "limit": 5}


def test_an_empty_query_value_means_the_default(caller: Make) -> None:
    answer = caller([QUERY])("GET", "/query?to=&limit=&unread=&unknown=1")
    assert answer.json == {"to": [], "item": None, "unread": False, "limit": None}


@pytest.mark.parametrize(
    "query", ["limit=x", "limit=1.5", "unread=maybe", "limit=1&limit=2", "to=%FF", "workItemId=a%00b"]
)
def test_a_query_that_does_not_fit_is_a_typed_400(caller: Make, query: str) -> None:
    answer = caller([QUERY])("GET", f"/query?{query}")
    assert (answer.status, answer.code) == (400, "invalid")


@pytest.mark.parametrize("name", ["mailbox:run:run_1", "a/b", "übung", "100%", "a b+c", "..", "<img src=x>"])
def test_a_path_part_is_decoded_after_routing(caller: Make, name: str) -> None:
    from urllib.parse import quote

    assert caller([NAMED])("GET", f"/things/{quote(name, safe='')}/part").json == {"name": name}


def test_a_path_part_with_a_bare_colon_needs_no_escape(caller: Make) -> None:
    assert caller([NAMED])("GET", "/things/pty:1/part").json == {"name": "pty:1"}


@pytest.mark.parametrize("part", ["%FF", "%00", "%20", "%ED%A0%BD"])
def test_a_path_part_that_is_no_text_is_a_typed_400(caller: Make, part: str) -> None:
    answer = caller([NAMED])("GET", f"/things/{part}/part")
    assert (answer.status, answer.code) == (400, "invalid")


def test_an_unknown_path_is_a_json_404(caller: Make) -> None:
    answer = caller([NOTES])("GET", "/nothing")
    assert (answer.status, answer.code) == (404, "not_found")


def test_a_wrong_method_is_a_json_405_that_names_the_right_ones(caller: Make) -> None:
    answer = caller([NOTES])("DELETE", "/notes")
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidError("no"), 400, "invalid"),
        (NotFoundError("no", id="x"), 404, "not_found"),
        (ConflictError("no", winner={"by": "ann"}), 409, "conflict"),
        (GoneError("no"), 410, "gone"),
        (BusyError("no"), 503, "busy"),
        (ValueError("a secret of ours"), 500, "internal"),
    ],
)
def test_an_error_of_a_handler_has_the_shape_and_status_of_its_class(
    caller: Make, error: Exception, status: int, code: str
) -> None:
    answer = caller([raising(error)])("GET", "/raise")
    assert (answer.status, answer.code) == (status, code)
    assert "secret" not in answer.json["error"]
    assert ("retry-after" in answer.headers) == (status == 503)


def test_every_error_class_has_a_status() -> None:
    kinds = [kind for kind in vars(whisk.errors).values() if isinstance(kind, type) and issubclass(kind, WhiskError)]
    assert len(kinds) > 10
    for kind in kinds:
        assert 400 <= status_of(kind("x")) <= 504
        named = [parent for parent in kind.__mro__ if parent in STATUS]
        assert kind is WhiskError or named[0] is not WhiskError, f"{kind.__name__} gets its status by accident"


def test_an_error_that_quotes_a_lone_surrogate_is_still_told() -> None:
    assert shape("no such \ud83d thing", "invalid") == b'{"error":"no such ? thing","code":"invalid"}'
    assert shape("no", "invalid", {"text": "\ud83d"}) == b'{"error":"no","code":"invalid"}'


def test_error_details_that_are_not_json_do_not_cost_the_error() -> None:
    assert shape("no", "invalid", {"what": object()}) == b'{"error":"no","code":"invalid"}'


@pytest.mark.parametrize("value", [[], {}, [{"a": 1}], ["text"], "text", 0, None])
def test_every_json_value_arrives_as_itself(caller: Make, value: Any) -> None:
    assert caller([returning(value)])("GET", "/value").json == value


def test_204_has_no_body_and_no_type(caller: Make) -> None:
    answer = caller([returning(None, 204)])("GET", "/value")
    assert (answer.status, answer.body) == (204, b"")


def test_text_and_streams_keep_their_type(caller: Make) -> None:
    answer = caller([returning(Text(b"a 1\n", "text/plain; version=0.0.4"))])("GET", "/value")
    assert (answer.body, answer.headers["content-type"]) == (b"a 1\n", "text/plain; version=0.0.4")
    answer = caller([returning(Stream(iter([b"x", b"y"]), "text/event-stream"))])("GET", "/value")
    assert (answer.body, answer.headers["content-type"]) == (b"xy", "text/event-stream")


def test_a_client_that_hung_up_is_not_an_error(caller: Make) -> None:
    assert caller([raising(ClientGoneError())])("GET", "/raise").status == 204


def test_head_is_get_without_the_body(caller: Make) -> None:
    answer = caller([returning({"a": 1})])("HEAD", "/value")
    assert (answer.status, answer.body) == (200, b"")


def test_two_routes_with_one_name_are_refused_at_once(caller: Make) -> None:
    with pytest.raises(ValueError, match="POST /notes"):
        caller([NOTES, NOTES])


def test_requests_are_counted_by_route_and_status(caller: Make) -> None:
    from whisk.http.meter import Meter

    meter = Meter()
    call = caller([NOTES], meter=meter)
    call("POST", "/notes", {"title": "a"})
    call("POST", "/notes", raw=b"{")
    labels = {"route": "POST /notes", "status": "201"}
    assert meter.registry.get_sample_value("whisk_http_requests_total", labels) == 1
    assert meter.registry.get_sample_value("whisk_http_requests_total", {**labels, "status": "400"}) == 1
    assert meter.registry.get_sample_value("whisk_http_requests_running") == 0
