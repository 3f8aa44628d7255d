"""Who may speak to the daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whisk.http.auth import Access
from whisk.http.route import Route
from whisk.ids import token_hash

PLAIN = Route("GET", "/plain", lambda _api, _request: {"ok": True}, "plain")
OPEN = Route("GET", "/open", lambda _api, _request: {"ok": True}, "open", auth="none")
SOCKET = Route("GET", "/socket", lambda _api, _request: {"ok": True}, "socket", token_in_query=True)
ROUTES = [PLAIN, OPEN, SOCKET]

Make = Callable[..., Any]


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic control-token-of-the-tests", "control-token-of-the-tests"],
)
def test_a_wrong_token_is_a_401(caller: Make, header: str | None) -> None:
    answer = caller(ROUTES)("GET", "/plain", headers={"Authorization": header})
    assert (answer.status, answer.code, answer.json["error"]) == (401, "unauthorized", "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_has_no_case(caller: Make, scheme: str) -> None:
    header = {"Authorization": f"{scheme} control-token-of-the-tests"}
    assert caller(ROUTES)("GET", "/plain", headers=header).status == 200


def test_an_open_route_needs_no_token(caller: Make) -> None:
    assert caller(ROUTES)("GET", "/open", headers={"Authorization": None}).status == 200


def test_a_token_in_the_query_counts_only_where_the_route_says_so(caller: Make) -> None:
    call = caller(ROUTES)
    query = "?access_token=control-token-of-the-tests"
    assert call("GET", f"/socket{query}", headers={"Authorization": None}).status == 200
    assert call("GET", f"/plain{query}", headers={"Authorization": None}).status == 401
    assert call("GET", "/socket?access_token=wrong", headers={"Authorization": None}).status == 401


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8787", "127.0.0.1:8787", "[::1]:8787", "localhost.:80", "127.0.0.1:9000", "box.lan:1"],
)
def test_names_of_this_machine_are_served(caller: Make, host: str) -> None:
    call = caller(ROUTES, access=Access(token_hash("control-token-of-the-tests"), names=frozenset({"box.lan"})))
    assert call("GET", "/plain", headers={"Host": host}).status == 200


@pytest.mark.parametrize("path", ["/plain", "/open", "/nothing"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8787",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "192.168.1.5:8787",
        "localhost:8787@evil.example",
        "",
        "a b",
        "[::1",
    ],
)
def test_a_rebound_name_is_refused_whatever_the_path(caller: Make, host: str, path: str) -> None:
    answer = caller(ROUTES)("GET", path, headers={"Host": host})
    assert (answer.status, answer.code) == (403, "forbidden")


def test_a_wildcard_listener_is_reached_by_any_literal_address_but_no_foreign_name(caller: Make) -> None:
    call = caller(ROUTES, access=Access(token_hash("control-token-of-the-tests"), bound="0.0.0.0"))
    assert call("GET", "/plain", headers={"Host": "192.168.1.5:8787"}).status == 200
    assert call("GET", "/plain", headers={"Host": "[fe80::1]:8787"}).status == 200
    assert call("GET", "/plain", headers={"Host": "evil.example"}).status == 403


def test_only_http_1_0_may_leave_the_host_out(caller: Make) -> None:
    call = caller(ROUTES)
    assert call("GET", "/plain", headers={"Host": None}).status == 400
    call.environ["SERVER_PROTOCOL"] = "HTTP/1.0"
    assert call("GET", "/plain", headers={"Host": None}).status == 200


@pytest.mark.parametrize("path", ["/plain", "/open", "/nothing"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8787"])
def test_a_foreign_origin_is_refused_even_with_the_token(caller: Make, origin: str, path: str) -> None:
    answer = caller(ROUTES)("GET", path, headers={"Origin": origin})
    assert (answer.status, answer.code) == (403, "forbidden")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("wails://wails.localhost", 200),
        ("http://localhost:5173", 200),
        ("https://[::1]", 200),
        ("http://127.0.0.1:3000", 200),
        ("http://localhost.evil.example", 403),
        ("https://evil.example", 403),
        ("http://localhost@evil.example", 403),
        ("null", 403),
    ],
)
def test_an_application_on_this_machine_may_open_a_websocket(caller: Make, origin: str, status: int) -> None:
    call = caller(ROUTES)
    assert call("GET", "/socket", headers={"Origin": origin, "Upgrade": "websocket"}).status == status
    call.token = None
    assert call("GET", "/socket", headers={"Origin": origin, "Upgrade": "websocket"}).status in (401, 403)


def test_the_daemons_own_pages_pass(caller: Make) -> None:
    assert caller(ROUTES)("GET", "/plain", headers={"Origin": "http://127.0.0.1:8787"}).status == 200
