"""Matters: whoever wants to hear of them is woken when there are new ones, and what is old is forgotten.

News comes from the announcements, which follow every change that makes a matter; how many matters there are is then
read from the database, so it does not count which announcement it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whisk.actors.actor import Actor
from whisk.actors.events import Batch, EventsHandle
from whisk.actors.future import Future, get
from whisk.actors.handle import Handle, Method
from whisk.actors.webhook import WebhookActor, WebhookHandle, WebhookServices
from whisk.errors import BusyError
from whisk.events import EventType
from whisk.matters.audit import AuditEntry, Surface
from whisk.matters.webhook import CreateWebhook, WebhookState, new_webhook
from whisk.storage import audit as audit_storage
from whisk.storage import matter as matter_storage
from whisk.storage import webhook as storage

# What is announced after a change that may have made a matter.
_TELLING: tuple[EventType, ...] = (
    "workitems.changed",
    "status.changed",
    "mailbox.changed",
    "agent_prompts.changed",
    "agent_bridge_approvals.changed",
)
# Announcements come in swarms; one look serves a whole swarm.
_LOOK_AFTER = 0.02
_DAY = 86_400.0


class MattersActor(Actor):
    """Named `matters`; webhooks are its children. `listeners()` are told `wake` of everything new, beside them."""

    def __init__(
        self,
        services: WebhookServices,
        events: EventsHandle,
        *,
        keep_days: int = 0,
        listeners: Callable[[], Sequence[Handle]] = tuple,
    ) -> None:
        super().__init__()
        self._services = services
        self._events = events
        self._keep_days = keep_days
        self._listeners = listeners
        self._following: Future[Batch] | None = None
        self._last = 0

    def on_start(self) -> None:
        webhooks, self._last = self._services.store.read(
            lambda db: (storage.WEBHOOKS.select(db), matter_storage.last(db))
        )
        for webhook in webhooks:
            self._open(webhook.id)
        self._follow_for_somebody()
        self._forget()

    def on_stop(self) -> None:
        if self._following is not None:
            self._following.cancel()

    def describe(self) -> dict[str, Any]:
        return {"last": self._last, "webhooks": len(self._webhooks())}

    # -- webhooks ----------------------------------------------------------------------------------------------------

    def add(self, draft: CreateWebhook) -> tuple[WebhookState, str]:
        """A new webhook, told of what happens from now on; and its secret. Raises `InvalidError`."""
        cursor = self._services.store.read(matter_storage.last)
        webhook = new_webhook(draft, cursor, self.clock.now())
        get(self._services.journal.write.remote(lambda db: storage.add(db, webhook, draft.surface)))
        handle = self._open(webhook.id)
        self._follow_for_somebody()
        return get(handle.show.remote()), webhook.secret

    def remove(self, webhook_id: str, who: str, surface: Surface) -> WebhookState:
        """Raises `NotFoundError`. A request that is under way is cut off."""
        handle = self.find(webhook_id)
        last = get(handle.show.remote())
        now = self.clock.now()

        def write(db: Any) -> None:
            storage.remove(db, storage.WEBHOOKS.get(db, webhook_id), who, surface, now)

        get(self._services.journal.write.remote(write))
        self.system.stop(handle.name)
        return last

    def find(self, webhook_id: str) -> WebhookHandle:
        """Raises `NotFoundError`."""
        self._services.store.read(lambda db: storage.WEBHOOKS.get(db, webhook_id))
        return self._open(webhook_id)

    def _webhooks(self) -> list[str]:
        return [name for name in self.system.names() if name.startswith("webhook:")]

    def _open(self, webhook_id: str) -> WebhookHandle:
        return self.system.spawn(
            WebhookActor,
            webhook_id,
            self._services,
            name=f"webhook:{webhook_id}",
            parent=self.name,
            restart="permanent",
            get_if_exists=True,
            handle=WebhookHandle,
        )

    # -- news --------------------------------------------------------------------------------------------------------

    def _follow_for_somebody(self) -> None:
        """Nobody who wants to hear of matters: then announcements are nobody's business here."""
        if self._following is None and (self._webhooks() or self._listeners()):
            self._position = get(self._events.last.remote())
            self._follow()
            self._look_soon()

    def _follow(self) -> None:
        self._following = self._events.follow.options(timeout=None).remote(self._position, 1000)
        self.pipe(self._following, self._announced)

    def _announced(self, done: Future[Batch]) -> None:
        if done.error() is not None:
            # The ring was restarted; what was announced meanwhile is found by looking.
            self.timers.start("follow", 1.0, self._follow)
            self._look_soon()
            return
        batch: Batch = done.get(timeout=0)
        self._position = batch.next
        if batch.missed or any(event.type in _TELLING for event in batch.events):
            self._look_soon()
        self._follow()

    def _look_soon(self) -> None:
        if "look" not in self.timers:
            self.timers.start("look", _LOOK_AFTER, self._look)

    def _look(self) -> None:
        last = self._services.store.read(matter_storage.last)
        if last <= self._last:
            return
        self._last = last
        handles = [WebhookHandle(name, self.system.node, self.system) for name in self._webhooks()]
        for handle in (*handles, *self._listeners()):
            try:
                handle.wake.tell()
            except BusyError:
                # It has been told already, so often that it will look anyway.
                continue

    # -- what is old -------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Once a day, delete what the audit need not keep; that this was done stays in it."""
        self.timers.start("forget", _DAY, self._forget)
        if not self._keep_days:
            return
        now = self.clock.now()
        before = now.plus(-self._keep_days * _DAY)

        def write(db: Any) -> None:
            if count := audit_storage.prune(db, before):
                about = f"{count} entries older than {self._keep_days} days"
                entry = AuditEntry(
                    at=now, who="whiskd", surface="whiskd", action="forget", noun="audit", id="audit",
                    outcome="deleted", about=about,
                )  # fmt: skip
                audit_storage.record(db, entry)

        self._services.journal.write.tell(write)


class MattersHandle(Handle):
    add: Method[[CreateWebhook], tuple[WebhookState, str]]
    remove: Method[[str, str, Surface], WebhookState]
    find: Method[[str], WebhookHandle]
