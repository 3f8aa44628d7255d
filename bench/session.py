"""A thousand sessions known, each with a terminal that has ended: what they weigh, and how soon they are listed."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.report import Row, percentile, show
from bench.whiskd import Whiskd

COUNT = 1_000
LISTS = 30
_REST_SECONDS = 150.0


def latency(ask: Callable[[], object]) -> str:
    times = []
    for _ in range(LISTS):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return f"p50 {percentile(times, 0.5) * 1e3:.0f} ms, p99 {percentile(times, 0.99) * 1e3:.0f} ms"


def rest(daemon: Whiskd) -> None:
    """Until nothing of what has ended has an actor."""
    ends = time.monotonic() + _REST_SECONDS
    while any(each["name"].startswith(("session:", "pty:pty_")) for each in daemon.client.get("/v1/actors")):
        if time.monotonic() > ends:
            raise RuntimeError("sessions in which nothing runs are still awake")
        time.sleep(1)


def run() -> None:
    with Whiskd() as daemon:
        before = daemon.memory()
        for number in range(COUNT):
            daemon.terminal("/bin/echo", "done", name=f"session {number}")
        awake = daemon.memory()
        lists = {path: latency(lambda path=path: daemon.client.get(path)) for path in ("/v1/sessions", "/v1/ptys")}
        rest(daemon)
        after = daemon.memory()
        show(
            f"{COUNT:,} sessions known, each with a terminal that has ended",
            [
                Row("list the sessions", lists["/v1/sessions"]),
                Row("list the terminals", lists["/v1/ptys"]),
                Row("the same, all at rest", latency(lambda: daemon.client.get("/v1/ptys"))),
                Row("list what is remembered", latency(lambda: daemon.client.get("/v1/pty-history"))),
                Row("memory that each added, just ended", f"{(awake - before) / COUNT / 1024:.0f} KiB"),
                Row("the same, at rest", f"{(after - before) / COUNT / 1024:.0f} KiB"),
            ],
        )


if __name__ == "__main__":
    run()
