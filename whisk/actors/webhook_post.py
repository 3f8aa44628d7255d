"""One signed request to a webhook's receiver: made on a real thread, over when its time is over, whatever happens.

urllib3's time-outs are for each step, and a receiver that drips could take for ever; so the hub shuts the connection
down when the whole has taken too long.
"""

from __future__ import annotations

import contextlib
import socket
import time
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import urllib3
from gevent import get_hub
from gevent.lock import Semaphore
from urllib3.connection import HTTPConnection, HTTPSConnection

from whisk import __version__
from whisk.actors.offload import offload
from whisk.matters.webhook import Attempt

AT_ONCE = 4
"""Requests under way in the whole daemon: each takes a thread that others need too."""
_ERROR_CHARS = 300


class Poster:
    """`post` blocks the calling greenlet only. One for all webhooks."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._room = Semaphore(AT_ONCE)

    def post(self, url: str, headers: dict[str, str], body: bytes) -> Attempt:
        """Never raises for what a receiver does. Redirects are not followed; only a 2xx is a success."""
        with self._room:
            request = _Request(url, headers, body, self._timeout)
            started = time.monotonic()
            timer = get_hub().loop.timer(self._timeout)
            timer.start(request.cut_off)
            try:
                status, error = offload(request.run)
            finally:
                timer.stop()
                timer.close()
                # Also when this greenlet is killed: the thread must not wait on for nobody.
                request.abort()
            took = time.monotonic() - started
        if request.late:
            # Whatever was made of it: an answer whose head was cut off looks like a whole one.
            status, error = 0, f"no whole answer within {self._timeout:g} s"
        return Attempt(delivered=not error, status=status, error=error, milliseconds=round(took * 1000))


class _Request:
    def __init__(self, url: str, headers: dict[str, str], body: bytes, timeout: float) -> None:
        parts = urlsplit(url)
        kind: type[HTTPConnection] = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        # Certificates are checked against those of the system; there is no way to switch that off.
        more: dict[str, Any] = {"cert_reqs": "CERT_REQUIRED"} if parts.scheme == "https" else {}
        self._connection = kind(parts.hostname or "", parts.port, timeout=timeout, **more)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"User-Agent": f"whisk/{__version__}", "Content-Type": "application/json", **headers}
        self._body = body
        self._aborted = False
        self.late = False

    def run(self) -> tuple[int, str]:
        """Status and error, one of which is empty; blocks, for a thread."""
        try:
            self._connection.connect()
            if self._aborted:
                return 0, "aborted"
            self._connection.request("POST", self._target, self._body, self._headers, preload_content=False)
            response = self._connection.getresponse()
            status = response.status
            # An answer may be endless; its beginning is enough to say what is wrong.
            text = b"" if 200 <= status < 300 else response.read(_ERROR_CHARS, decode_content=False)
        except (OSError, HTTPException, urllib3.exceptions.HTTPError, ValueError) as error:
            return 0, _reason(error)
        finally:
            self._connection.close()
        if 200 <= status < 300:
            return status, ""
        if 300 <= status < 400:
            return status, f"the receiver answered {status}; redirects are not followed"
        said = " ".join(text.decode("utf-8", "replace").split())
        return status, f"the receiver answered {status}" + (f": {said}" if said else "")

    def cut_off(self) -> None:
        self.late = True
        self.abort()

    def abort(self) -> None:
        """End it from outside, at once; harmless when it is over."""
        self._aborted = True
        sock = self._connection.sock
        if sock is not None:
            with contextlib.suppress(OSError):
                # On the descriptor itself: a TLS socket would first say goodbye.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error.__context__ or error
    text = " ".join(((cause.strerror if isinstance(cause, OSError) else None) or str(error)).split())
    return (text or type(error).__name__)[:_ERROR_CHARS]
