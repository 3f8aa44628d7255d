"""Real agents whose hooks `whisk hook install` has put into their settings, and nobody by hand.

WHISK_LIVE_FAKES=<folder> pytest -m live tests/live/test_installed_hooks.py
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import Whiskd
from tests.live.real_agent import Claude, Codex, RealAgent, find_binary
from whisk.cli.process import wait_until

pytestmark = pytest.mark.live


@pytest.fixture
def agents() -> Iterator[list[RealAgent]]:
    made: list[RealAgent] = []
    yield made
    for each in made:
        each.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Whiskd]:
    whiskd = Whiskd(tmp_path / "place")
    yield whiskd
    whiskd.close()


def events_of(agent: RealAgent) -> set[str]:
    return {each["eventName"] for each in agent.whiskd.json("hook", "events", "-pty", agent.pty)}


def test_claude_asks_through_installed_hooks_and_reports(agents: list[RealAgent], tmp_path: Path) -> None:
    options = [{"label": label, "description": "x"} for label in ("Red", "Blue")]
    asked = {"question": "Which color?", "header": "Pick", "multiSelect": False, "options": options}
    claude = Claude(tmp_path / "home", (), [{"name": "AskUserQuestion", "input": {"questions": [asked]}}])
    agents.append(claude)
    claude.go()
    claude.resolve(claude.asks(), "-answer", "Blue")
    [read] = claude.reads()
    assert '"Which color?"="Blue"' in read
    wanted = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"}
    assert wait_until(lambda: wanted <= events_of(claude), 20), events_of(claude)


def test_codex_asks_through_installed_hooks_and_reports(agents: list[RealAgent], tmp_path: Path) -> None:
    given = {"cmd": "touch wanted.txt", "sandbox_permissions": "require_escalated", "justification": "May I?"}
    codex = Codex(tmp_path / "home", (), [{"name": "exec_command", "input": given}])
    agents.append(codex)
    codex.go()
    codex.resolve(codex.asks(), "-answer", "allow")
    [read] = codex.reads()
    assert "exited with code 0" in read
    wanted = {"SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop"}
    assert wait_until(lambda: wanted <= events_of(codex), 20), events_of(codex)


def hooks_that_codex_sees(env: dict[str, str]) -> list[dict[str, Any]]:
    """What its app server says of them."""
    process = subprocess.Popen(
        [find_binary("codex"), "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for message in (
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": {"cwds": ["/"]}},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            if (answer := json.loads(line)).get("id") == 2:
                return list(answer["result"]["data"][0]["hooks"])
        raise AssertionError("codex ended without an answer")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("linked", [False, True])
def test_codex_itself_trusts_every_installed_hook(place: Whiskd, tmp_path: Path, linked: bool) -> None:
    """Also where the folder is named by a link, and where a hook of somebody else stands before whisk's."""
    real = tmp_path / "real"
    real.mkdir()
    folder = tmp_path / "link" if linked else real
    if linked:
        folder.symlink_to(real)
    theirs = {"hooks": [{"type": "command", "command": "/bin/true é"}]}
    (real / "hooks.json").write_text(json.dumps({"hooks": {"Stop": [theirs]}}, ensure_ascii=False, indent=4))
    (real / "config.toml").write_text('model = "gpt-5.5"\r\n')
    env = place.env | {"CODEX_HOME": str(folder)}
    place.start()
    place.cli("hook", "install", "codex", check=0, CODEX_HOME=str(folder))
    seen = hooks_that_codex_sees(env)
    ours = [each for each in seen if "whisk-hook-helper" in each["command"]]
    assert len(ours) == 12
    assert {each["trustStatus"] for each in ours} == {"trusted"}
    assert [each["trustStatus"] for each in seen if each not in ours] == ["untrusted"]
    place.cli("hook", "remove", "codex", check=0, CODEX_HOME=str(folder))
    assert (real / "config.toml").read_bytes() == b'model = "gpt-5.5"\r\n'
