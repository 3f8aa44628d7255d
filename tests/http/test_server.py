"""The server on a real socket: framing, limits, fairness, and how it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gevent
import pytest
from gevent import socket
from gevent.event import Event

from whisk.errors import UnavailableError
from whisk.http import server as server_module
from whisk.http.bottle_app import environ
from whisk.http.route import Route
from whisk.http.server import Server
from whisk.values import Record

Make = Callable[..., Any]


class Note(Record, frozen=True):
    title: str


def echo(_api: Any, request: Any) -> Any:
    return request.body


def who(_api: Any, request: Any) -> Any:
    # Two switches inside one request: with shared request objects the answer would be another's.
    gevent.sleep(0.001)
    name = request.path["name"]
    gevent.sleep(0.001)
    return {"name": name, "seen": request.header("X-Name"), "path": environ()["RAW_URI"]}


NOTES = Route("POST", "/notes", echo, "echo", body=Note)
WHO = Route("GET", "/who/{name}", who, "who")
OK = Route("GET", "/ok", lambda _api, _request: {"ok": True}, "ok")


def test_port_0_takes_a_free_port_and_says_which(serve: Make, connect: Make) -> None:
    server = serve([OK])
    assert server.address[1] > 0
    assert server.url == f"http://127.0.0.1:{server.address[1]}"
    assert connect(server).request("GET", "/ok").json == {"ok": True}


def test_a_taken_port_is_a_typed_refusal(serve: Make) -> None:
    server = serve([OK])
    with pytest.raises(UnavailableError, match=r"cannot listen.*port 0 takes a free one"):
        Server(lambda _env, _start: [], "127.0.0.1", server.address[1])


def test_one_connection_serves_many_requests(serve: Make, connect: Make) -> None:
    client = connect(serve([OK, NOTES]))
    for _ in range(3):
        assert client.request("GET", "/ok").status == 200
        assert client.request("POST", "/notes", b'{"title":"a"}').json == {"title": "a"}
        assert client.request("GET", "/missing").status == 404


def test_fifty_requests_at_once_never_see_each_others_data(serve: Make, connect: Make) -> None:
    server = serve([WHO])

    def ask(number: int) -> Any:
        return connect(server).request("GET", f"/who/n{number}", b"", f"X-Name: n{number}").json

    greenlets = [gevent.spawn(ask, number) for number in range(50)]
    gevent.joinall(greenlets, timeout=20, raise_error=True)
    for number, greenlet in enumerate(greenlets):
        assert greenlet.value == {"name": f"n{number}", "seen": f"n{number}", "path": f"/who/n{number}"}


def test_nagle_is_off_and_silent_deaths_are_noticed(serve: Make, connect: Make) -> None:
    seen: list[int] = []

    def look(_api: Any, request: Any) -> Any:
        sock = request.environ["whisk.socket"]
        seen.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        seen.append(sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 60
        return {}

    connect(serve([Route("GET", "/look", look, "look")])).request("GET", "/look")
    assert seen == [1, 1]


@pytest.mark.parametrize("path", ["/notes", "/nothing"])
def test_a_four_gigabyte_body_is_answered_at_once_and_the_connection_closed(
    serve: Make, connect: Make, path: str
) -> None:
    client = connect(serve([NOTES]))
    client.send(
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n"
        f"Content-Length: {4 * 1024**3}\r\n\r\n".encode()
        + b"x" * 100_000
    )
    with gevent.Timeout(5):
        answer = client.receive()
        assert (answer.status, answer.code) in ((413, "too_large"), (404, "not_found"))
        assert answer.headers["connection"] == "close"
        assert client.at_end()


def test_a_client_that_waits_to_be_told_to_go_on_is_refused_before_it_sends(serve: Make, connect: Make) -> None:
    client = connect(serve([NOTES]))
    answer = client.request("POST", "/notes", b"", f"Content-Length: {9 * 1024**2}", "Expect: 100-continue")
    assert (answer.status, answer.code) == (413, "too_large")


def test_a_small_body_is_read_after_it_was_told_to_go_on(serve: Make, connect: Make) -> None:
    client = connect(serve([NOTES]))
    client.send(
        f"POST /notes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n"
        "Content-Length: 13\r\nExpect: 100-continue\r\n\r\n".encode()
    )
    assert client.receive().status == 100
    client.send(b'{"title":"a"}')
    assert client.receive().json == {"title": "a"}


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


CHUNKED_HEAD = (
    b"POST /notes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer control-token-of-the-tests\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def test_a_chunked_body_is_read_and_the_connection_goes_on(serve: Make, connect: Make) -> None:
    client = connect(serve([NOTES]))
    for _ in range(2):
        client.send(CHUNKED_HEAD + chunked(b'{"ti', b'tle":"a"}', b""))
        assert client.receive().json == {"title": "a"}


def test_an_endless_chunked_body_is_refused_at_the_limit(serve: Make, connect: Make) -> None:
    client = connect(serve([NOTES]))
    client.send(CHUNKED_HEAD + chunked(*[b" " * 65536] * 20))
    assert client.receive().code == "too_large"
    assert client.at_end()


@pytest.mark.parametrize("tail", [b"zz\r\n{}", b"5\r\n{}", b"ffffffffffffffffffff\r\n"])
def test_bad_chunks_are_a_typed_400(serve: Make, connect: Make, tail: bytes) -> None:
    client = connect(serve([NOTES]))
    client.send(CHUNKED_HEAD + tail)
    client.socket.shutdown(socket.SHUT_WR)
    answer = client.receive()
    assert (answer.status, answer.code) == (400, "invalid")


HOST = b"Host: localhost\r\n"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /ok\r\n\r\n", 400),
        (b"GET /ok HTTP/9.9\r\n" + HOST + b"\r\n", 400),
        (b"GET /ok HTTP/1\r\n" + HOST + b"\r\n", 400),
        (b"GET /ok HTTP/x.y\r\n" + HOST + b"\r\n", 400),
        (b"GET /ok HTTP/1.1 again\r\n" + HOST + b"\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (b"GET /ok HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 70000 + b"\r\n\r\n", 431),
        (b"GET /ok HTTP/1.1\r\n" + HOST + b"X: a\r\n" * 200 + b"\r\n", 431),
        (b"POST /notes HTTP/1.1\r\n" + HOST + b"Content-Length: five\r\n\r\n", 400),
        (b"POST /notes HTTP/1.1\r\n" + HOST + b"Content-Length: -5\r\n\r\n", 400),
        (b"POST /notes HTTP/1.1\r\n" + HOST + b"Content-Length: +5\r\n\r\nhello", 400),
        (b"POST /notes HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
        (b"POST /notes HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET /ok HTTP/1.1\r\n\r\n", 400),
        (b"GET /ok HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        (b"BREW /ok HTTP/1.1\r\n" + HOST + b"\r\n", 405),
        (b"GET /%ff%fe\xe9 HTTP/1.1\r\n" + HOST + b"\r\n", 404),
        (b"GET * HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    ],
)
def test_a_request_that_is_none_still_gets_a_json_error(
    serve: Make, connect: Make, head: bytes, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    client = connect(serve([OK, NOTES]))
    client.send(head)
    answer = client.receive()
    assert answer.status == status, answer
    assert answer.code
    assert "Traceback" not in capfd.readouterr().err


def test_headers_that_never_end_time_out(serve: Make, connect: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HEADER_TIMEOUT", 0.05)
    client = connect(serve([OK]))
    client.send(b"GET /ok HTTP/1.1\r\nHost: local")
    answer = client.receive()
    assert (answer.status, answer.code) == (408, "timeout")
    assert client.at_end()


def test_a_body_that_never_comes_times_out(serve: Make, connect: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whisk.http.body.READ_TIMEOUT", 0.05)
    client = connect(serve([NOTES]))
    answer = client.request("POST", "/notes", b"", "Content-Length: 10")
    assert (answer.status, answer.code) == (408, "timeout")
    assert client.at_end()


def test_a_handler_may_take_the_socket_and_speak_for_itself(serve: Make, connect: Make) -> None:
    def upgrade(_api: Any, request: Any) -> Any:
        sock, reader = request.take_socket()
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nContent-Length: 0\r\n\r\n")
        while data := reader.read1(100):
            sock.sendall(data.upper())

    client = connect(serve([Route("GET", "/upgrade", upgrade, "upgrade")]))
    assert client.request("GET", "/upgrade", b"", "Connection: Upgrade", "Upgrade: shout").status == 101
    client.send(b"hello")
    assert client.reader.read(5) == b"HELLO"
    client.socket.shutdown(socket.SHUT_WR)
    assert client.at_end()


def test_a_stop_closes_idle_connections_and_lets_a_request_finish(serve: Make, connect: Make) -> None:
    entered, go = Event(), Event()

    def slow(_api: Any, _request: Any) -> Any:
        entered.set()
        go.wait(10)
        return {"done": True}

    server = serve([OK, Route("GET", "/slow", slow, "slow")])
    idle, busy = connect(server), connect(server)
    assert idle.request("GET", "/ok").status == 200
    answer = gevent.spawn(busy.request, "GET", "/slow")
    assert entered.wait(10)
    stop = gevent.spawn(server.stop, 10.0)
    assert idle.at_end()
    go.set()
    assert answer.get(timeout=10).json == {"done": True}
    assert stop.get(timeout=10) == 0
    with pytest.raises(OSError):
        connect(server)


def test_a_request_that_will_not_end_is_cut_off_at_the_time_limit(serve: Make, connect: Make) -> None:
    entered = Event()

    def never(_api: Any, _request: Any) -> Any:
        entered.set()
        Event().wait()

    server = serve([Route("GET", "/never", never, "never")])
    asking = gevent.spawn(connect(server).request, "GET", "/never")
    assert entered.wait(10)
    assert server.stop(timeout=0.05) == 1
    assert server.connections == 0
    gevent.joinall([asking], timeout=10)
    assert asking.ready()
