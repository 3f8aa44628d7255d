"""A journal and a keeper of bridges over a real database, and hooks that call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event

from tests.captured import raw
from whisk.actors.bridge import BridgeHandle, BridgeServices
from whisk.actors.bridges import BridgesActor, BridgesHandle
from whisk.actors.future import Future, get
from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.system import ActorSystem
from whisk.bridges.bridge import BridgeCredentials, BridgeOwner
from whisk.bridges.hook import HookCall, HookOutcome
from whisk.bridges.request import BridgeRequest, State
from whisk.bridges.setting import PromptSettings
from whisk.hooks.entry import HookContext
from whisk.hooks.payload import read_payload
from whisk.hooks.provider import find_provider
from whisk.storage import bridge as bridge_storage
from whisk.storage.database import Store

DEADLINE = 10.0


class House:
    """A journal and a keeper of bridges over one database, and hooks that call it."""

    def __init__(self, system: ActorSystem, path: Path, settings: PromptSettings, group: int = 500) -> None:
        self.system = system
        self.announced: list[tuple[str, str]] = []
        self._changed = Event()
        self.store = Store.open(path)
        self.journal = system.spawn(JournalActor, self.store, group, name="journal", handle=JournalHandle)
        services = BridgeServices(self.store, self.journal, settings, self._announce)
        self.bridges = system.spawn(BridgesActor, services, name="bridges", handle=BridgesHandle)
        self._relays = 0

    def _announce(self, kind: str, id: str) -> None:
        self.announced.append((kind, id))
        self._changed.set()

    def register(self, provider: str = "claude", pty: str = "pty_1") -> BridgeCredentials:
        owner = BridgeOwner(provider=provider, session_id="sess_1", pty_id=pty, run_id="run_1", project_id="proj_1")
        return get(self.bridges.register.remote(owner))

    def call(
        self, bridge: BridgeCredentials, name: str, relay: str = "", again: bool = False, **changes: object
    ) -> HookOutcome:
        """What a hook with this payload gets."""
        self._relays += 1
        event = find_provider(bridge.provider).read(read_payload(raw(bridge.provider, name, **changes)), "")
        made = HookCall(
            bridge_id=bridge.id,
            token=bridge.token,
            relay_id=relay or f"relay_{self._relays}",
            event=event,
            context=HookContext(bridge_id=bridge.id),
            again=again,
        )
        return get(self.bridges.hook.remote(made))

    def actor(self, outcome: HookOutcome) -> BridgeHandle:
        assert outcome.request_id, outcome
        return self.system.get(f"bridge:{outcome.request_id}", handle=BridgeHandle)

    def wait_for(self, outcome: HookOutcome, hook: str = "hook") -> Future[str]:
        """What the waiting hook will print."""
        return self.actor(outcome).attach.options(timeout=None).remote(hook)

    def stored(self, outcome: HookOutcome) -> BridgeRequest:
        return self.store.read(lambda db: bridge_storage.REQUESTS.get(db, outcome.request_id))

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait for announcements until `holds()` is true."""
        with gevent.Timeout(DEADLINE):
            while True:
                # Before the look: it reads from disk, and what is announced meanwhile must not be forgotten.
                self._changed.clear()
                if found := holds():
                    return found
                self._changed.wait()

    def until_state(self, outcome: HookOutcome, state: State) -> BridgeRequest:
        return self.until(lambda: self.stored(outcome) if self.stored(outcome).state == state else None)  # type: ignore[no-any-return]

    def close(self) -> None:
        for name in ("bridges", "journal"):
            if self.system.find(name) is not None:
                get(self.system.stop(name), timeout=DEADLINE)
        self.store.close()


Build = Callable[..., House]
