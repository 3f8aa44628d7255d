"""What is put into which agent's settings, pinned: events, words, times, and the command."""

from __future__ import annotations

import shlex

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.hooks.install.helper import HELPER_VERSION, helper_text, read_helper
from whisk.hooks.install.hook_document import is_ours
from whisk.hooks.install.manifest import Installed, Manifest
from whisk.hooks.install.onboarding import check_ids, skill_status
from whisk.hooks.install.plan import DECIDING, TARGETS, command_for, find_target, groups_for
from whisk.hooks.provider import PROVIDERS

REFERENCE = {
    "claude": {
        "PreToolUse": "Whisk checking tool use",
        "PermissionRequest": "Whisk checking permission request",
        "Elicitation": "Whisk recording question",
        "PostToolUse": "Whisk recording tool result",
        "Notification": "Whisk recording notification",
        "ElicitationResult": "Whisk recording question result",
        "PostToolUseFailure": "Whisk recording tool failure",
        "Stop": "Whisk recording stop",
        "StopFailure": "Whisk recording stop failure",
        "SessionEnd": "Whisk recording session end",
        "PreCompact": "Whisk recording compaction",
        "PostCompact": "Whisk recording compaction",
    },
    "codex": {
        "PreToolUse": "Whisk checking tool use",
        "PermissionRequest": "Whisk checking permission request",
        "PostToolUse": "Whisk recording tool result",
        "SessionStart": "Whisk recording session start",
        "UserPromptSubmit": "Whisk recording prompt",
        "PreCompact": "Whisk recording compaction",
        "PostCompact": "Whisk recording compaction",
        "SubagentStart": "Whisk recording subagent start",
        "SubagentStop": "Whisk recording subagent stop",
        "Stop": "Whisk recording stop",
    },
}


@pytest.mark.parametrize("provider", TARGETS)
def test_every_event_is_one_that_the_agent_knows_and_says_what_it_does(provider: str) -> None:
    groups = groups_for(provider, "/h/whisk-hook-helper", 600.0)
    assert set(groups) <= set(PROVIDERS[provider].events)
    said = {event: group["hooks"][0]["statusMessage"] for event, group in groups.items()}
    assert REFERENCE[provider].items() <= said.items()
    assert {event for event, group in groups.items() if "matcher" in group} == (
        {"Notification"} if provider == "claude" else set()
    )
    assert all(is_ours(group["hooks"][0]) for group in groups.values())


@pytest.mark.parametrize("provider", TARGETS)
def test_a_hook_that_waits_has_the_limit_that_whisk_believes_and_the_others_a_short_one(provider: str) -> None:
    times = {e: g["hooks"][0]["timeout"] for e, g in groups_for(provider, "/h", 3600.5).items()}
    assert {times[event] for event in times if event in DECIDING} == {3600}
    assert times["Stop"] == 15
    assert times["SessionEnd"] == (10 if provider == "claude" else 3)
    assert times.get("Interrupt", 3) == 3


@pytest.mark.parametrize(
    "helper", ["/h/x-1.2_:y/whisk-hook-helper", "/my home/it's/whisk-hook-helper", "/é/whisk-hook-helper"]
)
def test_the_command_is_quoted_where_a_shell_needs_it(helper: str) -> None:
    command = command_for("codex", helper)
    assert shlex.split(command) == [helper, "agent-bridge", "hook", "-provider", "codex"]
    assert command.startswith("'") is (helper != "/h/x-1.2_:y/whisk-hook-helper")


def test_an_agent_without_an_installer_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(
        InvalidError, match='unsupported agent hook provider "vim"; whisk installs hooks for claude, codex'
    ):
        find_target("vim")


def test_a_helper_can_be_read_back() -> None:
    text = helper_text("/my venv/bin/python", "/it's/relay.py")
    assert read_helper(text) == (HELPER_VERSION, "/my venv/bin/python", "/it's/relay.py")
    for other in ("", "#!/bin/sh\n", text.replace("# whisk hook helper 1", ""), text.replace("exec ", "exec 'x ")):
        assert read_helper(other) is None


def test_a_manifest_holds_one_install_for_each_file() -> None:
    def made(path: str, version: str) -> Installed:
        return Installed(
            provider="claude",
            config_path=path,
            command="c",
            groups_hash="h",
            events=(),
            version=version,
            installed_at=Instant(0),
        )

    manifest = (
        Manifest().with_hook("/b", made("/b", "0")).with_hook("/a", made("/a", "1")).with_hook("/a", made("/a", "2"))
    )
    assert [each.version for each in manifest.hooks] == ["0", "2"]
    assert manifest.with_hook("/a", None).find("/a") is None
    assert manifest.with_skill("/s", "1").with_skill("/s", "2").skill_hash("/s") == "2"


def test_a_skill_is_judged_by_what_whisk_wrote_last() -> None:
    assert skill_status(None, "new", "", ("", "n")) == "missing"
    assert skill_status("new", "new", "", ("n", "n")) == "current"
    assert skill_status("old", "new", "o", ("o", "n")) == "outdated"
    assert skill_status("mine", "new", "o", ("m", "n")) == "modified"
    assert skill_status("mine", "new", "", ("m", "n")) == "modified"


def test_asked_items_are_known_and_taken_once() -> None:
    assert check_ids(["b", "a", "b"], ["a", "b"]) == ["b", "a"]
    with pytest.raises(InvalidError, match='no onboarding item "c"; there are a, b'):
        check_ids(["c"], ["a", "b"])
