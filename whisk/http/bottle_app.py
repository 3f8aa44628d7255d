"""The one place that imports bottle, with request objects that belong to a greenlet.

Bottle keeps `request` and `response` in `threading.local` objects, six of them. The process is not patched, so every
greenlet of the hub shares one thread, and 49 of 50 concurrent requests were seen to read another request's path. While
bottle is imported `threading.local` is the class below: what gevent's would do, without the 2.5 KiB that the six would
cost each request that waits.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from gevent import getcurrent

from whisk.http.failure import problem

if "bottle" in sys.modules:
    raise ImportError("bottle was imported before whisk.http.bottle_app; its requests would be shared by all greenlets")


class _GreenletLocal:
    """One value per greenlet, kept in the greenlet. Bottle asks for nothing but `var`."""

    @property
    def var(self) -> Any:
        try:
            return getcurrent().__dict__[self]
        except KeyError:
            raise AttributeError("var") from None

    @var.setter
    def var(self, value: Any) -> None:
        getcurrent().__dict__[self] = value

    @var.deleter
    def var(self) -> None:
        getcurrent().__dict__.pop(self, None)


_thread_local = threading.local
threading.local = _GreenletLocal  # type: ignore[assignment]
try:
    import bottle
finally:
    threading.local = _thread_local

HTTPResponse = bottle.HTTPResponse


class JsonBottle(bottle.Bottle):  # type: ignore[misc]
    """Bottle as a router: its own answers (404, 405, 500) are JSON like everybody else's, never HTML."""

    def __init__(self) -> None:
        super().__init__()

    def default_error_handler(self, res: Any) -> bytes:
        bottle.response.content_type = "application/json"
        status = int(res.status_code)
        if status == 404:
            return problem(404, f"no such path: {bottle.request.environ['PATH_INFO']}")
        if status == 405:
            allowed = res.get_header("Allow", "")
            return problem(405, f"{bottle.request.method} is not allowed here; allowed: {allowed}", allow=allowed)
        return problem(status)


def environ() -> dict[str, Any]:
    """The WSGI environment of the request that the current greenlet serves."""
    found: dict[str, Any] = bottle.request.environ
    return found
