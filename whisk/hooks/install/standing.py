"""How the hooks of an agent stand: judged from the files' texts, without touching anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from whisk.hooks.install import codex_trust
from whisk.hooks.install.helper import HELPER_VERSION, read_helper
from whisk.hooks.install.hook_document import Group, Placed, check, install, placed
from whisk.hooks.install.json_text import parse, value_at
from whisk.hooks.install.manifest import INSTALLER_VERSION, Installed
from whisk.hooks.install.plan import digest, snippet_for
from whisk.values import Record

Status = Literal["missing", "current", "outdated", "modified", "untrusted", "unavailable"]
State = Literal["not_installed", "installed", "partial", "error"]
STATES: dict[Status, State] = {
    "missing": "not_installed",
    "current": "installed",
    "outdated": "partial",
    "modified": "partial",
    "untrusted": "partial",
    "unavailable": "error",
}


class AgentHookIntegration(Record, frozen=True):
    """`mend` is the command that puts it right; `diff` what an install would change or has changed.

    `changed` says whether an install or removal wrote anything, or a dry one would; `backup_path` is the file before.
    """

    provider: str
    state: State
    status: Status
    latest_version: str
    helper_path: str
    config_path: str
    manifest_path: str
    installed_version: str = ""
    detail: str = ""
    mend: str = ""
    diff: str = ""
    changed: bool = False
    backup_path: str = ""


class Sight(Record, frozen=True):
    """What was found of one agent: texts of its files (None: no such file) and of the helper."""

    provider: str
    document: str | None
    trust: str | None = None
    helper: str | None = None
    helper_runs: bool = False
    """Whether what the helper starts is there."""
    sources: tuple[str, ...] = ()
    """The paths under which Codex may know the document."""


def judge(sight: Sight, wanted: Mapping[str, Group], installed: Installed | None) -> tuple[Status, str]:
    """The status and why. Raises `InvalidError` for files that cannot be read as what they should be."""
    if sight.document is not None and sight.document.strip("\ufeff \t\r\n"):
        check(sight.document, wanted)
    hooks = placed(sight.document)
    own = [each for each in hooks if each.ours]
    if not own:
        if installed is None:
            return "missing", ""
        return "modified", "whisk's hooks were taken out by somebody else"
    if missing := [event for event in wanted if event not in {each.event for each in own}]:
        return "modified", f"no hook of whisk's at {', '.join(missing)}"
    if installed is not None and installed.version != INSTALLER_VERSION:
        return "outdated", f"installed by installer {installed.version}, this one is {INSTALLER_VERSION}"
    if install(sight.document, wanted)[0] != sight.document:
        if installed is not None and installed.groups_hash != groups_digest(wanted):
            return "outdated", "this whisk would write other hooks (another helper, or another hook limit)"
        return "modified", "the hooks were edited after whisk wrote them"
    if (why := _helper_fault(sight)) is not None:
        return "modified", why
    if (why := _switched_off(sight)) is not None:
        return "untrusted", why
    if sight.provider == "codex" and (why := _untrusted(sight, own)) is not None:
        return "untrusted", why
    return "current", "other hooks call whisk too, so it hears twice" if _by_hand(hooks) else ""


def groups_digest(groups: Mapping[str, Group]) -> str:
    return digest(snippet_for(dict(groups)))


def _helper_fault(sight: Sight) -> str | None:
    if sight.helper is None:
        return "the helper that the hooks start is not there"
    runs = read_helper(sight.helper)
    if runs is None:
        return "the helper is not the one that whisk wrote"
    if runs.version != HELPER_VERSION:
        return "the helper is that of another whisk"
    return None if sight.helper_runs else f"the helper starts {runs.relay}, which is gone; hooks do nothing"


def _switched_off(sight: Sight) -> str | None:
    if sight.provider == "codex":
        off = codex_trust.hooks_are_off(sight.trust)
        return "all hooks are switched off in config.toml ([features] hooks = false)" if off else None
    assert sight.document is not None
    node = parse(sight.document).child("disableAllHooks")
    off = node is not None and value_at(sight.document, node) is True
    return "all hooks are switched off in the settings (disableAllHooks)" if off else None


def _untrusted(sight: Sight, own: list[Placed]) -> str | None:
    states = codex_trust.states(sight.trust)
    for source in sight.sources:
        for hook in own:
            entry = states.get(codex_trust.key_of(hook, source), {})
            if entry.get("enabled") is False:
                return f"Codex' hook at {hook.event} is switched off in config.toml"
            if entry.get("trusted_hash") != codex_trust.hash_of(hook):
                return f"Codex does not trust the hook at {hook.event} and skips it without a word"
    return None


def _by_hand(hooks: list[Placed]) -> bool:
    return any(not each.ours and "agent-bridge hook" in str(each.handler.get("command")) for each in hooks)
