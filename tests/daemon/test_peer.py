"""Peers, with a real daemon, the real relay and agents that are processes of their own."""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.captured import raw
from tests.hook_agent import Agent
from tests.peer_agent import PeerAgent
from whisk.cli.process import wait_until

from .conftest import Whiskd

DEADLINE = 20.0
ROOT = str(Path(__file__).resolve().parents[2])
Hire = Callable[..., PeerAgent]


@pytest.fixture
def hire() -> Iterator[Hire]:
    """An agent in the terminal of `agent`, or in a pane of tmux when there is none."""
    made: list[PeerAgent] = []

    def start(whiskd: Whiskd, agent: Agent | None = None) -> PeerAgent:
        env = agent.env if agent is not None else {
            "HOME": str(whiskd.home), "PATH": "/usr/bin:/bin", "WHISKD_URL": whiskd.url,
            "WHISK_STATE_DIR": str(whiskd.state_dir), "WHISK_AGENT_BRIDGE_PROVIDER": "claude",
            "TMUX": "/tmp/tmux-1000/default,12,0", "TMUX_PANE": "%3",
        }  # fmt: skip
        made.append(PeerAgent(env, ROOT))
        return made[-1]

    yield start
    for each in made:
        each.close()


def peers(whiskd: Whiskd, **query: str) -> list[dict[str, Any]]:
    return list(whiskd.get("/v1/peers", query))


def peer(whiskd: Whiskd, session: str, holds: Callable[[dict[str, Any]], object] = lambda peer: True) -> dict[str, Any]:
    """The peer of a session of Claude Code, as soon as it is so."""

    def found() -> dict[str, Any] | None:
        mine = peers(whiskd, providerSessionId=session)
        return mine[-1] if mine and holds(mine[-1]) else None

    assert wait_until(lambda: found() is not None, DEADLINE), peers(whiskd)
    return found() or {}


def test_an_agent_in_a_tmux_pane_that_whisk_did_not_start_is_a_peer(shared_daemon: Whiskd, hire: Hire) -> None:
    agent = hire(shared_daemon)
    agent.hook("SessionStart-startup-tui", session_id="tmux", model="claude-sonnet-5", cwd="/src/shop")
    found = peer(shared_daemon, "tmux", lambda peer: peer.get("watched"))
    assert (found["runtime"], found["status"], found["state"]) == ("claude", "online", "idle")
    assert (found["tmuxServer"], found["tmuxPane"]) == ("/tmp/tmux-1000/default", "%3")
    assert (found["model"]["name"], found["process"]["pid"]) == ("claude-sonnet-5", agent.process.pid)
    agent.hook("UserPromptSubmit", session_id="tmux", prompt="Fix the tax")
    agent.hook("Stop", session_id="tmux", last_assistant_message="Fixed.")
    peer(shared_daemon, "tmux", lambda peer: peer.get("lastMessage") == "Fixed." and peer["state"] == "idle")
    agent.hook("SessionEnd-prompt_input_exit", session_id="tmux")
    peer(shared_daemon, "tmux", lambda peer: peer["status"] == "offline")
    shown = shared_daemon.cli("peer", "show", found["id"]).stdout
    assert "offline (session_end)" in shown
    assert "prompt_input_exit" in shown
    assert "Fix the tax" in shown
    assert found["id"] not in shared_daemon.cli("peer", "list").stdout
    assert found["id"] in shared_daemon.cli("peer", "list", "-all").stdout


def test_a_clear_and_a_restart_of_whiskd_keep_the_peer(daemon: Whiskd, hire: Hire, employ: Any) -> None:
    agent = hire(daemon, employ(daemon))
    agent.hook("SessionStart-startup-tui", session_id="one", model="claude-sonnet-5")
    first = peer(daemon, "one", lambda peer: peer.get("watched"))
    assert first["ptyId"]
    to = ("-to", f"peer:{first['id']}")
    sent = daemon.json("mail", "send", "-from", "run:a", *to, "-type", "status", "-subject", "Waits")
    assert sent["recipients"][0].get("known", True)
    agent.hook("SessionEnd-clear", session_id="one")
    daemon.restart()
    agent.hook("SessionStart-clear", session_id="two")
    agent.hook("UserPromptSubmit", session_id="two")
    second = peer(daemon, "two", lambda peer: peer["state"] == "working")
    assert (second["id"], second["formerSessions"], second["status"]) == (first["id"], ["one"], "online")
    assert second["model"]["name"] == "claude-sonnet-5"
    # Its address has outlived its session.
    assert "Waits" in str(daemon.json("mail", "check", *to))
    daemon.stop()
    agent.kill()
    agent.process.wait()
    daemon.start()
    gone = peer(daemon, "two", lambda peer: peer["status"] == "offline")
    assert gone["handoff"]["cause"] == "process_gone"


def test_a_call_that_a_rule_decides_leaves_its_agent_at_work(shared_daemon: Whiskd, hire: Hire, employ: Any) -> None:
    policy = shared_daemon.json("policy", "add", "allow", "Bash")
    agent = hire(shared_daemon, employ(shared_daemon))
    agent.hook("UserPromptSubmit", session_id="ruled")
    since = peer(shared_daemon, "ruled", lambda peer: peer["state"] == "working")["stateAt"]
    agent.hook("PermissionRequest-Bash", session_id="ruled")
    shared_daemon.json("policy", "remove", policy["id"])
    found = peer(shared_daemon, "ruled", lambda peer: peer["state"] == "working" and peer["stateAt"] > since)
    assert found.get("prompts", []) == []


def test_a_killed_agent_is_offline_and_its_prompt_is_withdrawn(shared_daemon: Whiskd, hire: Hire, employ: Any) -> None:
    terminal = employ(shared_daemon)
    agent = hire(shared_daemon, terminal)
    agent.hook("SessionStart-startup-tui", session_id="killed")
    agent.hold("PermissionRequest-Bash", session_id="killed")
    prompt = terminal.prompt()
    waiting = peer(shared_daemon, "killed", lambda peer: peer["state"] == "waiting" and peer.get("watched"))
    assert waiting["prompts"] == [prompt["id"]]
    # Its hook is in a session of its own, and lives on.
    agent.kill()
    gone = peer(shared_daemon, "killed", lambda peer: peer["status"] == "offline")
    assert gone["handoff"]["cause"] == "process_gone"
    outcome = terminal.outcome(prompt)
    assert (outcome["status"], "agent_gone" in str(outcome)) == ("cancelled", True), outcome


def test_a_nested_agent_is_a_peer_of_its_own(shared_daemon: Whiskd, hire: Hire, employ: Any) -> None:
    agent = hire(shared_daemon, employ(shared_daemon))
    agent.hook("UserPromptSubmit", session_id="host")
    host = peer(shared_daemon, "host", lambda peer: peer["state"] == "working")
    names = ("SessionStart-startup-print", "UserPromptSubmit", "Stop", "SessionEnd-other")
    agent.inner(*(raw("claude", name, session_id="inner") for name in names))
    inner = peer(shared_daemon, "inner", lambda peer: peer["status"] == "offline")
    assert (inner["parent"], inner["ptyId"]) == (host["id"], host["ptyId"])
    assert peer(shared_daemon, "host")["status"] == "online"
    assert peer(shared_daemon, "host")["state"] == "working"


def test_peer_watch_prints_a_line_for_each_change(shared_daemon: Whiskd, hire: Hire) -> None:
    agent = hire(shared_daemon)
    agent.hook("SessionStart-startup-tui", session_id="seen")
    mine = peer(shared_daemon, "seen", lambda peer: peer.get("watched"))["id"]
    watching = shared_daemon.popen("peer", "watch")
    stdout = watching.stdout
    assert stdout is not None
    states = cycle(("UserPromptSubmit", "Stop"))

    def told() -> bool:
        # It may not be following yet, so there is something new to see until it does.
        agent.hook(next(states), session_id="seen")
        return bool(select.select([stdout], [], [], 0)[0])

    try:
        assert wait_until(told, DEADLINE)
        assert stdout.readline().decode().split("\t")[:2] == [mine, "claude"]
    finally:
        watching.kill()
        watching.communicate()


def test_mail_to_a_peer_is_kept_and_taken(shared_daemon: Whiskd) -> None:
    to = ("-to", "peer:later")
    sent = shared_daemon.json("mail", "send", "-from", "run:a", *to, "-type", "status", "-subject", "Hello")
    assert sent["recipients"][0]["known"] is False
    taken = shared_daemon.json("mail", "check", *to)
    assert "Hello" in str(taken)
