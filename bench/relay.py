"""The hook relay: what an agent pays for each of its events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.report import Row, percentile, show
from bench.whiskd import Whiskd
from whisk.cli import relay

RUNS = 80
EVENT = json.dumps(
    {
        "session_id": "00000000-0000-4000-8000-000000000001",
        "cwd": "/home/dev/project",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_response": {"stdout": "x" * 2000, "stderr": "", "interrupted": False},
    }
).encode()
RELAY = [sys.executable, "-I", "-S", relay.__file__]


def run_once(command: list[str], env: Mapping[str, str], body: bytes = EVENT) -> float:
    """Seconds of a whole process, from its start to its end."""
    began = time.perf_counter()
    subprocess.run(command, input=body, env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def passive(daemon: Whiskd) -> list[Row]:
    """Each way of running it beside `python3 -c pass`, turn and turn about, so that a busy moment hits them all."""
    env = {"HOME": str(daemon.home), "PATH": os.environ["PATH"]}
    up, down = env | {"WHISKD_URL": daemon.url}, env | {"WHISKD_URL": "http://127.0.0.1:1"}
    console = Path(sys.executable).with_name("whisk")
    ways: dict[str, Callable[[], float]] = {
        "python3 -c pass": lambda: run_once([sys.executable, "-c", "pass"], env),
        "relay, passive event": lambda: run_once(RELAY, up),
        "relay, daemon not there": lambda: run_once(RELAY, down),
    }
    if console.exists():
        ways["whisk agent-bridge hook"] = lambda: run_once([str(console), "agent-bridge", "hook"], up)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(RUNS):
        for name, way in ways.items():
            times[name].append(way())
    base = percentile(times["python3 -c pass"], 0.5)
    return [
        Row(
            name,
            f"p50 {percentile(taken, 0.5) * 1e3:.1f} ms, p99 {percentile(taken, 0.99) * 1e3:.1f} ms",
            f"{percentile(taken, 0.5) / base:.2f}x",
            "≤ 1.5x" if name == "relay, passive event" else "",
        )
        for name, taken in times.items()
    ]


def run() -> None:
    with Whiskd() as daemon:
        show("Hook relay, whole process", passive(daemon))


if __name__ == "__main__":
    run()
