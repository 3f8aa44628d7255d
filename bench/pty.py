"""A terminal's output through the daemon, beside a loop that does nothing but read the same command's terminal."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
import time

from bench.load import Load, Result
from bench.report import Row, show
from bench.whiskd import Whiskd

ROUNDS = 2
# A build's log, and the worst case: a line end after each letter. What is printed, how many bytes of it, the aim.
FLOODS = (("lines of 80", "x" * 78, 100_000_000, "≥ 0.7x"), ("lines of 2", "y", 5_000_000, ""))
HEALTH_SECONDS = 3.0
_PROBE_EVERY = 0.005
_LOOK_EVERY = 0.02
_DEADLINE = 120.0


def script(text: str, count: int) -> str:
    """Waits for the Enter key, then prints `count` bytes."""
    return f"read go; yes {text} | head -c {count}"


def shown(text: str, count: int) -> int:
    """The bytes that the terminal makes of it: each line end becomes two, the echo of the Enter key too."""
    return count + count // (len(text) + 1) + 2


def plain(text: str, count: int) -> float:
    """Bytes per second of a blocking read loop."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        ["/bin/sh", "-c", script(text, count)], stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    began = time.perf_counter()
    os.write(master, b"\n")
    seen, wanted = 0, shown(text, count)
    while seen < wanted:
        seen += len(os.read(master, 65_536))
    took = time.perf_counter() - began
    os.close(master)
    process.wait()
    return wanted / took


def ours(daemon: Whiskd, text: str, count: int) -> float:
    """Bytes per second until the daemon has all of it in the terminal's ring and on the disk."""
    pty = daemon.terminal("/bin/sh", "-c", script(text, count))
    wanted = shown(text, count)
    began = time.perf_counter()
    daemon.client.post(f"/v1/ptys/{pty}/write", {"data": "\n"})
    while (seen := daemon.client.get(f"/v1/ptys/{pty}", timeout=_DEADLINE)["outputOffset"]) < wanted:
        if time.perf_counter() - began > _DEADLINE:
            raise RuntimeError(f"{seen} of {wanted} bytes after {_DEADLINE:g} s")
        time.sleep(_LOOK_EVERY)
    return wanted / (time.perf_counter() - began)


def health(daemon: Whiskd, text: str) -> Result:
    """How soon the daemon answers others while a terminal prints as fast as it can."""
    pty = daemon.terminal("yes", text)
    request = daemon.head("GET", "/v1/health")
    result = Load.paced(daemon.host, daemon.port, request, HEALTH_SECONDS, _PROBE_EVERY).result()
    daemon.client.post(f"/v1/ptys/{pty}/kill", timeout=30.0)
    return result


def run() -> None:
    rows, answers = [], []
    with Whiskd() as daemon:
        for what, text, count, aim in FLOODS:
            pairs = [(ours(daemon, text, count), plain(text, count)) for _ in range(ROUNDS)]
            mine, loop = (max(rates) for rates in zip(*pairs, strict=True))
            figures = f"{mine / 1e6:.1f} MB/s against {loop / 1e6:.1f} MB/s"
            rows.append(Row(f"{count // 1_000_000} MB, {what}", figures, f"{mine / loop:.2f}x", aim))
            result = health(daemon, text)
            latency = f"p50 {result.p50 * 1e3:.1f} ms, p99 {result.p99 * 1e3:.1f} ms, worst {result.worst * 1e3:.1f} ms"
            answers.append(Row(f"health meanwhile, {what}", latency, "", "worst < 100 ms"))
    show("Terminal output through the daemon, against a blocking read loop", [*rows, *answers])


if __name__ == "__main__":
    run()
