"""A route is a value: what it takes, what it returns, who may call it, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from urllib.parse import unquote

from whisk.http.body import DEFAULT_LIMIT
from whisk.http.client_gone import wait

if TYPE_CHECKING:
    from whisk.actors.future import Future
    from whisk.http.api import Api

Body = TypeVar("Body")
Query = TypeVar("Query")
T = TypeVar("T")

FILLED_IN = "surface"
"""The field of a body that whiskd fills in, whatever the client sent: which way the request came in."""

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class Request(Generic[Body, Query]):
    """What a handler may know of the request. `body` and `query` are `None` when the route declares none."""

    environ: dict[str, Any]
    path: Mapping[str, str]
    body: Body
    query: Query

    def header(self, name: str) -> str | None:
        return self.environ.get("HTTP_" + name.upper().replace("-", "_"))

    @property
    def surface(self) -> Literal["cli", "http"]:
        """Which way this came in, for the audit trail."""
        return "cli" if (self.header("User-Agent") or "").startswith("whisk/") else "http"

    @property
    def who(self) -> str:
        """In whose name this is asked, where the body has no field for it; percent-encoded UTF-8 on the wire.

        One line of at most 256 bytes, whatever was sent: it is asked for when the deed is done, too late to refuse.
        """
        name = unquote(self.header("X-Whisk-Actor") or "", errors="replace")
        shown = "".join(char for char in name if char.isprintable())
        return shown.encode()[:256].decode("utf-8", "ignore")

    def wait(self, future: Future[T], timeout: float | None) -> T:
        """See `whisk.http.client_gone.wait`."""
        return wait(self.environ, future, timeout)

    def take_socket(self) -> tuple[Any, Any]:
        """The gevent socket and the buffered reader of this connection, to speak another protocol on it.

        From here on the handler owns the connection: nothing is written after it returns, and then it is closed.
        """
        self.environ["whisk.taken"] = True
        return self.environ["whisk.socket"], self.environ["whisk.reader"]


@dataclass(frozen=True, slots=True)
class Route:
    """`path` names its parts in braces: `/v1/mail/{mail_id}/read`, found as `request.path["mail_id"]`.

    `body` is a record, or `bytes` for the body as it was sent. `handler(api, request)` returns a record, a list,
    `Text`, `Stream` or `None`; `reply` is that type, for the schema.
    `operation` is the operation's name in `docs/openapi.json`; generated clients name their methods after it.
    `auth="none"` is for health, and for what tells nothing. `token_in_query` also takes `?access_token=`, for browsers'
    WebSockets, which cannot set headers. `stream` marks an answer that goes on for as long as the client likes. `media`
    is the type of an answer that is not JSON, and `frames` are the records that cross a stream or a WebSocket; both are
    for the schema.
    """

    method: Method
    path: str
    handler: Callable[[Api, Request[Any, Any]], Any]
    summary: str
    body: Any = None
    query: type[Any] | None = None
    reply: Any = None
    status: int = 200
    auth: Literal["control", "none"] = "control"
    body_limit: int = DEFAULT_LIMIT
    token_in_query: bool = False
    stream: bool = False
    operation: str = ""
    media: str = "application/json"
    frames: tuple[type[Any], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"
