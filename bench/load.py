"""A load generator in a process of its own: many keep-alive connections, raw HTTP, one loop.

Two kinds: `closed` sends each connection's next request as soon as its answer is there, as fast as the server can;
`paced` sends at fixed times whatever the server does, on another connection when none is free, so that a server that
stalls cannot hide the requests that it would have kept from being sent.
"""

from __future__ import annotations

import json
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Self

from bench.report import percentile

ROOT = Path(__file__).resolve().parents[1]
# So that connections are open, and code that runs for the first time has run, before the clock is started.
WARM_UP = 0.5
# Connections that a paced generator has ready: more than one, for the server may be slower than the pace.
_SPARE = 10


@dataclass(frozen=True)
class Result:
    """What one generator saw: answers per second, and seconds from sending to the answer."""

    rate: float
    latencies: list[float]
    errors: int

    @property
    def p50(self) -> float:
        return percentile(self.latencies, 0.50)

    @property
    def p99(self) -> float:
        return percentile(self.latencies, 0.99)

    @property
    def worst(self) -> float:
        return max(self.latencies)


class Load:
    """A running generator. `requests` holds, for each connection, the request that it sends, or those that it sends in
    turn.
    """

    def __init__(
        self,
        kind: str,
        host: str,
        port: int,
        requests: Sequence[bytes | Sequence[bytes]],
        seconds: float,
        every: float = 0.0,
    ):
        spec = {
            "kind": kind,
            "host": host,
            "port": port,
            "requests": [
                [each.decode("latin-1") for each in ((turn,) if isinstance(turn, bytes) else turn)] for turn in requests
            ],
            "seconds": seconds,
            "every": every,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(spec))
        self._process.stdin.close()
        self._process.stdin = None

    @classmethod
    def closed(cls, host: str, port: int, requests: Sequence[bytes | Sequence[bytes]], seconds: float) -> Self:
        return cls("closed", host, port, requests, seconds)

    @classmethod
    def paced(cls, host: str, port: int, request: bytes, seconds: float, every: float) -> Self:
        return cls("paced", host, port, [request], seconds, every)

    def result(self) -> Result:
        """Waits for its end."""
        out, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the load generator ended with {self._process.returncode}")
        found: dict[str, Any] = json.loads(out)
        return Result(**found)

    def close(self) -> None:
        """End it early."""
        self._process.kill()
        self._process.communicate()


class Connection:
    """One keep-alive connection; `answer` returns the status once a whole response has been read."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._data = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def answer(self) -> tuple[int, bytes] | None:
        """What has arrived, if that is a whole response: status and body. Blocks until something arrives."""
        piece = self.socket.recv(262_144)
        if not piece:
            raise ConnectionError("the server closed a keep-alive connection")
        self._data += piece
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self._data[:end].lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self._data) < end + 4 + length:
            return None
        body, self._data = self._data[end + 4 : end + 4 + length], self._data[end + 4 + length :]
        return int(head[9:12]), body

    def exchange(self, request: bytes) -> tuple[int, bytes]:
        self.send(request)
        while (answer := self.answer()) is None:
            pass
        return answer

    def close(self) -> None:
        self.socket.close()


def _closed(host: str, port: int, requests: list[list[bytes]], seconds: float) -> dict[str, Any]:
    selector = selectors.DefaultSelector()
    clock = time.perf_counter
    sent = {}
    for turn in requests:
        connection = Connection(host, port)
        selector.register(connection, selectors.EVENT_READ, following := cycle(turn))
        sent[connection] = clock()
        connection.send(next(following))
    begins = clock() + WARM_UP
    ends = begins + seconds
    latencies: list[float] = []
    errors = 0
    while (now := clock()) < ends:
        for key, _ in selector.select(1):
            asked: Any = key.fileobj
            if (answer := asked.answer()) is None:
                continue
            now = clock()
            if now >= begins:
                latencies.append(now - sent[asked])
                errors += answer[0] >= 400
            sent[asked] = now
            asked.send(next(key.data))
    return {"rate": len(latencies) / (now - begins), "latencies": latencies, "errors": errors}


def _paced(host: str, port: int, request: bytes, seconds: float, every: float) -> dict[str, Any]:
    selector = selectors.DefaultSelector()
    clock = time.perf_counter
    free: list[Connection] = []
    for _ in range(_SPARE):
        free.append(Connection(host, port))
        free[-1].exchange(request)
        selector.register(free[-1], selectors.EVENT_READ)
    waiting: dict[Any, float] = {}
    latencies: list[float] = []
    errors = 0
    began = due = clock()
    ends = began + seconds
    while waiting or due < ends:
        for key, _ in selector.select(max(min(due, ends) - clock(), 0.0) if due < ends else None):
            connection: Any = key.fileobj
            if (answer := connection.answer()) is not None:
                latencies.append(clock() - waiting.pop(connection))
                errors += answer[0] >= 400
                free.append(connection)
        if due < ends and clock() >= due:
            if not free:
                free.append(Connection(host, port))
                selector.register(free[-1], selectors.EVENT_READ)
            waiting[free[-1]] = clock()
            free.pop().send(request)
            due += every
    return {"rate": len(latencies) / (clock() - began), "latencies": latencies, "errors": errors}


def _main() -> None:
    spec = json.load(sys.stdin)
    requests = [[each.encode("latin-1") for each in turn] for turn in spec["requests"]]
    place = spec["host"], spec["port"]
    if spec["kind"] == "closed":
        found = _closed(*place, requests, spec["seconds"])
    else:
        found = _paced(*place, requests[0][0], spec["seconds"], spec["every"])
    print(json.dumps(found))


if __name__ == "__main__":
    _main()
