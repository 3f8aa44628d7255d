"""What whiskd costs by being there: its start, and its memory at rest."""

from __future__ import annotations

import time

import psutil

from bench.report import Row, percentile, show
from bench.whiskd import Whiskd

STARTS = 5
_REST = 1.0


def run() -> None:
    starts, memory, host = [], [], []
    for _ in range(STARTS):
        with Whiskd() as daemon:
            starts.append(daemon.start_seconds)
            daemon.client.get("/v1/health")
            time.sleep(_REST)
            memory.append(float(daemon.memory()))
            daemon.terminal("sleep", "600")
            (found,) = (each for each in daemon.processes() if "ptyhost" in " ".join(each.cmdline()))
            host.append(float(psutil.Process(found.pid).memory_info().rss))
    show(
        "The daemon by itself",
        [
            Row("start to healthy", f"best {min(starts) * 1e3:.0f} ms, p50 {percentile(starts, 0.5) * 1e3:.0f} ms"),
            Row("memory at rest", f"{min(memory) / 2**20:.1f} MiB"),
            Row("memory of the pty host, one terminal", f"{min(host) / 2**20:.1f} MiB"),
        ],
    )


if __name__ == "__main__":
    run()
