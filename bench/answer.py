"""An answer's way to the agent: from the person's request until the hook has printed it, with 200 hooks waiting."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import time

from bench.report import Row, percentile, show
from bench.whiskd import Whiskd
from whisk.cli import relay
from whisk.cli.process import wait_until

WAITING = 200
ANSWERS = 200
STARTS = 30
_DEADLINE = 60.0
_RELAY = [sys.executable, "-I", "-S", relay.__file__]
# The child of a bridged terminal writes down what it was told, then waits to be ended.
_TELL = 'env > "$0.part" && mv "$0.part" "$0" && exec sleep 600'


class Hooks:
    """Relay processes that wait, each with a question of its own; `answer` takes the oldest and a new one follows."""

    def __init__(self, daemon: Whiskd) -> None:
        self._daemon = daemon
        told = daemon.home / "told"
        daemon.terminal("/bin/sh", "-c", _TELL, str(told), bridge="claude")
        if not wait_until(told.exists, _DEADLINE):
            raise RuntimeError("the terminal did not start")
        self.env = dict(line.split("=", 1) for line in told.read_text().splitlines() if "=" in line)
        self._asked = 0
        self._hooks: dict[str, subprocess.Popen[bytes]] = {}
        self._prompts: dict[str, str] = {}

    def ask(self, count: int) -> None:
        """Start `count` more, and wait until their questions are there."""
        for _ in range(count):
            self._asked += 1
            # Agents of their own: in one agent's session a new question says something about the ones before.
            question = f"Number {self._asked}?"
            self._hooks[question] = start(self.env, _question(f"session-{self._asked}", question))

        def all_wait() -> bool:
            found = self._daemon.client.get("/v1/agent-prompts", {"status": "pending", "limit": count}, timeout=30.0)
            self._prompts |= {prompt["message"]: prompt["id"] for prompt in found}
            return self._prompts.keys() >= self._hooks.keys()

        if not wait_until(all_wait, _DEADLINE, every=0.01):
            raise RuntimeError(f"{len(self._hooks)} hooks, {len(self._prompts)} questions")

    def answer(self) -> float:
        """Seconds from the answer's sending until the hook has printed it; another hook takes its place."""
        question = next(iter(self._hooks))
        hook = self._hooks.pop(question)
        assert hook.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(hook.stdout, selectors.EVENT_READ)
            path = f"/v1/agent-prompts/{self._prompts.pop(question)}/resolve"
            began = time.perf_counter()
            self._daemon.client.post(path, {"answer": "merge it"})
            selector.select(_DEADLINE)
            took = time.perf_counter() - began
        printed, _ = hook.communicate(timeout=_DEADLINE)
        if question.encode() not in printed or b"merge it" not in printed:
            raise RuntimeError(f"not the answer that was given: {printed!r}")
        self.ask(1)
        return took

    def close(self) -> None:
        for hook in self._hooks.values():
            hook.kill()
            hook.communicate()


def start(env: dict[str, str], payload: bytes) -> subprocess.Popen[bytes]:
    hook = subprocess.Popen(_RELAY, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert hook.stdin is not None
    hook.stdin.write(payload)
    hook.stdin.close()
    hook.stdin = None
    return hook


def own_start(env: dict[str, str]) -> float:
    """Seconds of a whole relay process whose event needs no answer."""
    event = {"hook_event_name": "Notification", "session_id": "news", "message": "still here"}
    began = time.perf_counter()
    start(env, json.dumps(event).encode()).communicate(timeout=_DEADLINE)
    return time.perf_counter() - began


def _question(session: str, question: str) -> bytes:
    choices = {"question": question, "header": "Go", "options": [{"label": "merge it"}, {"label": "wait"}]}
    return json.dumps(
        {
            "session_id": session,
            "cwd": "/",
            "hook_event_name": "PreToolUse",
            "tool_name": "AskUserQuestion",
            "tool_input": {"questions": [{**choices, "multiSelect": False}]},
        }
    ).encode()


def run() -> None:
    """Questions are answered one at a time, and as many hooks wait at the end as at the beginning."""
    with Whiskd() as daemon:
        hooks = Hooks(daemon)
        try:
            hooks.ask(WAITING)
            starts = [own_start(hooks.env) for _ in range(STARTS)]
            taken = [hooks.answer() for _ in range(ANSWERS)]
        finally:
            hooks.close()
    p50, p99 = (percentile(taken, share) * 1e3 for share in (0.5, 0.99))
    show(
        f"An answer on its way, {WAITING} hooks waiting",
        [
            Row("answer sent → hook has printed it", f"p50 {p50:.1f} ms, p99 {p99:.1f} ms", "", "p99 ≤ 20 ms"),
            Row("a relay's own start and end", f"p50 {percentile(starts, 0.5) * 1e3:.1f} ms"),
        ],
    )


if __name__ == "__main__":
    run()
