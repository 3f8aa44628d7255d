"""Writing to the hook log without making anybody wait, and keeping it within its bounds."""

from __future__ import annotations

from typing import Any

import structlog

from whisk.actors.bridge import BridgeServices
from whisk.actors.future import Future
from whisk.events import EventType
from whisk.hooks.entry import AgentBridgeEvent, bare
from whisk.hooks.turn import TELLING
from whisk.storage import bridge as bridge_storage
from whisk.storage import hook_event as hook_storage
from whisk.storage.hook_event import HookLogSettings
from whisk.storage.journal import Write

PRUNE_EVERY = 500
_CLEAR_SECONDS = 2.0
_log = structlog.get_logger("whisk.bridges")


class HookLog:
    """A plain object of the actor that owns it; nothing here blocks."""

    def __init__(self, services: BridgeServices) -> None:
        self._services = services
        self._entries = 0
        self.settings = HookLogSettings()

    def add(self, entry: AgentBridgeEvent) -> Future[AgentBridgeEvent]:
        """The future is for whoever wants to know that it is on disk."""
        if not self.settings.enabled:
            entry = bare(entry)
        self._entries += 1
        if self._entries % PRUNE_EVERY == 0:
            self.write(hook_storage.prune)
            self.write(bridge_storage.prune_requests)
        written = self.write(lambda db: hook_storage.insert(db, entry), "agent_hook_events.changed", entry.id)
        if entry.pty_id and entry.event_name in TELLING:
            written.then(lambda done: self._services.hooked(entry.pty_id) if done.error() is None else None)
        return written

    def load(self) -> None:
        """Read the settings that were chosen; blocks for a short read."""
        self.settings = self._services.store.read(hook_storage.load_settings)

    def choose(self, settings: HookLogSettings) -> Future[HookLogSettings]:
        """They hold from when they are on disk."""
        future: Future[HookLogSettings] = self.write(lambda db: hook_storage.save_settings(db, settings))

        def written(done: Future[HookLogSettings]) -> None:
            if done.error() is None:
                self.settings = settings

        future.then(written)
        return future

    def end(self) -> None:
        """The daemon stops: empty the log where that was chosen. Waits for the journal, which stops later."""
        if self.settings.clear_after_session:
            self.write(hook_storage.clear).get(timeout=_CLEAR_SECONDS)

    def write(self, change: Write[Any], event: EventType | None = None, id: str = "") -> Future[Any]:
        """Write without waiting, and announce `event` when it is on disk.

        A failure is logged, and goes to whoever waits for the future.
        """

        def written(done: Future[Any]) -> None:
            if (error := done.error()) is not None:
                _log.warning("a change of bridges was not written", error=str(error))
            elif event is not None:
                self._services.announce(event, id)

        future = self._services.journal.write.options(timeout=None).remote(change)
        future.then(written)
        return future
