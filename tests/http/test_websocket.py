"""The server's half of a WebSocket, on real sockets."""

from __future__ import annotations

import socket as native
import struct
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import pytest
from gevent.event import Event

from tests.websocket_client import Refused, WebSocketClient
from whisk.http.route import Route
from whisk.http.server import Server
from whisk.http.websocket import MESSAGE_LIMIT, WebSocket

from .conftest import TOKEN

Make = Callable[..., Any]


class Endpoint:
    """A route that runs `talk(socket)` and tells when it has ended."""

    def __init__(self, talk: Callable[[WebSocket], None]) -> None:
        self.ended = Event()
        self.talk = talk
        self.route = Route("GET", "/ws", self.handle, "ws", token_in_query=True)

    def handle(self, _api: Any, request: Any) -> None:
        try:
            with WebSocket(request) as socket:
                self.talk(socket)
        finally:
            self.ended.set()


def echo(socket: WebSocket) -> None:
    while (message := socket.receive()) is not None:
        socket.send(message)


@pytest.fixture
def dial() -> Iterator[Callable[..., WebSocketClient]]:
    clients: list[WebSocketClient] = []

    def make(server: Server, target: str = "/ws", **more: Any) -> WebSocketClient:
        clients.append(WebSocketClient(server.address, target, **{"token": TOKEN, **more}))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.mark.parametrize("message", ["é 漢字 \x00", b"\x00\xff" * 200_000, "", b"", "x" * MESSAGE_LIMIT])
def test_messages_of_every_kind_come_back_whole(serve: Make, dial: Make, message: str | bytes) -> None:
    client = dial(serve([Endpoint(echo).route]))
    client.send(message)
    assert client.receive() == message


def test_two_messages_in_one_packet_are_two(serve: Make, dial: Make) -> None:
    client = dial(serve([Endpoint(echo).route]))
    client.send("one")
    client.send("two")
    assert [client.receive(), client.receive()] == ["one", "two"]


def test_a_ping_is_answered_while_the_handler_waits_for_a_message(serve: Make, dial: Make) -> None:
    client = dial(serve([Endpoint(echo).route]))
    client.ping()
    assert client.receive() == "pong"


def test_the_clients_goodbye_is_answered_and_ends_the_handler(serve: Make, dial: Make) -> None:
    endpoint = Endpoint(echo)
    client = dial(serve([endpoint.route]))
    client.say_goodbye()
    assert client.receive() is None
    assert client.close_code == 1000
    assert endpoint.ended.wait(5)


@pytest.mark.parametrize("rude", ["close", "reset"])
def test_a_client_that_vanishes_ends_the_handler(serve: Make, dial: Make, rude: str) -> None:
    endpoint = Endpoint(echo)
    client = dial(serve([endpoint.route]))
    if rude == "reset":
        client.socket.setsockopt(native.SOL_SOCKET, native.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    assert endpoint.ended.wait(5)


def test_a_message_that_is_too_big_closes_the_connection(serve: Make, dial: Make) -> None:
    endpoint = Endpoint(echo)
    client = dial(serve([endpoint.route]))
    sender = gevent.spawn(client.send, b"x" * (MESSAGE_LIMIT + 1))
    assert client.receive() is None
    assert client.close_code == 1009
    sender.join()
    assert endpoint.ended.wait(5)


@pytest.mark.parametrize(
    "noise", [b"\xff" * 64, b"\x81\x03abc", b"\x81\x83\0\0\0\0\xff\xfe\xfd", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_bytes_that_are_no_websocket_close_the_connection(serve: Make, dial: Make, noise: bytes) -> None:
    endpoint = Endpoint(echo)
    client = dial(serve([endpoint.route]))
    client.send_raw(noise)
    assert client.receive() is None
    assert client.close_code in (1002, 1007)
    assert endpoint.ended.wait(5)


def test_what_was_sent_last_arrives_although_the_client_was_still_talking(serve: Make, dial: Make) -> None:
    typed = Event()

    def say_and_leave(socket: WebSocket) -> None:
        typed.wait(5)
        socket.send("the end")
        socket.close(1000)
        assert socket.receive() is None

    client = dial(serve([Endpoint(say_and_leave).route]))
    for _ in range(200):
        client.send("still typing")
    typed.set()
    assert client.receive() == "the end"
    assert client.receive() is None
    assert client.close_code == 1000


def test_two_greenlets_may_send_at_once_and_frames_stay_whole(serve: Make, dial: Make) -> None:
    big = "a" * 300_000, "b" * 300_000

    def talk(socket: WebSocket) -> None:
        gevent.joinall([gevent.spawn(socket.send, text) for text in big * 4])

    client = dial(serve([Endpoint(talk).route]), receive_buffer=4096)
    assert sorted(str(client.receive()) for _ in range(8)) == sorted(big * 4)


def test_hanging_up_wakes_a_send_that_nobody_reads(serve: Make, dial: Make) -> None:
    sent: list[bool] = []

    def talk(socket: WebSocket) -> None:
        sender = gevent.spawn(lambda: sent.append(socket.send(b"x" * 50_000_000)))
        gevent.sleep(0)
        socket.hang_up()
        sender.join()

    endpoint = Endpoint(talk)
    dial(serve([endpoint.route]), receive_buffer=4096)
    assert endpoint.ended.wait(5)
    assert sent == [False]


def test_a_plain_request_is_told_to_upgrade(serve: Make, connect: Make) -> None:
    answer = connect(serve([Endpoint(echo).route])).request("GET", "/ws")
    assert answer.status == 426
    assert answer.code == "upgrade_required"


@pytest.mark.parametrize(
    "headers",
    [
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"],
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="],
        ["Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"],
        [
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Version: 8",
        ],
    ],
)
def test_a_handshake_that_does_not_fit_is_refused_in_http(serve: Make, connect: Make, headers: list[str]) -> None:
    answer = connect(serve([Endpoint(echo).route])).request("GET", "/ws", b"", *headers)
    assert answer.status == 400
    assert answer.code == "invalid"


def test_without_the_token_nothing_is_upgraded(serve: Make, dial: Make) -> None:
    server = serve([Endpoint(echo).route])
    with pytest.raises(Refused) as refusal:
        dial(server, token="wrong")
    assert (refusal.value.status, refusal.value.code) == (401, "unauthorized")


def test_the_token_may_come_in_the_query_as_browsers_must_send_it(serve: Make, dial: Make) -> None:
    client = dial(serve([Endpoint(echo).route]), f"/ws?access_token={TOKEN}", token=None)
    client.send("hello")
    assert client.receive() == "hello"


def test_a_page_of_another_origin_is_refused(serve: Make, dial: Make) -> None:
    server = serve([Endpoint(echo).route])
    with pytest.raises(Refused) as refusal:
        dial(server, headers={"Origin": "https://evil.example"})
    assert (refusal.value.status, refusal.value.code) == (403, "forbidden")
