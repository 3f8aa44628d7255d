"""One change, and everybody who follows events hears of it: how long until the first and the last have read it."""

from __future__ import annotations

import selectors
import socket
import time
from types import TracebackType
from typing import Self

from bench.load import Connection
from bench.report import Row, percentile, show
from bench.whiskd import Whiskd, raise_descriptor_limit

COUNTS = (1, 100, 1_000)
CHANGES = 30
_AT_ONCE = 50
_PAUSE = 0.05
_DEADLINE = 30.0


class Followers:
    """Streams of events, one connection each, all read by this process."""

    def __init__(self, daemon: Whiskd, count: int) -> None:
        self._daemon = daemon
        self._count = count
        self._select = selectors.DefaultSelector()
        self._streams: list[socket.socket] = []
        self._sender = Connection(daemon.host, daemon.port)
        self._project = daemon.client.post("/v1/projects", {"name": "Bench", "rootDir": str(daemon.home)})["id"]

    def __enter__(self) -> Self:
        for number in range(self._count):
            stream = socket.create_connection((self._daemon.host, self._daemon.port), timeout=_DEADLINE)
            stream.sendall(self._daemon.head("GET", "/v1/events?types=workitems.changed"))
            self._streams.append(stream)
            if number % _AT_ONCE == 0:
                self._sender.exchange(self._daemon.head("GET", "/v1/health"))
        for stream in self._streams:
            greeting = b""
            # The position from which it follows is the last thing said before the first event.
            while b"\nid: " not in greeting:
                greeting += stream.recv(4096)
            self._select.register(stream, selectors.EVENT_READ)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._select.close()
        for connection in (self._sender, *self._streams):
            connection.close()

    def change(self) -> tuple[float, float]:
        """Seconds from before a work item is made until the first and the last follower have read of it."""
        time.sleep(_PAUSE)
        request = self._daemon.request("POST", "/v1/work-items", {"projectId": self._project, "title": "One more"})
        waiting = set(self._streams)
        first = 0.0
        began = time.perf_counter()
        self._sender.send(request)
        while waiting:
            ready = self._select.select(_DEADLINE)
            if not ready:
                raise RuntimeError(f"{len(waiting)} of {self._count} followers have not heard")
            for key, _ in ready:
                stream: socket.socket = key.fileobj  # type: ignore[assignment]
                if b"workitems.changed" in stream.recv(65_536):
                    waiting.discard(stream)
                    first = first or time.perf_counter() - began
        last = time.perf_counter() - began
        while self._sender.answer() is None:
            pass
        return first, last


def run() -> None:
    raise_descriptor_limit()
    rows = []
    with Whiskd() as daemon:
        for count in COUNTS:
            with Followers(daemon, count) as followers:
                times = [followers.change() for _ in range(CHANGES)]
            first, last = ([each[index] for each in times] for index in (0, 1))
            figures = f"first p50 {percentile(first, 0.5) * 1e3:.1f} ms, last p50 {percentile(last, 0.5) * 1e3:.1f} ms"
            rate = count / percentile(last, 0.5)
            rows.append(Row(f"{count:,} follow", f"{figures}, {rate:,.0f} deliveries/s"))
    show("Events: from before a work item is made until its followers have read of it", rows)


if __name__ == "__main__":
    run()
