"""The hook relay: what an agent pays for each of its events, and how soon a waiting hook hears its answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

from bench.report import Row, percentile, show
from bench.whiskd import Whiskd
from whisk.cli import relay
from whisk.cli.process import wait_until

RUNS = 80
WAITING = 200
ANSWERED = 150
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
# The child of a bridged terminal writes down what it was told, then waits to be ended.
_TELL = 'env > "$0.part" && mv "$0.part" "$0" && exec sleep 600'


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


def bridged(daemon: Whiskd) -> dict[str, str]:
    """The environment of a child of a terminal with hook credentials."""
    told = daemon.home / "told"
    daemon.terminal("/bin/sh", "-c", _TELL, str(told), bridge="claude")
    if not wait_until(told.exists, 10.0):
        raise RuntimeError("the terminal did not start")
    return dict(line.split("=", 1) for line in told.read_text().splitlines() if "=" in line)


def answered(daemon: Whiskd) -> list[Row]:
    """From the moment the answer is sent to the moment the hook has printed it, with many others waiting."""
    env = bridged(daemon)
    hooks: dict[str, subprocess.Popen[bytes]] = {}
    for number in range(WAITING):
        question = {"question": f"Number {number}?", "options": [{"label": "a"}, {"label": "b"}]}
        payload = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "AskUserQuestion",
                   "tool_input": {"questions": [question]}}  # fmt: skip
        hook = subprocess.Popen(RELAY, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(payload).encode())
        hook.stdin.close()
        hook.stdin = None
        hooks[question["question"]] = hook  # type: ignore[index]
    waiting: list[dict[str, str]] = []

    def all_wait() -> bool:
        waiting[:] = daemon.client.get("/v1/agent-prompts", {"status": "pending"}, timeout=30.0)
        return len(waiting) == WAITING

    if not wait_until(all_wait, 60.0):
        raise RuntimeError(f"only {len(waiting)} of {WAITING} hooks wait")
    taken = [answer(daemon, prompt["id"], hooks.pop(prompt["message"])) for prompt in waiting[:ANSWERED]]
    for hook in hooks.values():
        hook.kill()
        hook.communicate()
    figures = f"p50 {percentile(taken, 0.5) * 1e3:.1f} ms, p99 {percentile(taken, 0.99) * 1e3:.1f} ms"
    return [Row(f"answer sent → hook printed it, {WAITING} waiting", figures, "", "p99 ≤ 20 ms")]


def answer(daemon: Whiskd, prompt_id: str, hook: subprocess.Popen[bytes]) -> float:
    assert hook.stdout is not None
    with DefaultSelector() as selector:
        selector.register(hook.stdout, EVENT_READ)
        began = time.perf_counter()
        daemon.client.post(f"/v1/agent-prompts/{prompt_id}/resolve", {"answer": "b"})
        selector.select(10.0)
        taken = time.perf_counter() - began
    printed, _ = hook.communicate(timeout=10.0)
    assert b'"b"' in printed, printed
    return taken


def run() -> None:
    with Whiskd() as daemon:
        show("Hook relay, whole process", passive(daemon))
        show("Answers to waiting hooks", answered(daemon))


if __name__ == "__main__":
    run()
