"""An agent's turn from real log entries and real requests, in a real file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.captured import NOW, load, request
from whisk.bridges.bridge import BridgeOwner, open_bridge
from whisk.bridges.request import BridgeRequest, State, close, ended
from whisk.hooks.entry import HookContext, bare, entry_of
from whisk.hooks.turn import Turn
from whisk.storage import audit, bridge, hook_event
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.turn import last_turn

TABLES = [*bridge.MIGRATIONS, *hook_event.MIGRATIONS, *audit.MIGRATIONS]


class Log:
    """The terminal `pty_1` and its bridge."""

    def __init__(self, path: Path) -> None:
        self.store = Store.open(path, migrations=TABLES)
        self.writer = GroupWriter(self.store)
        self.bridge, _ = open_bridge(BridgeOwner(provider="claude", pty_id="pty_1"), NOW)
        self.writer.write(lambda db: bridge.BRIDGES.insert(db, self.bridge))

    def heard(self, second: int, name: str, provider: str = "claude", pty: str = "pty_1", **changes: Any) -> None:
        entry = entry_of(load(provider, name, **changes), HookContext(pty_id=pty), "logged", NOW.plus(second))
        # A log that is switched off must tell as much.
        entry = bare(entry)
        self.writer.write(lambda db: hook_event.insert(db, entry))

    def asked(self, name: str) -> BridgeRequest:
        made = msgspec.structs.replace(request("claude", name), bridge_id=self.bridge.id)
        self.writer.write(lambda db: bridge.insert_request(db, made))
        return made

    def closed(self, made: BridgeRequest, second: int, state: State, reason: str = "") -> None:
        done = close(made, ended(state, NOW.plus(second), "x", reason))
        self.writer.write(lambda db: bridge.close_request(db, done))

    @property
    def turn(self) -> Turn | None:
        return self.store.read(lambda db: last_turn(db, "pty_1"))

    @property
    def state(self) -> str | None:
        return self.turn.state if self.turn else None


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    log = Log(path)
    yield log
    log.store.close()


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("SessionStart-startup-tui", "idle"),
        ("SessionStart-resume", "idle"),
        ("SessionStart-compact", None),
        ("UserPromptSubmit", "working"),
        ("PreToolUse-Bash", "working"),
        ("PermissionRequest-Bash", "waiting"),
        ("Elicitation-form", "waiting"),
        ("PostToolUse-Bash", "working"),
        ("PostToolUseFailure-Bash", "working"),
        ("PreCompact-manual", "working"),
        ("PostCompact-manual", "idle"),
        ("Notification-idle_prompt", "idle"),
        ("Notification-permission_prompt", "waiting"),
        ("Notification-elicitation_dialog", "waiting"),
        ("Notification-elicitation_response", None),
        ("Stop", "idle"),
        ("StopFailure-rate_limit", "idle"),
        ("SubagentStop", None),
        ("ConfigChange", None),
        ("SessionEnd-prompt_input_exit", "ended"),
    ],
)
def test_what_claude_code_really_sends_tells(log: Log, name: str, state: str | None) -> None:
    log.heard(1, name)
    assert log.state == state


@pytest.mark.parametrize(("name", "state"), [("Interrupt", "idle"), ("Stop", "idle"), ("UserPromptSubmit", "working")])
def test_what_codex_really_sends_tells(log: Log, name: str, state: str) -> None:
    log.heard(1, name, "codex")
    assert (log.state, log.turn and log.turn.provider) == (state, "codex")


def test_a_prompt_that_waits_for_a_person_is_what_the_agent_waits_for_whatever_is_reported(log: Log) -> None:
    log.heard(0, "PreToolUse-Bash")
    made = log.asked("PermissionRequest-Bash")
    log.heard(1, "PostToolUse-Read")
    turn = log.turn
    assert turn is not None
    assert (turn.state, turn.at) == ("waiting", made.created_at)
    assert turn.prompt.startswith("Bash: ")


def test_a_prompt_sent_back_to_the_agents_window_is_still_waited_for(log: Log) -> None:
    log.heard(0, "PermissionRequest-Bash")
    log.closed(log.asked("PermissionRequest-Bash"), 5, "released")
    assert log.state == "waiting"
    log.heard(6, "PostToolUse-Bash")
    assert log.state == "working"


def test_what_an_agent_does_after_a_no_in_its_own_window_is_not_known(log: Log) -> None:
    log.heard(0, "PermissionRequest-Bash")
    log.closed(log.asked("PermissionRequest-Bash"), 5, "withdrawn", "hook_gone")
    assert log.turn is None
    log.heard(60, "Notification-idle_prompt")
    assert log.state == "idle"


def test_other_terminals_tell_nothing(log: Log) -> None:
    log.heard(1, "Stop", pty="pty_2")
    assert log.turn is None
