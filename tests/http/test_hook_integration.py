"""Hooks in agents' settings, over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

BASE = "/v1/agent-hook-integrations"


def test_hooks_are_listed_installed_checked_and_removed(call: Any, tmp_path: Path) -> None:
    listed = call("GET", BASE).json
    assert [(each["provider"], each["status"]) for each in listed] == [("claude", "missing"), ("codex", "missing")]
    for provider, file in (("claude", ".claude/settings.json"), ("codex", ".codex/hooks.json")):
        done = call("POST", f"{BASE}/install", {"provider": provider})
        assert (done.status, done.json["status"], done.json["changed"]) == (200, "current", True)
        assert done.json["configPath"] == str(tmp_path / file)
        assert call("POST", f"{BASE}/check", {"provider": provider}).json["state"] == "installed"
    assert [each["status"] for each in call("GET", BASE).json] == ["current", "current"]
    assert call("POST", f"{BASE}/remove", {"provider": "codex"}).json["status"] == "missing"
    assert not (tmp_path / ".codex/config.toml").exists()


def test_another_folder_and_a_dry_run(call: Any, tmp_path: Path) -> None:
    body = {"provider": "claude", "configDir": str(tmp_path / "other"), "dryRun": True}
    assert "+++" in call("POST", f"{BASE}/install", body).json["diff"]
    assert not (tmp_path / "other").exists()
    call("POST", f"{BASE}/install", body | {"dryRun": False})
    assert (tmp_path / "other/settings.json").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"provider": "gemini"}, 'unsupported agent hook provider "gemini"'),
        ({"configDir": "here"}, "absolute"),
        ({"configDir": "/a\0b"}, "NUL"),
    ],
)
def test_what_cannot_be_meant_is_400(call: Any, change: dict[str, str], said: str) -> None:
    for verb in ("check", "install", "remove"):
        answer = call("POST", f"{BASE}/{verb}", {"provider": "claude"} | change)
        assert (answer.status, answer.code) == (400, "invalid")
        assert said in answer.json["error"]


def test_settings_that_are_no_json_are_400_with_a_snippet(call: Any, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("{ // mine\n}")
    answer = call("POST", f"{BASE}/install", {"provider": "claude"})
    assert (answer.status, answer.code) == (400, "invalid")
    assert "PreToolUse" in json.loads(answer.json["details"]["snippet"])["hooks"]
