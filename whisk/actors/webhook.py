"""A webhook at work: tells its receiver of one matter after the other, in their order, until it says that it has it.

What is delivered is written down before the next is sent. A daemon that dies in between sends that one again, with the
same delivery id: at least once, never out of order, never lost while fewer than the kept number of matters lie behind.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from gevent.event import Event
from gevent.lock import Semaphore
from peewee import Database

from whisk.actors.actor import Actor, control
from whisk.actors.future import Future, get
from whisk.actors.handle import Handle, Method
from whisk.actors.journal import JournalHandle
from whisk.actors.webhook_post import Poster
from whisk.errors import NotFoundError, WhiskError
from whisk.ids import secret_token
from whisk.matters.audit import Surface
from whisk.matters.matter import Matter, Numbered
from whisk.matters.setting import WebhookSettings
from whisk.matters.webhook import (
    Attempt,
    DeadLetter,
    Webhook,
    WebhookState,
    delivery_id,
    is_insecure,
    pause_before,
    signature,
    wants,
)
from whisk.storage import matter as matter_storage
from whisk.storage import webhook as storage
from whisk.storage.database import Store
from whisk.values import Record, encode

_BATCH = 50
# After a failure that is not the receiver's: the disk, or the daemon's own stop.
_BREATH = 1.0


@dataclass(frozen=True)
class WebhookServices:
    """`link(noun, id)` is the address at which a person opens a thing."""

    store: Store
    journal: JournalHandle
    poster: Poster
    settings: WebhookSettings
    link: Callable[[str, str], str] = field(default=lambda noun, id: "")
    chance: random.Random = field(default_factory=random.Random)

    def tell(self, numbered: Numbered) -> Matter | None:
        """Blocks the calling greenlet only."""
        told = self.store.read(lambda db: matter_storage.tell(db, numbered))
        return None if told is None else msgspec.structs.replace(told, link=self.link(told.noun, told.id))


class Missed(Record, frozen=True, tag_field="type", tag="missed"):
    """What a receiver is told in place of matters that were gone before it could be told of them."""

    missed: int


class Test(Record, frozen=True, tag_field="type", tag="test"):
    """What a receiver is sent to try it."""

    message: str = "whisk can reach you"


class WebhookActor(Actor):
    """Named `webhook:<id>`. The webhook must be in storage before the actor starts."""

    def __init__(self, webhook_id: str, services: WebhookServices) -> None:
        super().__init__()
        self._id = webhook_id
        self._services = services
        self._news = Event()
        self._changed = Event()
        self._writing = Semaphore()
        self._attempts = 0
        self._error = ""

    def on_start(self) -> None:
        self._webhook = self._services.store.read(lambda db: storage.WEBHOOKS.get(db, self._id))
        self._news.set()
        self.spawn_greenlet(self._work)

    def describe(self) -> dict[str, Any]:
        webhook = self._webhook
        return {"url": webhook.url, "paused": webhook.paused, "cursor": webhook.cursor, "attempts": self._attempts}

    @control
    def wake(self) -> None:
        """There are new matters."""
        self._news.set()

    def show(self) -> WebhookState:
        webhook = self._webhook
        last, letters = self._services.store.read(
            lambda db: (matter_storage.last(db), storage.count_letters(db, self._id))
        )
        return WebhookState(
            id=webhook.id,
            url=webhook.url,
            types=webhook.types,
            paused=webhook.paused,
            created_at=webhook.created_at,
            behind=max(0, last - webhook.cursor),
            delivered=webhook.delivered,
            dead_letters=letters,
            missed=webhook.missed,
            project_id=webhook.project_id,
            created_by=webhook.created_by,
            last_delivered_at=webhook.last_delivered_at,
            attempts=self._attempts,
            last_error=self._error,
            insecure=is_insecure(webhook.url),
        )

    def pause(self, paused: bool, who: str, surface: Surface) -> WebhookState:
        """Stop telling, or go on where it was. Pausing twice is fine."""
        if self._webhook.paused != paused:
            self._keep(lambda webhook: {"paused": paused}, "pause" if paused else "resume", who, surface)
            self._attempts, self._error = 0, ""
            self._changed.set()
            self._news.set()
        return self.show()

    def rotate(self, who: str, surface: Surface) -> str:
        """A new secret, which signs from now on; returns it."""
        secret = secret_token()
        self._keep(lambda webhook: {"secret": secret}, "rotate", who, surface)
        return secret

    def test(self) -> Future[Attempt]:
        """Send one request that is no matter, whether paused or not."""
        reply: Future[Attempt] = Future()
        self.spawn_greenlet(self._try, f"{self._id}.test", Test(), reply)
        return reply

    def redeliver(self, letter: DeadLetter, who: str, surface: Surface) -> Future[Attempt]:
        """Send a dead letter once more, out of turn. It stays when that fails. Raises `NotFoundError` when what it is
        about is gone."""
        told = self._services.tell(Numbered(seq=letter.seq, type=letter.type, id=letter.thing))
        if told is None:
            raise NotFoundError(f"{letter.thing} is gone, and with it what could be told of it", id=letter.thing)
        reply: Future[Attempt] = Future()
        self.spawn_greenlet(self._redeliver, letter, told, who, surface, reply)
        return reply

    # -- telling ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            try:
                while not self._webhook.paused and self._tell_some():
                    pass
            except WhiskError as error:
                self.log.warning("a webhook waits", why=error.message)
                self._changed.wait(_BREATH)
                self._news.set()

    def _tell_some(self) -> bool:
        """Whether there was anything to tell."""
        cursor = self._webhook.cursor
        first, found = self._services.store.read(
            lambda db: (matter_storage.first(db), matter_storage.after(db, cursor, _BATCH))
        )
        if first > cursor + 1:
            return self._tell_missed(first - 1 - cursor)
        passed = cursor
        for numbered in found:
            told = self._services.tell(numbered)
            if told is None or not wants(self._webhook, told):
                passed = numbered.seq
            elif not self._deliver(numbered, told):
                return False
        if passed > self._webhook.cursor:
            self._keep(lambda webhook: {"cursor": passed})
        return bool(found)

    def _tell_missed(self, count: int) -> bool:
        until = self._webhook.cursor + count
        if not self._insist(f"{self._id}.missed.{until}", lambda: Missed(missed=count), None):
            return False
        self._keep(lambda webhook: {"cursor": until, "missed": webhook.missed + count})
        return True

    def _deliver(self, numbered: Numbered, told: Matter) -> bool:
        """Tell of one matter until it is delivered or given up; False when it has to wait, because of a pause."""
        id = delivery_id(self._id, numbered.seq)
        return self._insist(id, lambda: self._services.tell(numbered) or told, numbered)

    def _insist(self, id: str, content: Callable[[], Record], numbered: Numbered | None) -> bool:
        settings = self._services.settings
        self._attempts = 0
        while not self._webhook.paused:
            attempt = self._post(id, content())
            if attempt.delivered:
                if numbered is not None:
                    self._delivered(numbered.seq)
                return True
            self._attempts += 1
            self._error = attempt.error
            if self._attempts >= settings.attempts:
                self._give_up(id, numbered)
                return True
            self._changed.clear()
            wait = pause_before(self._attempts, settings.retry_first, settings.retry_most, self._services.chance)
            self._changed.wait(wait)
        return False

    def _delivered(self, seq: int) -> None:
        now = self.clock.now()
        self._keep(lambda webhook: {"cursor": seq, "delivered": webhook.delivered + 1, "last_delivered_at": now})

    def _give_up(self, id: str, numbered: Numbered | None) -> None:
        self.log.warning("a delivery was given up", delivery=id, attempts=self._attempts, error=self._error)
        if numbered is None:
            return
        letter = DeadLetter(
            id=id,
            webhook_id=self._id,
            seq=numbered.seq,
            type=numbered.type,
            thing=numbered.id,
            at=self.clock.now(),
            attempts=self._attempts,
            error=self._error,
        )
        with self._writing:
            past = msgspec.structs.replace(self._webhook, cursor=numbered.seq)
            get(self._services.journal.write.remote(lambda db: storage.give_up(db, past, letter)))
            self._webhook = past

    def _try(self, id: str, content: Record, reply: Future[Attempt]) -> None:
        reply.set(self._post(id, content))

    def _redeliver(self, letter: DeadLetter, told: Matter, who: str, surface: Surface, reply: Future[Attempt]) -> None:
        attempt = self._post(letter.id, told)

        def write(db: Database) -> None:
            storage.settle(db, letter, attempt.error)
            storage.note(db, self._webhook, "redeliver", who, surface, now)

        now = self.clock.now()
        try:
            get(self._services.journal.write.remote(write))
        except WhiskError as error:
            reply.set_error(error)
            return
        reply.set(attempt)

    def _post(self, id: str, content: Record) -> Attempt:
        body = encode({"delivery": id, "webhook": self._id, "event": content})
        timestamp = str(int(self.clock.now()) // 1_000_000_000)
        headers = {
            "X-Whisk-Event": getattr(content, "type", None) or str(content.__struct_config__.tag),
            "X-Whisk-Delivery": id,
            "X-Whisk-Timestamp": timestamp,
            "X-Whisk-Signature": signature(self._webhook.secret, timestamp, body),
        }
        attempt = self._services.poster.post(self._webhook.url, headers, body)
        if attempt.delivered:
            # Whatever it was that was taken: the receiver is well.
            self._attempts, self._error = 0, ""
        return attempt

    # -- the record --------------------------------------------------------------------------------------------------

    def _keep(
        self,
        change: Callable[[Webhook], dict[str, Any]],
        action: str = "",
        who: str = "",
        surface: Surface = "",
    ) -> None:
        """Write the record with `change`, and what was done to the audit; then show it."""
        # The greenlet that tells and the messages of this actor may both have something to write.
        with self._writing:
            now = self.clock.now()
            changed = msgspec.structs.replace(self._webhook, **change(self._webhook))

            def write(db: Database) -> None:
                storage.WEBHOOKS.update(db, changed)
                if action:
                    storage.note(db, changed, action, who, surface, now)

            get(self._services.journal.write.remote(write))
            self._webhook = changed


class WebhookHandle(Handle):
    wake: Method[[], None]
    show: Method[[], WebhookState]
    pause: Method[[bool, str, Surface], WebhookState]
    rotate: Method[[str, Surface], str]
    test: Method[[], Attempt]
    redeliver: Method[[DeadLetter, str, Surface], Attempt]
