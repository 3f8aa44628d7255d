"""Whisk's own skill in the folders of agents: how it stands, and putting it there. All of it blocks."""

from __future__ import annotations

from pathlib import Path

from whisk.hooks.install.onboarding import skill_status
from whisk.hooks.install.plan import digest
from whisk.hooks.install.standing import Status
from whisk.storage.hook_setup import AgentFolder, HookSetup
from whisk.storage.settings_file import edit, hold, read_settings


class SkillSetup:
    """`bundled` is the folder of skills that come with whisk."""

    def __init__(self, bundled: Path, hooks: HookSetup, lock: Path) -> None:
        self._shipped = (bundled / "whisk" / "SKILL.md").read_text("utf-8")
        self._hooks = hooks
        self._lock = lock

    @property
    def hash(self) -> str:
        """Of what comes with this whisk."""
        return digest(self._shipped)

    def path_of(self, agent: AgentFolder) -> Path:
        return agent.file.parent / "skills" / "whisk" / "SKILL.md"

    def check(self, agent: AgentFolder) -> tuple[Status, str]:
        """The status, and the hash of what is there; empty when there is none. Raises what reading raises."""
        path = self.path_of(agent)
        text = read_settings(path).text
        there = digest(text) if text is not None else ""
        remembered = self._hooks.read_manifest().skill_hash(str(path))
        return skill_status(text, self._shipped, remembered, (there, self.hash)), there

    def install(self, agent: AgentFolder) -> bool:
        """Write it; a text that somebody changed is kept as a backup. Returns whether it was different."""
        path = self.path_of(agent)
        with hold(self._lock):
            change = edit(path, lambda text: self._shipped)
            self._hooks.write_manifest(self._hooks.read_manifest().with_skill(str(path), self.hash))
        return change.changed
