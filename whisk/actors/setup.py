"""What whisk adds to the agents of this machine. A plain object: its work is files, which threads do.

Several calls at once are put in order by a lock of the file system, since other daemons of this person count too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from structlog import get_logger

from whisk.actors.offload import offload
from whisk.clock import Clock
from whisk.errors import WhiskError
from whisk.hooks.install.plan import TARGETS
from whisk.hooks.install.standing import AgentHookIntegration
from whisk.storage.hook_setup import HookPlaces, HookSetup, find_folder

_log = get_logger("whisk.setup")


class Setup:
    """`env` is the daemon's own: it says whose agents are meant when a request does not."""

    def __init__(
        self, env: Mapping[str, str], places: HookPlaces, clock: Clock, hook_limit: Callable[[str], float]
    ) -> None:
        self._env = env
        self._hooks = HookSetup(places, clock, hook_limit)

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
