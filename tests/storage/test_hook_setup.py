"""Whisk's hooks in real settings files: install, check, remove, and everything that may be in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from whisk.cli import relay
from whisk.clock import ManualClock
from whisk.errors import ConflictError, InvalidError, RefusedError, WhiskError
from whisk.hooks.install import codex_trust
from whisk.hooks.install.hook_document import is_ours, placed
from whisk.hooks.install.plan import groups_for
from whisk.storage.hook_setup import AgentFolder, HookPlaces, HookSetup, find_folder

THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "/opt/guard", "timeout": 5}]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "my home"


@pytest.fixture
def places(home: Path) -> HookPlaces:
    return HookPlaces(home / ".config/whisk", sys.executable, relay.__file__, Path("/none"))


@pytest.fixture
def setup(places: HookPlaces) -> HookSetup:
    return HookSetup(places, ManualClock(), lambda provider: 600.0)


@pytest.fixture(params=["claude", "codex"])
def agent(request: pytest.FixtureRequest, home: Path) -> AgentFolder:
    return find_folder(request.param, {"HOME": str(home)})


@pytest.fixture
def claude(home: Path) -> AgentFolder:
    return find_folder("claude", {"HOME": str(home)})


@pytest.fixture
def codex(home: Path) -> AgentFolder:
    return find_folder("codex", {"HOME": str(home)})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def everything(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if "whisk-backup" not in each.name}


def test_installed_hooks_are_current_and_a_removal_leaves_nothing(setup: HookSetup, agent: AgentFolder) -> None:
    assert setup.check(agent).status == "missing"
    done = setup.install(agent)
    assert (done.status, done.state, done.changed, done.mend) == ("current", "installed", True, "")
    assert "+++" in done.diff
    assert not setup.install(agent).changed
    events = [each.event for each in placed(agent.file.read_text())]
    assert events == list(groups_for(agent.provider, "/h", 600.0))
    gone = setup.remove(agent)
    assert (gone.status, gone.changed) == ("missing", True)
    assert everything(agent.file.parent) == {}
    assert not setup.remove(agent).changed


def test_settings_that_were_there_come_back_byte_for_byte(setup: HookSetup, agent: AgentFolder) -> None:
    write(agent.file, json.dumps({"hooks": {"PreToolUse": [THEIRS], "Stop": []}}, indent=4))
    write(agent.trust_file, f'# mine\nmodel = "x"\n[hooks.state."{agent.file}:pre_tool_use:0:0"]\ntrusted_hash = "a"')
    before = everything(agent.file.parent)
    assert setup.install(agent).status == "current"
    setup.remove(agent)
    assert everything(agent.file.parent) == before


def test_a_dry_run_shows_and_changes_nothing(setup: HookSetup, agent: AgentFolder, home: Path) -> None:
    write(agent.file, '{"model": "x"}\n')
    before = everything(agent.file.parent)
    shown = setup.install(agent, dry=True)
    assert '+{"model": "x", "hooks": {' in shown.diff
    assert ("trusted_hash" in shown.diff) is (agent.provider == "codex")
    assert everything(agent.file.parent) == before
    assert not (home / ".config/whisk/bin").exists()
    setup.install(agent)
    assert '-{"model": "x", "hooks": {' in setup.remove(agent, dry=True).diff
    assert setup.check(agent).status == "current"


def test_the_command_runs_the_relay_and_is_silent_when_whisk_is_gone(
    setup: HookSetup, claude: AgentFolder, places: HookPlaces, tmp_path: Path
) -> None:
    """The home has a blank in its name, so the quoting counts too."""
    setup.install(claude)
    command = placed(claude.file.read_text())[0].handler["command"]

    def run(*arguments: str, payload: bytes = b"{}") -> subprocess.CompletedProcess[bytes]:
        env = {"HOME": str(tmp_path), "PATH": os.defpath}
        line = " ".join([command, *arguments])
        return subprocess.run(["/bin/sh", "-c", line], input=payload, env=env, capture_output=True, check=False)

    said = run("-h")
    assert (said.returncode, b"hook relay" in said.stdout) == (0, True)
    places.helper.write_text(places.helper.read_text().replace(sys.executable, "/gone/python"))
    assert setup.check(claude).status == "modified"
    for payload in (b"{}", b"x" * 500_000):
        done = run(payload=payload)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_helper_whose_python_is_gone_is_mended_and_no_other(
    setup: HookSetup, claude: AgentFolder, places: HookPlaces
) -> None:
    assert not setup.mend_helper()
    setup.install(claude)
    good = places.helper.read_text()
    assert not setup.mend_helper()
    places.helper.write_text(good.replace(sys.executable, "/gone/python"))
    assert setup.mend_helper()
    assert places.helper.read_text() == good
    places.helper.write_text("#!/bin/sh\necho mine\n")
    assert not setup.mend_helper()
    assert (setup.check(claude).status, setup.check(claude).detail) == (
        "modified",
        "the helper is not the one that whisk wrote",
    )


def test_what_somebody_changed_afterwards_is_seen(setup: HookSetup, agent: AgentFolder, places: HookPlaces) -> None:
    setup.install(agent)
    good = agent.file.read_text()
    for text, said in (
        (good.replace('"timeout": 600', '"timeout": 5'), "edited after whisk wrote them"),
        (json.dumps({"hooks": {"Stop": json.loads(good)["hooks"]["Stop"]}}), "no hook of whisk's at"),
        ("{}", "taken out by somebody else"),
    ):
        agent.file.write_text(text)
        found = setup.check(agent)
        assert (found.status, found.mend) == ("modified", f"whisk hook install {agent.provider}")
        assert said in found.detail
        assert setup.install(agent).status == "current"
    places.helper.unlink()
    assert "not there" in setup.check(agent).detail
    assert setup.install(agent).status == "current"


def test_another_hook_limit_makes_the_install_outdated(
    setup: HookSetup, agent: AgentFolder, places: HookPlaces
) -> None:
    setup.install(agent)
    other = HookSetup(places, ManualClock(), lambda provider: 3600.0)
    assert other.check(agent).status == "outdated"
    assert other.install(agent).status == "current"


def test_an_unknown_manifest_is_said_and_written_anew(setup: HookSetup, agent: AgentFolder, places: HookPlaces) -> None:
    setup.install(agent)
    places.manifest.write_text("{")
    assert (setup.check(agent).status, setup.check(agent).state) == ("unavailable", "error")
    assert setup.install(agent).status == "current"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  // mine\n  "model": "x"\n}', "line 2: a comment"),
        ('{"hooks": []}', "is no object"),
        ("\xff", "not JSON"),
    ],
)
def test_settings_that_cannot_be_read_are_left_alone_and_a_snippet_is_given(
    setup: HookSetup, agent: AgentFolder, text: str, said: str
) -> None:
    write(agent.file, text)
    before = everything(agent.file.parent)
    with pytest.raises(InvalidError, match=said) as caught:
        setup.install(agent)
    assert str(agent.file) in caught.value.message
    assert caught.value.message.endswith("; nothing was changed")
    snippet = json.loads(caught.value.details["snippet"])
    assert all(is_ours(group[0]["hooks"][0]) for group in snippet["hooks"].values())
    assert everything(agent.file.parent) == before
    assert setup.check(agent).status == "unavailable"


def test_a_config_toml_that_cannot_be_read_keeps_hooks_json_from_being_changed(
    setup: HookSetup, codex: AgentFolder
) -> None:
    write(codex.trust_file, "model = \n")
    with pytest.raises(InvalidError, match="not TOML"):
        setup.install(codex)
    assert not codex.file.exists()


def test_codex_cannot_read_a_byte_order_mark_so_it_is_refused(setup: HookSetup, codex: AgentFolder) -> None:
    write(codex.file, "\ufeff{}")
    with pytest.raises(InvalidError, match="byte order mark"):
        setup.install(codex)


def test_read_only_settings_are_refused_with_a_snippet(setup: HookSetup, agent: AgentFolder) -> None:
    write(agent.file, "{}")
    agent.file.chmod(0o444)
    with pytest.raises(RefusedError, match="is read-only") as caught:
        setup.install(agent)
    assert "snippet" in caught.value.details
    assert setup.check(agent).status == "missing"


def test_codex_hooks_that_are_not_trusted_or_switched_off_are_said_to_be_so(
    setup: HookSetup, codex: AgentFolder
) -> None:
    setup.install(codex)
    good = codex.trust_file.read_text()
    for text, said in (
        ("", "does not trust the hook at PreToolUse"),
        (good.replace("sha256:", "sha256:0", 1), "does not trust"),
        (good.replace("\n\n", "\nenabled = false\n\n", 1), "switched off"),
        (f"[features]\nhooks = false\n\n{good}", "all hooks are switched off"),
    ):
        codex.trust_file.write_text(text)
        found = setup.check(codex)
        assert found.status == "untrusted"
        assert said in found.detail
    codex.trust_file.write_text("")
    assert setup.install(codex).status == "current"


def test_claude_hooks_that_are_switched_off_are_said_to_be_so(setup: HookSetup, claude: AgentFolder) -> None:
    write(claude.file, '{"disableAllHooks": true}')
    assert setup.install(claude).status == "untrusted"


def test_codex_is_trusted_under_both_names_of_a_linked_folder(setup: HookSetup, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    agent = find_folder("codex", {"CODEX_HOME": str(tmp_path / "link")})
    setup.install(agent)
    keys = {key.rpartition("/")[0] for key in codex_trust.states(agent.trust_file.read_text())}
    assert keys == {str(tmp_path / "real"), str(tmp_path / "link")}
    setup.remove(agent)
    assert not agent.trust_file.exists()


def test_folders_come_from_the_environment_and_must_be_absolute(home: Path) -> None:
    env = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": ""}
    assert find_folder("claude", env).file == Path("/c/settings.json")
    assert find_folder("codex", env).file == Path("/h/.codex/hooks.json")
    assert find_folder("claude", env, "/x/../y").file == Path("/y/settings.json")
    with pytest.raises(InvalidError, match="absolute"):
        find_folder("claude", {"CLAUDE_CONFIG_DIR": "here"})
    with pytest.raises(InvalidError, match='unsupported agent hook provider "gemini"'):
        find_folder("gemini", env)


def test_two_config_folders_are_remembered_apart(setup: HookSetup, tmp_path: Path) -> None:
    first, second = (find_folder("claude", {"CLAUDE_CONFIG_DIR": str(tmp_path / name)}) for name in "ab")
    write(first.file, '{"hooks": {}}')
    setup.install(first)
    setup.install(second)
    setup.remove(second)
    assert setup.check(first).status == "current"
    setup.remove(first)
    assert (first.file.read_text(), second.file.exists()) == ('{"hooks": {}}', False)


def test_many_installs_and_another_programs_writes_lose_nothing(setup: HookSetup, agent: AgentFolder) -> None:
    write(agent.file, '{"count": 0}')
    lost: list[WhiskError] = []

    def install() -> None:
        for _ in range(6):
            try:
                setup.install(agent)
                setup.remove(agent)
            except ConflictError as error:
                lost.append(error)

    installers = [threading.Thread(target=install) for _ in range(3)]
    for each in installers:
        each.start()
    for each in installers:
        each.join()
    assert lost == []
    assert agent.file.read_text() == '{"count": 0}'
    assert setup.install(agent).status == "current"


def test_hooks_that_call_whisk_by_hand_are_mentioned(setup: HookSetup, claude: AgentFolder) -> None:
    write(claude.file, json.dumps({"hooks": {"Stop": [{"hooks": [{"command": '"$WHISK_CLI" agent-bridge hook'}]}]}}))
    assert "hears twice" in setup.install(claude).detail
