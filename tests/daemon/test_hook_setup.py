"""`whisk hook install|check|remove` against a real daemon, and what an agent then runs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.captured import raw
from tests.daemon.conftest import Whiskd
from whisk.cli.process import wait_until


def test_an_installed_hook_reports_and_a_removal_restores_it(shared_daemon: Whiskd, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{\n    "model": "opus"\n}\n')
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert shared_daemon.cli("hook", "check", "claude", check=1, **env).stdout.splitlines()[1].split()[1] == "missing"
    assert '+    "hooks": {' in shared_daemon.cli("hook", "install", "claude", "-diff", check=0, **env).stdout
    done = shared_daemon.cli("hook", "install", "claude", check=0, **env)
    assert done.stdout == f"claude\tcurrent\t{settings}\n"
    assert "settings.json.whisk-backup" in done.stderr
    hook = json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"][0]
    said = subprocess.run(
        ["/bin/sh", "-c", hook["command"]],
        input=raw("claude", "Stop", session_id="by-helper"),
        env={"HOME": str(shared_daemon.home), "PATH": os.defpath},
        capture_output=True,
        check=True,
    )
    assert (said.stdout, said.stderr) == (b"", b"")

    def logged() -> bool:
        return any(each.get("providerSessionId") == "by-helper" for each in shared_daemon.json("hook", "events"))

    assert wait_until(logged, 10)
    assert shared_daemon.json("hook", "check", "claude", **env)["status"] == "current"
    shared_daemon.cli("hook", "remove", "claude", check=0, **env)
    assert settings.read_text() == '{\n    "model": "opus"\n}\n'


def test_a_helper_that_starts_nothing_is_written_anew_by_the_next_daemon(daemon: Whiskd) -> None:
    daemon.cli("hook", "install", "claude", check=0)
    helper = daemon.home / ".config/whisk/bin/whisk-hook-helper"
    good = helper.read_text()
    helper.write_text(good.replace("relay.py", "gone.py"))
    assert "modified" in daemon.cli("hook", "check", "claude", check=1).stdout
    daemon.restart()
    assert helper.read_text() == good
    assert "current" in daemon.cli("hook", "check", "claude", check=0).stdout


def test_what_cannot_be_written_is_printed_instead(shared_daemon: Whiskd, tmp_path: Path) -> None:
    (tmp_path / "hooks.json").write_text("{} // mine\n")
    env = {"CODEX_HOME": str(tmp_path)}
    refused = shared_daemon.cli("hook", "install", "codex", check=1, **env)
    assert "PreToolUse" in json.loads(refused.stdout)["hooks"]
    assert "a comment" in refused.stderr
    assert "merge it by hand" in refused.stderr
    told = shared_daemon.cli("hook", "install", "codex", "-json", check=1, **env)
    assert json.loads(told.stderr)["details"]["snippet"]
    checked = shared_daemon.cli("hook", "check", check=1, **env)
    assert "unavailable" in checked.stdout


def test_the_hook_log_is_switched_marked_and_emptied_from_the_command_line(shared_daemon: Whiskd) -> None:
    shared_daemon.post("/v1/agent-hook-events", {"provider": "claude", "eventName": "Stop"})
    event = shared_daemon.json("hook", "events")[-1]["id"]
    assert shared_daemon.cli("hook", "events", "read", event, check=0).stdout == f"{event}\tread\n"
    off = shared_daemon.cli("hook", "log", "-enable=false", "-clear-after-session=true", check=0).stdout
    assert off.startswith("the hook log is off")
    assert off.endswith("it is emptied when whiskd stops\n")
    shared_daemon.cli("hook", "log", "-enable=true", "-clear-after-session=false", check=0)
    assert shared_daemon.cli("hook", "log", check=0).stdout.startswith("the hook log is on\n")
    assert "-enable is true or false" in shared_daemon.cli("hook", "log", "-enable=no", check=2).stderr
    assert "-yes" in shared_daemon.cli("hook", "log", "clear", check=2).stderr
    assert shared_daemon.json("hook", "log", "clear", "-yes")["entries"] == 0


def test_onboarding_skills_and_agents_from_the_command_line(shared_daemon: Whiskd, tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    (tmp_path / "claude").mkdir()
    rows = shared_daemon.cli("onboarding", "status", check=0, **env).stdout.splitlines()
    assert rows[2].split()[:3] == ["hook:claude", "missing", "suggested"]
    assert "-items is required" in shared_daemon.cli("onboarding", "apply", check=2, **env).stderr
    done = shared_daemon.json("onboarding", "apply", "-items", "skill:claude,hook:codex", **env)
    assert [each.get("result") for each in done["items"]] == [None, None, "applied", "applied", None]
    assert (tmp_path / "claude/skills/whisk/SKILL.md").exists()
    (tmp_path / "claude/settings.json").write_text("[")
    shared_daemon.cli("onboarding", "apply", "-items", "hook:claude", check=1, **env)
    assert "whisk" in shared_daemon.cli("skill", "list", "-rescan", check=0).stdout
    program = shared_daemon.home / "bin/codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    row = shared_daemon.cli("agent", "detected", check=0).stdout.splitlines()[1]
    assert (row.split()[0], row.split()[-1]) == ("codex", str(program))
