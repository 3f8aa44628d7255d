"""Whisk's hooks in the settings of the agents on this machine: put there, looked at, taken out. All of it blocks.

One whisk at a time changes them, over all daemons of this person (`hold`). An agent's main file comes first and Codex'
trust second, since the trust names positions in the file as it is saved.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from whisk.clock import Clock
from whisk.errors import InvalidError, WhiskError
from whisk.hooks.install import codex_trust, hook_document
from whisk.hooks.install.helper import helper_text, read_helper
from whisk.hooks.install.hook_document import Trace, placed
from whisk.hooks.install.manifest import INSTALLER_VERSION, Installed, Manifest
from whisk.hooks.install.plan import command_for, digest, find_target, groups_for, snippet_for
from whisk.hooks.install.standing import STATES, AgentHookIntegration, Sight, groups_digest, judge
from whisk.storage.settings_file import Change, check_writable, edit, hold, read_settings, write_own
from whisk.values import decode, encode_pretty

_BOM = "\ufeff"


@dataclass(frozen=True)
class HookPlaces:
    """`folder` is whisk's own, for the helper and the manifest. `python` runs `relay`, the hook relay's file; `skills`
    is the folder of those that come with whisk.
    """

    folder: Path
    python: str
    relay: str
    skills: Path

    @property
    def helper(self) -> Path:
        return self.folder / "bin" / hook_document.HELPER_NAME

    @property
    def manifest(self) -> Path:
        return self.folder / "agent-hooks" / "manifest.json"

    @property
    def lock(self) -> Path:
        return self.folder / "agent-hooks" / "lock"


@dataclass(frozen=True)
class AgentFolder:
    """Where an agent keeps its hooks; `sources` is how Codex may spell that path."""

    provider: str
    file: Path

    @property
    def trust_file(self) -> Path:
        return self.file.with_name("config.toml")

    @property
    def sources(self) -> tuple[str, ...]:
        """Codex takes the default folder as it is written and CODEX_HOME with its links followed, so both count."""
        if self.provider != "codex":
            return ()
        real = Path(os.path.realpath(self.file.parent)) / self.file.name
        return tuple(dict.fromkeys((str(self.file), str(real))))


def find_folder(provider: str, env: Mapping[str, str], config_dir: str = "") -> AgentFolder:
    """`config_dir`, else what `env` says. Raises `InvalidError` for an unknown agent or a relative path."""
    target = find_target(provider)
    chosen = config_dir or env.get(target.variable) or os.path.join(env.get("HOME") or "~", target.folder)
    folder = os.path.normpath(os.path.expanduser(chosen))
    if not os.path.isabs(folder) or "\0" in folder:
        raise InvalidError(f"the folder of {target.title} must be an absolute path, not {chosen!r}", path=chosen)
    return AgentFolder(provider, Path(folder) / target.file)


class HookSetup:
    """`limit(provider)` is how long a deciding hook may run, in seconds."""

    def __init__(self, places: HookPlaces, clock: Clock, limit: Callable[[str], float]) -> None:
        self._places = places
        self._clock = clock
        self._limit = limit

    def check(self, agent: AgentFolder) -> AgentHookIntegration:
        """How it stands. What cannot be read is a status and no error. Changes nothing."""
        wanted = self._wanted(agent)
        try:
            manifest = self.read_manifest()
            installed = manifest.find(str(agent.file))
            status, detail = judge(self._look(agent), wanted, installed)
        except WhiskError as error:
            installed, status, detail = None, "unavailable", error.message
        mends = status not in ("current", "unavailable")
        return AgentHookIntegration(
            provider=agent.provider,
            state=STATES[status],
            status=status,
            latest_version=INSTALLER_VERSION,
            installed_version=installed.version if installed is not None else "",
            helper_path=str(self._places.helper),
            config_path=str(agent.file),
            manifest_path=str(self._places.manifest),
            detail=detail,
            mend=f"whisk hook install {agent.provider}" if mends else "",
        )

    def install(self, agent: AgentFolder, *, dry: bool = False) -> AgentHookIntegration:
        """Put whisk's hooks in, or bring them up to date; with `dry` only say what would change.

        Raises a `WhiskError` whose `details.snippet` a person may merge by hand; the file is then as it was.
        """
        wanted = self._wanted(agent)
        try:
            with hold(self._places.lock):
                if dry:
                    return self._shown(agent, *self._planned(agent, install=True))
                return self._install(agent)
        except WhiskError as error:
            raise _with_snippet(error, agent, snippet_for(wanted)) from error

    def remove(self, agent: AgentFolder, *, dry: bool = False) -> AgentHookIntegration:
        """Take whisk's hooks out; what is not there is no error."""
        try:
            with hold(self._places.lock):
                if dry:
                    return self._shown(agent, *self._planned(agent, install=False))
                return self._remove(agent)
        except WhiskError as error:
            raise _with_snippet(error, agent, "") from error

    def mend_helper(self) -> bool:
        """Write the helper anew when it is whisk's and what it starts is gone, as after a move or an upgrade of Python.

        Returns whether it did. A helper that works is left alone, also one of another whisk.
        """
        text = self._read(self._places.helper)
        runs = read_helper(text) if text is not None else None
        if runs is None or _can_run(runs.python, runs.relay):
            return False
        return write_own(self._places.helper, self._helper_text(), 0o755)

    def read_manifest(self) -> Manifest:
        """Raises `InvalidError` for one that is broken."""
        text = self._read(self._places.manifest)
        try:
            return decode(text, Manifest) if text is not None else Manifest()
        except InvalidError as error:
            raise InvalidError(f"{self._places.manifest}: {error.message}") from error

    def write_manifest(self, manifest: Manifest) -> None:
        write_own(self._places.manifest, encode_pretty(manifest) + "\n")

    def _install(self, agent: AgentFolder) -> AgentHookIntegration:
        manifest = self._manifest_or_new()
        known = manifest.find(str(agent.file))
        wanted = self._wanted(agent)
        # Both must be fit to be changed before either is.
        self._planned(agent, install=True)
        write_own(self._places.helper, self._helper_text(), 0o755)
        traces: list[Trace] = []

        def put(text: str | None) -> str:
            after, trace = hook_document.install(text, wanted, known.trace if known is not None else None)
            traces.append(trace)
            return after

        main = edit(agent.file, put)
        trust = self._trust(agent, main)
        made = known.made_trust_file if known is not None else trust is not None and trust.before is None
        installed = Installed(
            provider=agent.provider,
            config_path=str(agent.file),
            command=command_for(agent.provider, str(self._places.helper)),
            groups_hash=groups_digest(wanted),
            events=tuple(wanted),
            version=INSTALLER_VERSION,
            installed_at=known.installed_at if known is not None else self._clock.now(),
            trace=traces[-1],
            made_trust_file=made,
        )
        fresh = manifest.with_hook(str(agent.file), installed)
        self.write_manifest(msgspec.structs.replace(fresh, helper_hash=digest(self._helper_text())))
        return self._shown(agent, main, trust)

    def _remove(self, agent: AgentFolder) -> AgentHookIntegration:
        manifest = self._manifest_or_new()
        known = manifest.find(str(agent.file))
        self._planned(agent, install=False)
        main = edit(agent.file, lambda text: hook_document.remove(text, known.trace if known is not None else None))
        trust = self._trust(agent, main, made=known is not None and known.made_trust_file)
        if known is not None:
            self.write_manifest(manifest.with_hook(str(agent.file), None))
        return self._shown(agent, main, trust)

    def _planned(self, agent: AgentFolder, *, install: bool) -> tuple[Change, Change | None]:
        """What would change, without changing it. Raises what would keep it from changing."""
        known = self._manifest_or_new().find(str(agent.file))
        trace = known.trace if known is not None else None
        found = read_settings(agent.file)
        if agent.provider == "codex" and (found.text or "").startswith(_BOM):
            raise InvalidError("it begins with a byte order mark, which Codex cannot read; save it without one")
        if install:
            after: str | None = hook_document.install(found.text, self._wanted(agent), trace)[0]
        else:
            after = hook_document.remove(found.text, trace)
        if after != found.text:
            check_writable(found)
        main = Change(found.text, after, None)
        if agent.provider != "codex":
            return main, None
        trust = read_settings(agent.trust_file)
        trusted = _trusted(agent, main, trust.text, made=known is not None and known.made_trust_file)
        if trusted != trust.text:
            check_writable(trust)
        return main, Change(trust.text, trusted, None)

    def _trust(self, agent: AgentFolder, main: Change, *, made: bool = False) -> Change | None:
        if agent.provider != "codex":
            return None
        try:
            return edit(agent.trust_file, lambda text: _trusted(agent, main, text, made=made))
        except WhiskError as error:
            said = f"{agent.file} was changed, but not Codex' trust in it: {error.message}; run it again"
            raise type(error)(said, **error.details, half=True) from error

    def _shown(self, agent: AgentFolder, main: Change, trust: Change | None) -> AgentHookIntegration:
        diff = _diff(agent.file, main) + (_diff(agent.trust_file, trust) if trust is not None else "")
        changed = main.changed or (trust is not None and trust.changed)
        backup = str(main.backup) if main.backup is not None else ""
        return msgspec.structs.replace(self.check(agent), diff=diff, changed=changed, backup_path=backup)

    def _look(self, agent: AgentFolder) -> Sight:
        helper = self._read(self._places.helper)
        runs = read_helper(helper) if helper is not None else None
        return Sight(
            provider=agent.provider,
            document=self._read(agent.file),
            trust=self._read(agent.trust_file) if agent.provider == "codex" else None,
            helper=helper,
            helper_runs=runs is not None and _can_run(runs.python, runs.relay),
            sources=agent.sources,
        )

    def _wanted(self, agent: AgentFolder) -> dict[str, hook_document.Group]:
        return groups_for(agent.provider, str(self._places.helper), self._limit(agent.provider))

    def _helper_text(self) -> str:
        return helper_text(self._places.python, self._places.relay)

    def _manifest_or_new(self) -> Manifest:
        try:
            return self.read_manifest()
        except InvalidError:
            # It is whisk's own and written anew; only the memory of empty brackets is lost with it.
            return Manifest()

    @staticmethod
    def _read(path: Path) -> str | None:
        return read_settings(path).text


def _trusted(agent: AgentFolder, main: Change, text: str | None, *, made: bool) -> str | None:
    """Codex' config.toml for its hooks as they are after `main`."""
    after = text
    for source in agent.sources:
        states = codex_trust.wanted_states(placed(main.before), placed(main.after), source, after)
        if states != codex_trust.states(after):
            after = codex_trust.write_states(after, states)
    blank = after is not None and not after.strip()
    return None if made and blank and not any(each.ours for each in placed(main.after)) else after


def _can_run(python: str, relay: str) -> bool:
    return os.access(python, os.X_OK) and os.access(relay, os.R_OK)


def _diff(path: Path, change: Change) -> str:
    if not change.changed:
        return ""
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    lines = difflib.unified_diff(before, after, str(path), str(path))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _with_snippet(error: WhiskError, agent: AgentFolder, snippet: str) -> WhiskError:
    """The refusal with the file's name and what a person can put there instead."""
    path = str(agent.file)
    named = any(name in error.message for name in (path, str(agent.trust_file), agent.trust_file.name))
    message = error.message if named else f"{path}: {error.message}"
    message += "" if error.details.get("half") else "; nothing was changed"
    details = {"path": path, **error.details, **({"snippet": snippet} if snippet else {})}
    return type(error)(message, **details)
