"""Viewing a terminal over its WebSocket: how soon the screen is there, and how fast output gets to one and to ten.

The viewers run in a process of their own and read frames without looking into them, so that it is the daemon that is
measured. A viewer that is too slow for a flood is moved forward; what it missed is counted.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import socket
import subprocess
import sys
import time
from typing import Any

from bench.load import ROOT
from bench.report import Row, percentile, show
from bench.whiskd import Whiskd

ATTACHES = 100
VIEWERS = (1, 10)
SCREEN_LINES = 2_000
FLOOD_BYTES = 100_000_000
_LINE = "x" * 78
_DEADLINE = 120.0


class Viewer:
    """One attached client. `bytes` of output have come, `missing` were skipped; done after the exit frame."""

    def __init__(self, daemon: dict[str, Any], pty: str, query: str) -> None:
        self.socket = socket.create_connection((daemon["host"], daemon["port"]), timeout=_DEADLINE)
        self.bytes = self.missing = 0
        self.done = False
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (
                f"GET /v1/ptys/{pty}/attach?{query} HTTP/1.1\r\nHost: {daemon['host']}:{daemon['port']}\r\n"
                f"Authorization: Bearer {daemon['token']}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
            ).encode()
        )
        self._data = b""
        while b"\r\n\r\n" not in self._data:
            self._data += self.socket.recv(4096)
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(head.decode())

    def fileno(self) -> int:
        return self.socket.fileno()

    def frame(self) -> tuple[int, bytes]:
        """The next frame: its kind (1 text, 2 binary) and its content."""
        while (found := self._take()) is None:
            self._receive()
        return found

    def read(self) -> None:
        """What has arrived; call it when there is something."""
        self._receive()
        while not self.done and (found := self._take()) is not None:
            kind, content = found
            if kind == 2:
                self.bytes += len(content) - 9
            elif kind == 1:
                frame = json.loads(content)
                self.missing += frame.get("skipped") or 0
                self.done = frame["type"] == "exit"

    def _receive(self) -> None:
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise ConnectionError("the daemon hung up")
        self._data += piece

    def _take(self) -> tuple[int, bytes] | None:
        if len(self._data) < 2:
            return None
        size, head = self._data[1] & 0x7F, 2
        if size > 125:
            head = 4 if size == 126 else 10
            size = int.from_bytes(self._data[2:head], "big")
        if len(self._data) < head + size:
            return None
        kind, content = self._data[0] & 0x0F, self._data[head : head + size]
        self._data = self._data[head + size :]
        return kind, content


def screens(place: dict[str, Any], pty: str, count: int) -> list[float]:
    """Seconds from before the connection is made until the snapshot frame is there."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        viewer = Viewer(place, pty, "binary=1&snapshot=1")
        kind, content = viewer.frame()
        times.append(time.perf_counter() - began)
        viewer.socket.close()
        if kind != 1 or b'"snapshot"' not in content[:40]:
            raise RuntimeError("the first frame is no snapshot")
    return times


def flood(daemon: Whiskd, place: dict[str, Any], viewers: int) -> tuple[float, float]:
    """Output per second that each of `viewers` got, and the share that they missed."""
    pty = daemon.terminal("/bin/sh", "-c", f"read go; yes {_LINE} | head -c {FLOOD_BYTES}")
    asked = json.dumps({"place": place, "pty": pty, "viewers": viewers})
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.attach", asked], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    began = time.perf_counter()
    daemon.client.post(f"/v1/ptys/{pty}/write", {"data": "\n"})
    told = json.loads(process.stdout.readline())
    took = time.perf_counter() - began
    process.communicate()
    total = told["bytes"] + told["missing"]
    if total < viewers * FLOOD_BYTES:
        raise RuntimeError(f"{total} bytes are accounted for, of {viewers * FLOOD_BYTES}")
    return told["bytes"] / viewers / took, told["missing"] / total


def watch(spec: dict[str, Any]) -> None:
    """The viewers' process: says when all are attached, and what they saw."""
    selector = selectors.DefaultSelector()
    viewers = [Viewer(spec["place"], spec["pty"], "binary=1&from=end") for _ in range(spec["viewers"])]
    for viewer in viewers:
        selector.register(viewer, selectors.EVENT_READ)
    print("attached", flush=True)
    while not all(viewer.done for viewer in viewers):
        for key, _ in selector.select(_DEADLINE):
            viewer: Any = key.fileobj
            viewer.read()
            if viewer.done:
                selector.unregister(viewer)
    print(json.dumps({name: sum(getattr(each, name) for each in viewers) for name in ("bytes", "missing")}), flush=True)


def run() -> None:
    rows = []
    with Whiskd() as daemon:
        place = {"host": daemon.host, "port": daemon.port, "token": daemon.token}
        pty = daemon.terminal("/bin/sh", "-c", f"yes {_LINE} | head -n {SCREEN_LINES}; echo up; read x")
        daemon.client.post(f"/v1/ptys/{pty}/expect", {"patterns": ["up"], "from": 0}, timeout=_DEADLINE)
        (first,) = screens(place, pty, 1)
        times = [percentile(screens(place, pty, ATTACHES), share) * 1e3 for share in (0.5, 0.99)]
        rows.append(Row(f"first screen, {SCREEN_LINES:,} lines drawn for it", f"{first * 1e3:.0f} ms"))
        rows.append(Row("screen of a terminal that was drawn before", f"p50 {times[0]:.1f} ms, p99 {times[1]:.1f} ms"))
        for count in VIEWERS:
            rate, missed = flood(daemon, place, count)
            who = "1 viewer" if count == 1 else f"{count} viewers, each"
            rows.append(Row(f"100 MB to {who}", f"{rate / 1e6:.1f} MB/s, {missed:.0%} skipped and told"))
    show("Attaching: from before the connection until the screen is there, and a flood of output", rows)


if __name__ == "__main__":
    watch(json.loads(sys.argv[1])) if len(sys.argv) > 1 else run()
