"""The WSGI application: route tuples in, one callable out. It needs no socket, so most tests call it directly."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from structlog import get_logger

from whisk.errors import WhiskError
from whisk.http import auth
from whisk.http.api import Api
from whisk.http.body import decode_body, read_body
from whisk.http.bottle_app import JsonBottle, environ
from whisk.http.client_gone import ClientGoneError
from whisk.http.failure import refusal, status_line
from whisk.http.query import decode_part, decode_query
from whisk.http.reply import JSON, broken, refuse, reply, respond
from whisk.http.route import FILLED_IN, Request, Route

StartResponse = Callable[..., Any]
WsgiApp = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]

_log = get_logger("whisk.http")

# Characters that mean something in a path and stay as they are when a raw path is put together again.
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"


def build_app(api: Api, routes: Sequence[Route]) -> WsgiApp:
    """The application for these routes. Two routes with one method and path are a bug and raise `ValueError`."""
    bottle = JsonBottle()
    seen: set[str] = set()
    for route in routes:
        if route.name in seen:
            raise ValueError(f"two routes claim {route.name}")
        seen.add(route.name)
        pattern = route.path.replace("{", "<").replace("}", ">")
        # Bottle's own plugins are for handlers that return dicts and templates; ours do neither.
        bottle.route(pattern, method=route.method, callback=_callback(api, route), skip=True)

    def app(env: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        # Before anything else, so that not even a 404 is told to a foreign page.
        try:
            auth.check_host(api.access, env)
            auth.check_origin(env)
        except WhiskError as error:
            return _refuse_plainly(error, start_response)
        # Routing sees the path as it was sent: a part is decoded after the path was cut at its slashes.
        env["PATH_INFO"] = _raw_path(env)

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            # A handler that took the socket has said all there is to say.
            return None if env.get("whisk.taken") else start_response(status, headers, exc_info)

        chunks: Iterable[bytes] = bottle.wsgi(env, start)
        return [] if env.get("whisk.taken") else chunks

    return app


def _callback(api: Api, route: Route) -> Callable[..., Any]:
    def call(**parts: str) -> Any:
        env = environ()
        started = time.perf_counter()
        api.meter.begin()
        try:
            response = _answer(api, route, env, parts)
        except WhiskError as error:
            response = refuse(error)
        except ClientGoneError:
            # Nobody reads this; 204 is the cheapest complete response.
            response = respond(204, b"", None)
        except Exception:  # noqa: BLE001 - a bug in a handler costs one answer and a log line, never the connection
            _log.exception("a handler failed", route=route.name)
            response = broken()
        api.meter.end(route.name, response.status_code, time.perf_counter() - started)
        return response

    return call


def _answer(api: Api, route: Route, env: dict[str, Any], parts: dict[str, str]) -> Any:
    text = env.get("QUERY_STRING", "")
    if route.auth == "control":
        auth.check_token(api.access, env, in_query=_query_token(text) if route.token_in_query else None)
    path = {name: decode_part(name, part) for name, part in parts.items()}
    query = decode_query(text, route.query) if route.query is not None else None
    data = read_body(env, route.body_limit)
    body = decode_body(data, env.get("CONTENT_TYPE"), route.body) if route.body is not None else None
    request = Request(env, path, body, query)
    if isinstance(body, msgspec.Struct) and FILLED_IN in body.__struct_fields__:
        # Which way a decision came in is ours to say, whatever the body claims.
        request = dataclasses.replace(request, body=msgspec.structs.replace(body, **{FILLED_IN: request.surface}))
    return reply(route.handler(api, request), route.status, env.get("HTTP_ACCEPT", ""))


def _query_token(text: str) -> str | None:
    return next(iter(parse_qs(text).get("access_token", ())), None)


def _raw_path(env: dict[str, Any]) -> str:
    raw: str | None = env.get("RAW_URI")
    if raw is None:
        return quote(env.get("PATH_INFO", "/").encode("latin-1", "replace"), safe=_PATH_SAFE.replace("%", ""))
    path = raw.partition("?")[0]
    if path.startswith(("http://", "https://")):
        # The absolute form, which a proxy's client may send.
        path = "/" + path.split("/", 3)[3] if path.count("/") > 2 else "/"
    return quote(path.encode("latin-1", "replace"), safe=_PATH_SAFE)


def _refuse_plainly(error: WhiskError, start_response: StartResponse) -> Iterable[bytes]:
    status, body = refusal(error)
    start_response(status_line(status), [("Content-Type", JSON), ("Content-Length", str(len(body)))])
    return [body]
