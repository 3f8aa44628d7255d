"""What whisk remembers of its installs: enough to see a later change, and to leave a file as it was before."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whisk.clock import Instant
from whisk.hooks.install.hook_document import Trace
from whisk.values import Record

SCHEMA = 1
INSTALLER_VERSION = "2.0.0"
"""Goes up when what is installed changes; an older install is then `outdated`."""


class Installed(Record, frozen=True):
    """One agent's settings file. `groups_hash` covers the groups that were put there, the command included."""

    provider: str
    config_path: str
    command: str
    groups_hash: str
    events: tuple[str, ...]
    version: str
    installed_at: Instant
    trace: Trace = Trace()
    made_trust_file: bool = False
    """Whether Codex' config.toml did not exist before."""


class InstalledSkill(Record, frozen=True):
    path: str
    hash: str


class Manifest(Record, frozen=True):
    schema_version: int = SCHEMA
    helper_hash: str = ""
    hooks: tuple[Installed, ...] = ()
    skills: tuple[InstalledSkill, ...] = ()

    def find(self, config_path: str) -> Installed | None:
        return next((each for each in self.hooks if each.config_path == config_path), None)

    def with_hook(self, config_path: str, installed: Installed | None) -> Manifest:
        """With this install for that file, or none."""
        others = [each for each in self.hooks if each.config_path != config_path]
        return msgspec.structs.replace(self, hooks=(*others, *_given(installed)))

    def skill_hash(self, path: str) -> str:
        return next((each.hash for each in self.skills if each.path == path), "")

    def with_skill(self, path: str, digest: str) -> Manifest:
        others = [each for each in self.skills if each.path != path]
        return msgspec.structs.replace(self, skills=(*others, InstalledSkill(path=path, hash=digest)))


def _given(installed: Installed | None) -> Iterable[Installed]:
    return () if installed is None else (installed,)
