"""Calling the WSGI application without a socket, and a real server where sockets are the point."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from gevent import socket

from tests.mail_desk import MailDesk
from whisk.actors.future import get
from whisk.actors.librarian import LibrarianActor, LibrarianHandle, open_index
from whisk.actors.library import Library
from whisk.actors.matters import MattersActor, MattersHandle
from whisk.actors.setup import Setup
from whisk.actors.system import ActorSystem
from whisk.actors.webhook import WebhookServices
from whisk.actors.webhook_post import Poster
from whisk.actors.worktrees import Worktrees
from whisk.cli import relay
from whisk.clock import ManualClock
from whisk.http.api import Api, Build
from whisk.http.app import WsgiApp, build_app
from whisk.http.auth import Access
from whisk.http.route import Route
from whisk.http.server import Server
from whisk.http.table import all_routes
from whisk.ids import token_hash
from whisk.matters.setting import WebhookSettings
from whisk.storage.hook_setup import HookPlaces

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "control-token-of-the-tests"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self.headers
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error; asserts the whole shape of it."""
        shape = self.json
        assert set(shape) <= {"error", "code", "details"}, shape
        assert isinstance(shape["error"], str)
        assert shape["error"]
        assert "Traceback" not in shape["error"]
        return str(shape["code"])


@dataclass
class Caller:
    """`caller("POST", "/v1/mail", {...})` as a client with the token would send it."""

    app: WsgiApp
    token: str | None = TOKEN
    environ: dict[str, Any] = field(default_factory=dict)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str | None] | None = None,
    ) -> Answer:
        data = raw if raw is not None else (b"" if body is None else json.dumps(body).encode())
        target, _, query = path.partition("?")
        env: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": target,
            "RAW_URI": path,
            "QUERY_STRING": query,
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "127.0.0.1:8787",
            "wsgi.input": BytesIO(data),
            "wsgi.errors": BytesIO(),
            "wsgi.url_scheme": "http",
            **self.environ,
        }
        if data:
            env |= {"CONTENT_LENGTH": str(len(data)), "CONTENT_TYPE": "application/json"}
        if self.token is not None:
            env["HTTP_AUTHORIZATION"] = f"Bearer {self.token}"
        for name, value in (headers or {}).items():
            key = name.upper().replace("-", "_")
            key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
            env.pop(key, None)
            if value is not None:
                env[key] = value
        return self._call(env)

    def _call(self, env: dict[str, Any]) -> Answer:
        started: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            assert exc_info is None, exc_info
            started[:] = [status, headers]

        chunks = self.app(env, start_response)
        try:
            content = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        status, headers = started
        return Answer(int(status.split()[0]), {name.lower(): value for name, value in headers}, content)


def make_api(**parts: Any) -> Api:
    empty = dict.fromkeys(
        ("system", "store", "journal", "supervisor", "events", "settings", "sessions", "work", "worktrees", "setup")
    )
    given: dict[str, Any] = {
        **empty,
        "clock": ManualClock(),
        "access": Access(token_hash(TOKEN)),
        "build": Build("1.2.3", "abc123"),
        "shutdown": lambda kill_ptys: None,
        **parts,
    }
    return Api(**given)


def make_setup(home: Path) -> Setup:
    """Of a person whose home this is."""
    places = HookPlaces(home / ".config/whisk", sys.executable, relay.__file__, ROOT / "whisk/skills")
    return Setup({"HOME": str(home)}, places, ManualClock(), lambda provider: 600.0)


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[MailDesk]:
    """Real actors of work, mail, journal and events over a database file."""
    desk = MailDesk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def library(desk: MailDesk, tmp_path: Path) -> Iterator[Library]:
    """What can be found on that desk; the transcripts lie in `transcripts`."""
    index = open_index(tmp_path / "search.sqlite")
    librarian = desk.system.spawn(
        LibrarianActor, desk.store, index, tmp_path / "transcripts", name="librarian", handle=LibrarianHandle
    )
    settings = WebhookSettings(timeout=0.3, attempts=3, retry_first=0.005, retry_most=0.01)
    services = WebhookServices(desk.store, desk.journal, Poster(settings.timeout), settings)
    desk.system.spawn(MattersActor, services, desk.events, name="matters", handle=MattersHandle)
    yield Library(desk.store, desk.journal, index, librarian)
    get(desk.system.stop("librarian"), timeout=5.0)
    index.close()


@pytest.fixture
def parts(desk: MailDesk, library: Library, tmp_path: Path) -> dict[str, Any]:
    """The parts of an `Api` over that desk."""
    return {
        "library": library,
        "system": desk.system,
        "store": desk.store,
        "journal": desk.journal,
        "events": desk.events,
        "supervisor": desk.supervisor,
        "work": desk.work,
        "sessions": desk.sessions(),
        "worktrees": Worktrees(dict(os.environ)),
        "setup": make_setup(tmp_path),
    }


@pytest.fixture
def call(parts: dict[str, Any], caller: Callable[..., Caller]) -> Caller:
    """A client of every route there is."""
    return caller(all_routes(), **parts)


@pytest.fixture
def caller() -> Callable[..., Caller]:
    """`caller(routes, access=…)` makes a `Caller` for an application of just these routes."""

    def make(routes: Sequence[Route], **parts: Any) -> Caller:
        return Caller(build_app(make_api(**parts), routes))

    return make


@dataclass
class Client:
    """A raw HTTP/1.1 client on one connection, for what no library would send."""

    server: Server
    token: str = TOKEN

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(self.server.address)
        self.socket.settimeout(10)
        self.reader = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(self, method: str, path: str, body: bytes = b"", *headers: str) -> Answer:
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.address[1]}"]
        lines += [f"Authorization: Bearer {self.token}", *headers]
        if body:
            lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return self.receive()

    def receive(self) -> Answer:
        status = int(self.reader.readline().split()[1])
        headers: dict[str, str] = {}
        while line := self.reader.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return Answer(status, headers, self.reader.read(int(headers.get("content-length", "0"))))

    def at_end(self) -> bool:
        """Whether the server has closed the connection; blocks until it has, or sends something, or 10 s."""
        return self.reader.read(1) == b""

    def close(self) -> None:
        self.reader.close()
        self.socket.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """`serve(routes, …)` starts a real server on a free port; it is stopped, and must be empty, at the end."""
    servers: list[Server] = []

    def start(routes: Sequence[Route], **parts: Any) -> Server:
        server = Server(build_app(make_api(**parts), routes), "127.0.0.1", 0)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop(timeout=2.0)
        assert server.connections == 0


@pytest.fixture
def connect() -> Iterator[Callable[[Server], Client]]:
    clients: list[Client] = []

    def make(server: Server) -> Client:
        clients.append(Client(server))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
