"""What whisk adds to the agents of this machine. A plain object: its work is files, which threads do.

Several calls at once are put in order by a lock of the file system, since other daemons of this person count too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from structlog import get_logger

from whisk.actors.offload import offload
from whisk.actors.onboarding import Folders, Onboarding
from whisk.clock import Clock
from whisk.errors import WhiskError
from whisk.hooks.install.onboarding import OnboardingStatus
from whisk.hooks.install.plan import TARGETS
from whisk.hooks.install.standing import AgentHookIntegration
from whisk.profiles.skill import SkillCatalog, places_for
from whisk.storage.hook_setup import HookPlaces, HookSetup, find_folder
from whisk.storage.skill import scan
from whisk.storage.skill_setup import SkillSetup

_log = get_logger("whisk.setup")
# Projects whose skills are remembered.
_CATALOGS = 64


class Setup:
    """`env` is the daemon's own: it says whose agents are meant when a request does not."""

    def __init__(
        self, env: Mapping[str, str], places: HookPlaces, clock: Clock, hook_limit: Callable[[str], float]
    ) -> None:
        self._env = env
        self._clock = clock
        self._bundled = places.skills
        self._hooks = HookSetup(places, clock, hook_limit)
        skills = SkillSetup(places.skills, self._hooks, places.lock)
        self._onboarding = Onboarding(env, places, self._hooks, skills)
        self._catalogs: dict[str, SkillCatalog] = {}

    def start(self) -> None:
        """Mend a helper whose Python has moved. A daemon without it is better than none, so nothing is raised."""
        try:
            if offload(self._hooks.mend_helper):
                _log.info("the hook helper was written anew: what it started was gone")
        except WhiskError as error:
            _log.warning("the hook helper was not looked at", why=error.message)

    def integrations(self) -> list[AgentHookIntegration]:
        """Of every agent that whisk installs hooks for."""
        return [self.check(provider) for provider in TARGETS]

    def check(self, provider: str, config_dir: str = "") -> AgentHookIntegration:
        return offload(self._hooks.check, find_folder(provider, self._env, config_dir))

    def install(self, provider: str, config_dir: str = "", *, dry: bool = False) -> AgentHookIntegration:
        """See `HookSetup.install`."""
        return offload(self._hooks.install, find_folder(provider, self._env, config_dir), dry=dry)

    def remove(self, provider: str, config_dir: str = "", *, dry: bool = False) -> AgentHookIntegration:
        """See `HookSetup.remove`."""
        return offload(self._hooks.remove, find_folder(provider, self._env, config_dir), dry=dry)

    def onboarding(self, folders: Folders) -> OnboardingStatus:
        """`folders` names an agent's folder where it is not that of the daemon's environment."""
        return offload(self._onboarding.status, folders)

    def apply(self, ids: list[str], folders: Folders) -> OnboardingStatus:
        """See `Onboarding.apply`."""
        return offload(self._onboarding.apply, ids, folders)

    def skills(self, project_root: str = "", *, anew: bool = False) -> SkillCatalog:
        """The skills of this person, and of a project; what was found last unless it is looked for `anew`."""
        known = self._catalogs.get(project_root)
        if known is not None and not anew:
            return known
        homes = {name: str(find_folder(name, self._env).file.parent) for name in TARGETS}
        home = self._env.get("HOME") or os.path.expanduser("~")
        found = offload(scan, places_for(str(self._bundled), homes, home, project_root), self._clock)
        while len(self._catalogs) >= _CATALOGS:
            del self._catalogs[next(iter(self._catalogs))]
        self._catalogs[project_root] = found
        return found
