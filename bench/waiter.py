"""Waiting for mail: how soon one of many waiters hears of its message, and what it costs to let it wait."""

from __future__ import annotations

import selectors
import time
from types import TracebackType
from typing import Self

from bench.load import Connection
from bench.report import Row, percentile, show
from bench.whiskd import Whiskd, raise_descriptor_limit

COUNTS = (1, 100, 5_000)
WAKES = 300
ROUNDS = 2
_AT_ONCE = 50
_SETTLE_SECONDS = 1.5
# Between two wakes, so that the last waiter is back in its queue.
_PAUSE = 0.01


class Waiters:
    """Long polls at addresses of their own, one connection each; woken one at a time."""

    def __init__(self, daemon: Whiskd, count: int) -> None:
        self._daemon = daemon
        self._select = selectors.DefaultSelector()
        self._connections: list[Connection] = []
        self._sender = Connection(daemon.host, daemon.port)
        self._count = count

    def __enter__(self) -> Self:
        for number in range(self._count):
            connection = Connection(self._daemon.host, self._daemon.port)
            self._connections.append(connection)
            self._select.register(connection, selectors.EVENT_READ)
            self._wait(number)
            if number % _AT_ONCE == 0:
                # The daemon's backlog is finite; an answer says that it has looked at what came before.
                self._sender.exchange(self._daemon.head("GET", "/v1/health"))
        self.settle()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._select.close()
        for connection in (self._sender, *self._connections):
            connection.close()

    def settle(self) -> None:
        """Until the daemon has nothing left to do, and its memory is what it is at rest."""
        while True:
            cpu, memory = self._daemon.cpu(), self._daemon.memory()
            time.sleep(_SETTLE_SECONDS)
            if self._daemon.cpu() - cpu < 0.1 and self._daemon.memory() == memory:
                return

    def wake(self, times: int) -> list[float]:
        """Send single waiters their message; seconds from before each sending until the waiter has read it."""
        # Far apart, and each one as often as the others.
        step = next(step for step in (1_999, 41, 1) if step < self._count or step == 1)
        return [self._wake(turn * step % self._count) for turn in range(times)]

    def _wake(self, number: int) -> float:
        time.sleep(_PAUSE)
        connection = self._connections[number]
        message = self._message(number)
        began = time.perf_counter()
        self._sender.send(message)
        if [key.fileobj for key, _ in self._select.select(30)] != [connection]:
            raise RuntimeError("not the waiter that was written to was woken")
        while (answer := connection.answer()) is None:
            pass
        took = time.perf_counter() - began
        if answer[0] != 200 or b'"message"' not in answer[1]:
            raise RuntimeError(f"woken without a message: {answer}")
        while self._sender.answer() is None:
            pass
        self._wait(number)
        return took

    def _wait(self, number: int) -> None:
        path = f"/v1/mail/next?to=session:waiter-{number}&ack=true&timeoutMs=600000"
        self._connections[number].send(self._daemon.head("GET", path))

    def _message(self, number: int) -> bytes:
        message = {
            "from": "session:sender",
            "to": [f"session:waiter-{number}"],
            "type": "status",
            "subject": "your turn",
            "body": "The branch is merged; go on with the next item.",
        }
        return self._daemon.request("POST", "/v1/mail", message)


def run() -> None:
    """One daemon, more and more waiters; memory is what the last thousands added to it."""
    raise_descriptor_limit()
    rows = []
    with Whiskd() as daemon:
        for count in COUNTS:
            before = daemon.memory()
            with Waiters(daemon, count) as waiters:
                memory = (daemon.memory() - before) / count
                times = min((waiters.wake(WAKES) for _ in range(ROUNDS)), key=lambda round: percentile(round, 0.99))
            p50, p99 = (percentile(times, share) * 1e3 for share in (0.5, 0.99))
            last = count == COUNTS[-1]
            rows.append(
                Row(f"{count:,} waiting, one woken", f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", "", "p99 ≤ 10 ms" * last)
            )
        rows.append(Row("memory of the daemon per waiter", f"{memory / 1024:.1f} KiB", "", "≤ 25 KiB"))
    show("Waiting for mail: from before the send until the waiter has it, stored on the way", rows)


if __name__ == "__main__":
    run()
