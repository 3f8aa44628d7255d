"""The agents on this machine: which are there, whether their hooks work, and what stands in the way."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from whisk.daemon.survey.finding import Finding, Grade
from whisk.errors import WhiskError
from whisk.hooks.install import codex_trust
from whisk.hooks.install.helper import read_helper
from whisk.hooks.install.hook_document import placed
from whisk.hooks.install.json_text import parse, value_at
from whisk.hooks.install.plan import TARGETS
from whisk.hooks.install.standing import AgentHookIntegration
from whisk.profiles.detect import Which, detect
from whisk.profiles.profile import DetectedAgent, Profile
from whisk.storage.hook_setup import AgentFolder, HookPlaces, HookSetup, find_folder
from whisk.storage.settings_file import read_settings

_VERSION_SECONDS = 8.0
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
_GRADES: Mapping[str, Grade] = {
    "current": "ok",
    "missing": "off",
    "outdated": "look",
    "modified": "broken",
    "untrusted": "broken",
    "unavailable": "broken",
}
_MANAGED = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)


def look_at_agents(profiles: tuple[Profile, ...], which: Which, env: Mapping[str, str]) -> Iterator[Finding]:
    """Each program once, with the version it says. A program that says none within some seconds is only named."""
    found = {each.detect_command: each for each in detect(profiles, which) if each.provider != "shell"}
    if not found:
        yield Finding(section="agents", name="programs", grade="look", detail="no coding agent on the PATH")
    with ThreadPoolExecutor(max_workers=max(len(found), 1)) as pool:
        for agent, version in zip(
            found.values(), pool.map(lambda each: _version(each, env), found.values()), strict=True
        ):
            said = f"{version or 'says no version'}, {agent.path}"
            yield Finding(section="agents", name=agent.detect_command, grade="ok", detail=said)


def look_at_hooks(
    setup: HookSetup, places: HookPlaces, env: Mapping[str, str], folder: Path, which: Which
) -> Iterator[Finding]:
    """`folder` is where the person stands: a project there may have settings of its own."""
    installed = False
    for provider, target in TARGETS.items():
        try:
            agent = find_folder(provider, env)
        except WhiskError as error:
            yield _hook(provider, "broken", error.message, f"mend ${target.variable}")
            continue
        state = setup.check(agent)
        installed = installed or state.status != "missing"
        grade = _GRADES[state.status]
        if state.status == "missing" and which(target.program) is None and not agent.file.parent.exists():
            yield _hook(provider, "off", f"none, and no {target.title} here")
            continue
        yield _hook(provider, grade, _said(state), _mend(state))
        yield from _claude_shadows(agent, folder) if provider == "claude" else _codex_shadows(agent, folder)
    yield _helper(places, installed)


def _said(state: AgentHookIntegration) -> str:
    return f"{state.status}, {state.config_path}" + (f": {state.detail}" if state.detail else "")


def _mend(state: AgentHookIntegration) -> str:
    return state.mend or (f"edit {state.config_path}" if state.status == "unavailable" else "")


def _claude_shadows(agent: AgentFolder, folder: Path) -> Iterator[Finding]:
    """Settings of the project or the machine that keep the person's hooks from running, or run them twice."""
    local = _project_files(folder, ".claude/settings.json", ".claude/settings.local.json")
    for file in _others((*local, *_MANAGED), agent.file):
        try:
            text = read_settings(file).text or ""
            root = parse(text)
        except WhiskError as error:
            yield _hook("claude", "look", f"{file} cannot be read: {error.message}", f"edit {file}")
            continue
        for key in ("disableAllHooks", "allowManagedHooksOnly"):
            node = root.child(key) if root.kind == "object" else None
            if node is not None and value_at(text, node) is True:
                yield _hook("claude", "broken", f"{file} keeps hooks from running ({key})", f"edit {file}")
        if any(each.ours for each in placed(text)):
            yield _hook("claude", "look", f"{file} has whisk's hooks as well, so whisk hears twice", f"edit {file}")


def _codex_shadows(agent: AgentFolder, folder: Path) -> Iterator[Finding]:
    """The same of Codex, which reads a project's files only where it trusts the project."""
    for file in _others(_project_files(folder, ".codex/config.toml"), agent.trust_file):
        try:
            off = codex_trust.hooks_are_off(read_settings(file).text)
        except WhiskError as error:
            yield _hook("codex", "look", f"{file} cannot be read: {error.message}", f"edit {file}")
            continue
        if off:
            yield _hook("codex", "broken", f"{file} keeps hooks from running (hooks = false)", f"edit {file}")
    for file in _others(_project_files(folder, ".codex/hooks.json"), agent.file):
        try:
            twice = any(each.ours for each in placed(read_settings(file).text))
        except WhiskError as error:
            yield _hook("codex", "look", f"{file} cannot be read: {error.message}", f"edit {file}")
            continue
        if twice:
            yield _hook("codex", "look", f"{file} has whisk's hooks as well, so whisk hears twice", f"edit {file}")


def _project_files(folder: Path, *names: str) -> Iterator[Path]:
    """From where the person stands up to the top of the repository."""
    for place in (folder, *folder.parents):
        yield from (place / name for name in names)
        if (place / ".git").exists():
            return


def _others(files: Iterable[Path], own: Path) -> Iterator[Path]:
    """Those that are there, without the person's own: who stands in their home sees that as a project's."""
    return (file for file in files if file.is_file() and not (own.exists() and file.samefile(own)))


def _helper(places: HookPlaces, installed: bool) -> Finding:
    mend = "whisk hook install <agent>"
    try:
        text = read_settings(places.helper).text
    except WhiskError as error:
        return _hook("helper", "broken", error.message, mend)
    if text is None:
        return _hook(
            "helper",
            "broken" if installed else "off",
            "not there" if installed else "not needed yet",
            mend if installed else "",
        )
    runs = read_helper(text)
    if runs is None:
        return _hook("helper", "broken", f"{places.helper} is not the one that whisk wrote", mend)
    if not Path(runs.python).exists() or not Path(runs.relay).exists():
        return _hook(
            "helper",
            "broken",
            f"stale: it starts {runs.relay}, which is gone, so hooks do nothing",
            "whisk daemon start",
        )
    if runs.relay != places.relay:
        return _hook("helper", "look", f"it starts another whisk's relay, {runs.relay}", mend)
    return _hook("helper", "ok", str(places.helper))


def _version(agent: DetectedAgent, env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [agent.path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_SECONDS,
            env=dict(env),
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return found[0] if found else ""


def _hook(name: str, grade: Grade, detail: str, mend: str = "") -> Finding:
    return Finding(section="hooks", name=name, grade=grade, detail=detail, mend=mend)
