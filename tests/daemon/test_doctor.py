"""`whisk doctor` on a real machine: what is well is called well, and every fault is named with what mends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import Whiskd
from whisk.daemon.survey.place import file_system_of, is_remote


def findings(whiskd: Whiskd, **env: str) -> dict[str, dict[str, Any]]:
    """By section and name; the exit code must fit."""
    done = whiskd.cli("doctor", "-json", **env)
    page = json.loads(done.stdout)
    assert done.returncode == (0 if page["ok"] else 1), done.stderr
    return {f"{each['section']} {each['name']}": each for each in page["findings"]}


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")}


def test_a_healthy_machine_is_called_so(shared_daemon: Whiskd, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho '2.1.197 (Claude Code)'\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{shared_daemon.env['PATH']}"
    shared_daemon.cli("hook", "install", "claude", check=0)
    found = findings(shared_daemon, PATH=path)
    assert {each["grade"] for each in found.values()} <= {"ok", "off", "look"}
    for name in ("daemon running", "daemon version", "daemon actors", "state folder", "state token", "state database"):
        assert found[name]["grade"] == "ok", found[name]
    assert found["agents claude"]["detail"] == f"2.1.197, {program}"
    assert found["hooks claude"]["detail"].startswith("current, ")
    assert found["hooks helper"]["grade"] == "ok"
    page = shared_daemon.cli("doctor", check=0, PATH=path).stdout
    assert page.startswith("whisk ")
    assert "\nhooks\n  ok      claude" in page


def test_without_a_daemon_it_says_how_to_start_one_and_touches_nothing(place: Whiskd) -> None:
    before = everything(place.home)
    found = findings(place)
    assert (found["daemon running"]["grade"], found["daemon running"]["mend"]) == ("broken", "whisk daemon start")
    assert found["state folder"]["grade"] == "off"
    assert everything(place.home) == before


def test_every_fault_is_named_with_what_mends_it(place: Whiskd, tmp_path: Path) -> None:
    state = place.state_dir
    state.mkdir(parents=True)
    state.chmod(0o755)
    (state / "control-token").write_text("x" * 40)
    (state / "control-token").chmod(0o644)
    (state / "whisk.sqlite").write_text("not a database at all")
    (place.home / ".config/whisk").mkdir(parents=True)
    (place.home / ".config/whisk/config.toml").write_text("[daemon]\nport = 1\n")
    (place.home / ".claude").mkdir()
    (place.home / ".claude/settings.json").write_text("{ // mine\n}")
    found = findings(place, WHISK_PTY_ID="pty_gone", WHISKD_URL="http://127.0.0.1:9")
    for name, said, mend in (
        ("state settings", "daemon.port", "edit "),
        ("state folder", "open to other users", "chmod 700 "),
        ("state token", "other users can read it", "chmod 600 "),
        ("state database", "no SQLite database", "move "),
        ("hooks claude", "line 1: a comment", "edit "),
    ):
        assert said in found[name]["detail"], found[name]
        assert found[name]["mend"].startswith(mend), found[name]
        assert found[name]["grade"] in ("broken", "look")


def test_hooks_that_do_nothing_are_found(shared_daemon: Whiskd, tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    for provider in ("claude", "codex"):
        shared_daemon.cli("hook", "install", provider, check=0, **env)
    (tmp_path / "codex/config.toml").write_text("")
    helper = shared_daemon.home / ".config/whisk/bin/whisk-hook-helper"
    good = helper.read_text()
    try:
        helper.write_text(good.replace("relay.py", "gone.py"))
        found = findings(shared_daemon, **env)
        assert found["hooks claude"]["grade"] == "broken"
        assert "stale" in found["hooks helper"]["detail"]
    finally:
        helper.write_text(good)
    found = findings(shared_daemon, **env)
    assert found["hooks claude"]["grade"] == "ok"
    assert "untrusted" in found["hooks codex"]["detail"]
    assert found["hooks codex"]["mend"] == "whisk hook install codex"


def test_project_settings_that_keep_hooks_from_running_are_found(
    shared_daemon: Whiskd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    (project / ".claude").mkdir()
    (project / ".claude/settings.local.json").write_text('{"disableAllHooks": true}')
    (project / ".codex").mkdir()
    (project / ".codex/config.toml").write_text("[features]\nhooks = false\n")
    (project / "src/.codex").mkdir()
    (project / "src/.codex/hooks.json").write_text("[")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text("beyond the repository")
    for provider in ("claude", "codex"):
        shared_daemon.cli("hook", "install", provider, check=0)
    monkeypatch.chdir(project / "src")
    lines = [
        (each["name"], each["grade"], each["detail"])
        for each in json.loads(shared_daemon.cli("doctor", "-json").stdout)["findings"]
        if str(tmp_path) in each["detail"] and each["section"] == "hooks"
    ]
    assert [line[:2] for line in lines] == [("claude", "broken"), ("codex", "broken"), ("codex", "look")]
    for line, said in zip(lines, ("disableAllHooks", "hooks = false", "cannot be read"), strict=True):
        assert said in line[2]


def test_a_persons_own_settings_are_no_projects(shared_daemon: Whiskd, monkeypatch: pytest.MonkeyPatch) -> None:
    shared_daemon.cli("hook", "install", "claude", check=0)
    monkeypatch.chdir(shared_daemon.home)
    page = json.loads(shared_daemon.cli("doctor", "-json").stdout)
    assert not any("hears twice" in each["detail"] for each in page["findings"])


def test_a_shell_with_an_outer_sessions_variables_is_told_so(shared_daemon: Whiskd) -> None:
    found = findings(shared_daemon, WHISK_PTY_ID="pty_gone")
    assert "which this daemon does not know" in found["shell environment"]["detail"]
    assert found["shell environment"]["mend"] == "unset WHISK_PTY_ID"
    leaked = findings(shared_daemon, WHISK_RUN_ID="run_1")["shell environment"]
    assert leaked["mend"] == "unset WHISK_RUN_ID"


def test_a_daemon_with_another_token_is_told_from_none(shared_daemon: Whiskd, place: Whiskd) -> None:
    found = findings(place, WHISKD_URL=shared_daemon.url)
    assert "does not take the control token" in found["daemon token"]["detail"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/ada/x", ("/home", "nfs4")),
        ("/homes/x", ("/", "ext4")),
        ("/home", ("/home", "nfs4")),
        ("/mnt/c/x", ("/mnt/c", "9p")),
        ("/over/x", ("/over", "tmpfs")),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(path: str, expected: tuple[str, str]) -> None:
    mounts = [("/", "ext4"), ("/home", "nfs4"), ("/mnt/c", "9p"), ("/over", "ext4"), ("/over", "tmpfs")]
    assert file_system_of(Path(path), mounts) == expected
    assert is_remote(expected[1]) is (expected[1] in ("nfs4", "9p"))


def test_nothing_is_known_without_mounts() -> None:
    assert file_system_of(Path("/x"), []) is None
    assert not is_remote("btrfs")
    assert is_remote("fuse.sshfs")
