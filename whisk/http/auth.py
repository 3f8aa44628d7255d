"""Who may speak to the daemon: the control token, and no web page of somebody else.

A page on another site can make a browser send requests to 127.0.0.1, and with a name that it re-points at 127.0.0.1
(DNS rebinding) it can even read the answers. So the name in `Host` must be one that means this machine, and an
`Origin`, which only browsers send, must be the daemon's own.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whisk.errors import ForbiddenError, InvalidError, UnauthorizedError
from whisk.ids import token_matches

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
_LOCAL_ORIGIN = re.compile(
    r"wails://[A-Za-z0-9.:_-]+|https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?", re.IGNORECASE
)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARD = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class Access:
    """`bound` is the address the server listens on; `names` are further host names the person has allowed."""

    token_hash: str
    bound: str = "127.0.0.1"
    names: frozenset[str] = frozenset()


def check_host(access: Access, environ: Mapping[str, Any]) -> None:
    """Refuse a `Host` that does not mean this machine. Any port will do, for a forwarded one is not ours."""
    host = environ.get("HTTP_HOST")
    if host is None:
        # Only HTTP/1.0 may leave it out, and no browser speaks that.
        if environ.get("SERVER_PROTOCOL") == "HTTP/1.0":
            return
        raise InvalidError("the Host header is missing")
    match = _HOST.fullmatch(host)
    if match is None or not _is_ours(access, match["name"].strip("[]").rstrip(".").lower()):
        raise ForbiddenError(f"requests for the host {host!r} are not served here", host=host)


def check_origin(environ: Mapping[str, Any]) -> None:
    """Refuse a page that whiskd did not serve itself. Programs send no `Origin` and pass."""
    origin = environ.get("HTTP_ORIGIN")
    if origin is None:
        return
    host = environ.get("HTTP_HOST", "")
    # An application's own window, or its development server, views terminals by WebSocket. It needs the token, and no
    # page can make a browser send this header with anything else.
    if environ.get("HTTP_UPGRADE", "").lower() == "websocket" and _LOCAL_ORIGIN.fullmatch(origin):
        return
    if origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
        raise ForbiddenError(f"pages from {origin} may not use whiskd", origin=origin)


def check_token(access: Access, environ: Mapping[str, Any], *, in_query: str | None = None) -> None:
    """Require `Authorization: Bearer <control token>`, or that token `in_query` where the route takes one there."""
    scheme, _, token = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    presented = token.strip() if scheme.lower() == "bearer" else (in_query or "")
    if not presented or not token_matches(presented, access.token_hash):
        raise UnauthorizedError("unauthorized")


def _is_ours(access: Access, name: str) -> bool:
    if name in _LOOPBACK or name == access.bound.lower() or name in access.names:
        return True
    # Somebody who listens on every interface is reached by an address of this machine that is not known here. A
    # literal address cannot be re-pointed by anyone's name server, so it is safe to take.
    return access.bound in _WILDCARD and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
