"""Long waits: an answer, a time limit, a client that leaves, a server that stops. Nothing of them may stay behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import gevent
import pytest
from gevent import socket
from gevent.event import Event
from gevent.lock import Semaphore

from whisk.actors.future import Future
from whisk.errors import ConflictError, DeadlineError
from whisk.http import sse
from whisk.http.client_gone import ClientGoneError
from whisk.http.route import Route

Make = Callable[..., Any]


class Desk:
    """Where waiting handlers leave their futures and say how they ended."""

    def __init__(self, timeout: float | None = 10.0) -> None:
        self.futures: list[Future[Any]] = []
        self.endings: list[str] = []
        self.arrivals = Semaphore(0)
        self.departures = Semaphore(0)
        self.timeout = timeout
        self.route = Route("GET", "/wait", self.wait, "wait")

    def wait(self, _api: Any, request: Any) -> Any:
        future: Future[Any] = Future()
        self.futures.append(future)
        self.arrivals.release()
        try:
            value = request.wait(future, self.timeout)
            self.endings.append("answered")
            return value
        except BaseException as error:
            self.endings.append(type(error).__name__)
            raise
        finally:
            self.departures.release()


def test_a_wait_ends_with_the_futures_value(serve: Make, connect: Make) -> None:
    desk = Desk()
    asking = gevent.spawn(connect(serve([desk.route])).request, "GET", "/wait")
    assert desk.arrivals.acquire(timeout=10)
    desk.futures[0].set({"news": 1})
    assert asking.get(timeout=10).json == {"news": 1}


def test_a_wait_ends_with_the_futures_error(serve: Make, connect: Make) -> None:
    desk = Desk()
    asking = gevent.spawn(connect(serve([desk.route])).request, "GET", "/wait")
    assert desk.arrivals.acquire(timeout=10)
    desk.futures[0].set_error(ConflictError("too late", winner="ann"))
    assert (asking.get(timeout=10).status, asking.value.json["details"]) == (409, {"winner": "ann"})


def test_a_value_that_is_there_is_returned_at_once(caller: Make) -> None:
    def ready(_api: Any, request: Any) -> Any:
        future: Future[int] = Future()
        future.set(5)
        return request.wait(future, None)

    assert caller([Route("GET", "/ready", ready, "ready")])("GET", "/ready").json == 5


def test_a_wait_without_news_ends_in_time(caller: Make) -> None:
    desk = Desk(timeout=0.01)
    answer = caller([desk.route])("GET", "/wait")
    assert (answer.status, answer.code) == (504, "deadline")
    assert desk.endings == [DeadlineError.__name__]


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_client_that_leaves_ends_its_wait_at_once(serve: Make, connect: Make, how: str) -> None:
    desk = Desk(timeout=None)
    server = serve([desk.route])
    client = connect(server)
    asking = gevent.spawn(client.request, "GET", "/wait")
    assert desk.arrivals.acquire(timeout=10)
    asking.kill()
    if how == "reset":
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    client.close()
    assert desk.departures.acquire(timeout=10)
    assert desk.endings == [ClientGoneError.__name__]


def test_a_hundred_clients_that_leave_leave_nothing_behind(serve: Make, connect: Make) -> None:
    desk = Desk(timeout=None)
    server = serve([desk.route])
    before = count_greenlets()
    clients = [connect(server) for _ in range(100)]
    asking = [gevent.spawn(client.request, "GET", "/wait") for client in clients]
    for _ in clients:
        assert desk.arrivals.acquire(timeout=10)
    gevent.killall(asking)
    for client in clients:
        client.close()
    for _ in clients:
        assert desk.departures.acquire(timeout=10)
    # The handlers have left; their connections' greenlets end in the same turns of the hub.
    with gevent.Timeout(10):
        while server.connections:
            gevent.sleep(0)
    del asking
    assert count_greenlets() <= before
    assert not any(future._callbacks for future in desk.futures)


def test_a_client_that_asks_for_more_while_it_waits_gets_both_answers(serve: Make, connect: Make) -> None:
    desk = Desk()
    client = connect(serve([desk.route]))
    head = f"GET /wait HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n\r\n".encode()
    client.send(head)
    assert desk.arrivals.acquire(timeout=10)
    client.send(head)
    desk.futures[0].set(1)
    assert client.receive().json == 1
    assert desk.arrivals.acquire(timeout=10)
    desk.futures[1].set(2)
    assert client.receive().json == 2


def test_a_server_that_stops_ends_the_waits_and_says_so(serve: Make, connect: Make) -> None:
    desk = Desk(timeout=None)
    server = serve([desk.route])
    asking = gevent.spawn(connect(server).request, "GET", "/wait")
    assert desk.arrivals.acquire(timeout=10)
    assert server.stop(timeout=10) == 0
    answer = asking.get(timeout=10)
    assert (answer.status, answer.code, answer.headers["connection"]) == (503, "unavailable", "close")


class Feed:
    """An event stream over one queue of futures."""

    def __init__(self, heartbeat: float = 10.0, stall: float = 60.0) -> None:
        self.stall = stall
        self.pending: Future[Any] = Future()
        self.withdrawn = Event()
        self.heartbeat = heartbeat
        self.route = Route("GET", "/feed", self.feed, "feed", stream=True)

    def feed(self, _api: Any, request: Any) -> Any:
        return sse.stream(
            *(request, self.following, self.render, self.withdraw), heartbeat=self.heartbeat, stall=self.stall
        )

    def following(self) -> Future[Any]:
        self.pending = Future()
        return self.pending

    def render(self, value: Any) -> bytes:
        return sse.message(value, event="news", id=value["seq"])

    def withdraw(self, future: Future[Any]) -> None:
        assert future is self.pending
        self.withdrawn.set()


def open_feed(client: Any) -> Any:
    client.send(f"GET /feed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n\r\n".encode())
    headers = []
    while line := client.reader.readline().strip():
        headers.append(line.decode())
    assert "Content-Type: text/event-stream" in headers
    return client


def next_chunk(client: Any) -> bytes:
    size = int(client.reader.readline(), 16)
    data: bytes = client.reader.read(size)
    client.reader.readline()
    return data


def test_a_stream_sends_what_comes_and_withdraws_when_its_reader_leaves(serve: Make, connect: Make) -> None:
    feed = Feed()
    server = serve([feed.route])
    client = open_feed(connect(server))
    assert next_chunk(client) == b": whisk\n\n"
    feed.pending.set({"seq": 1, "text": "a\nb"})
    assert next_chunk(client) == b'id: 1\nevent: news\ndata: {"seq":1,"text":"a\\nb"}\n\n'
    client.close()
    assert feed.withdrawn.wait(10)
    with gevent.Timeout(10):
        while server.connections:
            gevent.sleep(0)


def test_a_quiet_stream_shows_that_it_lives(serve: Make, connect: Make) -> None:
    feed = Feed(heartbeat=0.01)
    client = open_feed(connect(serve([feed.route])))
    assert [next_chunk(client) for _ in range(3)] == [b": whisk\n\n", b": still here\n\n", b": still here\n\n"]


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the kernel has no such limit")
def test_a_reader_that_takes_nothing_is_given_up_and_costs_nothing_more(serve: Make, connect: Make) -> None:
    feed = Feed(stall=0.2)
    server = serve([feed.route])
    open_feed(connect(server))
    with gevent.Timeout(20):
        while server.connections:
            if not feed.pending.done():
                feed.pending.set({"seq": 1, "text": "x" * 500_000})
            gevent.sleep(0.001)


def test_a_server_that_stops_ends_its_streams(serve: Make, connect: Make) -> None:
    feed = Feed()
    server = serve([feed.route])
    client = open_feed(connect(server))
    assert next_chunk(client) == b": whisk\n\n"
    assert server.stop(timeout=10) == 0
    assert next_chunk(client) == b""
    assert feed.withdrawn.is_set()


def count_greenlets() -> int:
    gc.collect()
    return sum(isinstance(each, gevent.Greenlet) and not each.dead for each in gc.get_objects())
