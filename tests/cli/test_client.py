"""The HTTP client against a socket that says exactly what each test wants."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from whisk.cli.client import Client, Waiting, path, quote, split_url
from whisk.cli.failure import RefusedError, UnreachableError, UsageError


@contextlib.contextmanager
def server(serve: Callable[[socket.socket, bytes], None]) -> Iterator[tuple[Client, list[bytes]]]:
    """One connection: the whole request is read, then `serve` answers on it."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                data = b""
                while b"\r\n\r\n" not in data or (b"Content-Length: " in data and not data.endswith(b"}")):
                    data += connection.recv(65536)
                requests.append(data)
                serve(connection, data)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield Client(f"http://127.0.0.1:{listener.getsockname()[1]}", token="secret"), requests
        finally:
            thread.join(10)


def says(text: bytes) -> Callable[[socket.socket, bytes], None]:
    return lambda connection, _: connection.sendall(text)


def test_a_request_carries_token_host_and_json() -> None:
    with server(says(b'HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\n{"a": 1}')) as (client, requests):
        assert client.post(path("mail", "a/b é", "read"), {"body": "é"}) == {"a": 1}
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/mail/a%2Fb%20%C3%A9/read HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer secret\r\n" in head
    assert f"\r\nHost: 127.0.0.1:{client.port}\r\n".encode() in head
    assert body == '{"body":"é"}'.encode()


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2;x=y\r\n2]\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n[1,2]",
        b"HTTP/1.1 200 OK\r\nCONTENT-LENGTH: 5\r\n\r\n[1,2]",
    ],
)
def test_a_body_is_read_however_its_length_is_told(reply: bytes) -> None:
    with server(says(reply)) as (client, _):
        assert client.get("/v1/x") == [1, 2]


def test_query_values_are_quoted_and_empty_ones_left_out() -> None:
    with server(says(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")) as (client, requests):
        assert client.get("/v1/mail", {"to": ["run:1", "pty:2"], "unread": True, "limit": None, "q": "a b&c"}) is None
    assert requests[0].startswith(b"GET /v1/mail?to=run%3A1&to=pty%3A2&unread=true&q=a%20b%26c HTTP/1.1\r\n")


def test_a_refusal_keeps_the_words_code_and_details() -> None:
    body = b'{"error":"prompt answered","code":"conflict","details":{"winner":"me"}}'
    reply = b"HTTP/1.1 409 Conflict\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with server(says(reply)) as (client, _), pytest.raises(RefusedError, match=r"^prompt answered$") as refused:
        client.get("/v1/x")
    assert (refused.value.status, refused.value.code, refused.value.details) == (409, "conflict", {"winner": "me"})
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n<html>",
    ],
)
def test_a_foreign_or_broken_server_is_unreachable(reply: bytes) -> None:
    with server(says(reply)) as (client, _), pytest.raises(UnreachableError) as error:
        client.get("/v1/x")
    assert error.value.exit_code == 3


def test_an_html_error_page_is_named_for_what_it_is() -> None:
    reply = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>"
    with server(says(reply)) as (client, _), pytest.raises(RefusedError, match="502 without a reason"):
        client.get("/v1/x")


def test_nobody_listening_is_said_with_the_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UnreachableError, match=rf"unavailable at http://127.0.0.1:{port}: .*whisk daemon start"):
        Client(f"http://127.0.0.1:{port}", None).get("/v1/health")


def test_a_silent_server_is_given_up_after_the_deadline_and_the_waiter_is_kept_informed() -> None:
    told: list[int] = []
    release = threading.Event()
    with server(lambda connection, _: (release.wait(10), None)[1]) as (client, _):
        with pytest.raises(UnreachableError, match="did not answer in time"):
            client.get("/v1/x", timeout=0.1, waiting=Waiting(0.03, lambda: told.append(1)))
        release.set()
    assert told


def test_an_endless_reply_comes_piece_by_piece() -> None:
    go_on = threading.Event()

    def serve(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        go_on.wait(10)
        connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")

    with server(serve) as (client, _):
        pieces = client.stream("/v1/events")
        assert next(pieces) == b"one"
        go_on.set()
        assert list(pieces) == [b"two"]


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://127.0.0.1:8787", ("127.0.0.1", 8787, "")),
        ("http://[::1]:80/", ("::1", 80, "")),
        ("http://[::1]", ("::1", 80, "")),
        ("http://localhost/base/", ("localhost", 80, "/base")),
    ],
)
def test_addresses_are_taken_apart(url: str, parts: tuple[str, int, str]) -> None:
    assert split_url(url) == parts


@pytest.mark.parametrize("url", ["", "127.0.0.1:8787", "https://x", "http://", "http://x:y", "http://x:99999"])
def test_a_bad_address_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="must look like"):
        split_url(url)


def test_quoting_keeps_bytes_that_are_not_utf8() -> None:
    assert quote("\udcff") == "%FF"


def test_text_that_no_json_can_carry_is_refused_before_it_is_sent() -> None:
    with pytest.raises(UsageError, match=r"not UTF-8 text: '/tmp/caf\\udce9'"):
        Client("http://127.0.0.1:1", None).post("/v1/projects", {"name": "x", "rootDir": "/tmp/caf\udce9"})
