"""The desk with a post office: real mailboxes, supervisor and effects over a real journal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
from gevent import get_hub
from peewee import Database

from tests.work_desk import Desk
from whisk.actors.future import Future, get
from whisk.actors.journal import JournalHandle
from whisk.actors.mail_effect import WorkEffects
from whisk.actors.mailbox import MailboxActor
from whisk.actors.post_office import PostOfficeActor, PostOfficeHandle
from whisk.actors.supervisor import SupervisorActor, SupervisorHandle
from whisk.actors.system import ActorSystem
from whisk.mail.address import parse_address
from whisk.mail.delivery import want
from whisk.mail.message import MailMessage, SendMailRequest
from whisk.mail.thread import LoopGuard, ReplyMailRequest
from whisk.storage.database import Store
from whisk.storage.mail_delivery import Delivery
from whisk.storage.mail_list import MailFilter, select

SECONDS = 20.0


def until(condition: Callable[[], bool]) -> None:
    """Let the hub go on until `condition()` holds; fails the test when it never does."""
    ends = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < ends, condition
        # Not 0: that would let neither timers nor the writing thread in.
        gevent.sleep(0.0005)


class Gate:
    """A write that keeps the writing thread until it is opened."""

    def __init__(self, journal: JournalHandle) -> None:
        self._entered = threading.Event()
        self._opened = threading.Event()
        journal.write.tell(self._wait)
        get_hub().threadpool.apply(self._entered.wait, (SECONDS,))

    def open(self) -> None:
        self._opened.set()

    def _wait(self, _db: Database) -> None:
        self._entered.set()
        self._opened.wait(SECONDS)


class MailDesk(Desk):
    def __init__(self, system: ActorSystem, path: Path, guard: LoopGuard | None = None) -> None:
        self.guard = guard
        super().__init__(system, path)

    def open(self, system: ActorSystem) -> None:
        super().open(system)
        self.supervisor = system.spawn(SupervisorActor, self.store, name="supervisor", handle=SupervisorHandle)
        self.post_office = self.open_post_office()

    def open_post_office(self, store: Store | None = None) -> PostOfficeHandle:
        return self.system.spawn(
            PostOfficeActor,
            store or self.store,
            self.journal,
            self.supervisor,
            self.events,
            WorkEffects(self.system, self.work),
            self.guard,
            name="post-office",
            parent="supervisor",
            handle=PostOfficeHandle,
        )

    def sending(self, **fields: Any) -> Future[MailMessage]:
        whole = {"from_": "run:a", "to": ["run:b"], "type": "status", "subject": "hello", **fields}
        return self.post_office.send.options(timeout=SECONDS).remote(SendMailRequest(**whole))

    def send(self, **fields: Any) -> MailMessage:
        return get(self.sending(**fields), SECONDS)

    def reply(self, mail_id: str, **fields: Any) -> MailMessage:
        return get(self.post_office.reply.remote(mail_id, ReplyMailRequest(**{"from_": "run:b", **fields})), SECONDS)

    def check(self, *addresses: str, **options: Any) -> Future[Delivery | None]:
        """A reader of its own at these addresses; it takes and waits unless told otherwise."""
        wanted = want([parse_address(text) for text in addresses], **{"ack": True, "wait": True, **options})
        reply: Future[Delivery | None] = Future()
        self.post_office.check.tell(wanted, reply)
        return reply

    def take(self, *addresses: str, **options: Any) -> Delivery | None:
        """What is there now."""
        return get(self.check(*addresses, **{"wait": False, **options}), SECONDS)

    def read(self, mail_id: str, to: str | None = None, claim: str | None = None) -> MailMessage:
        address = parse_address(to) if to is not None else None
        return get(self.post_office.mark_read.remote(mail_id, address, claim), SECONDS)

    def unread(self, *addresses: str) -> list[str]:
        """Ids of the unread mail of these addresses, oldest first."""
        chosen = MailFilter(to=tuple(parse_address(text) for text in addresses), unread=True)
        return [one.id for one in reversed(self.store.read(lambda db: select(db, chosen)))]

    def queued(self, address: str, count: int) -> None:
        """Until so many readers wait at this address."""
        until(lambda: self.facts(address).get("waiting", 0) == count)

    def facts(self, address: str) -> dict[str, Any]:
        """What the mailbox of this address says of itself; nothing when there is none."""
        name = f"mailbox:{address}"
        return self.system.describe(name).facts if self.system.find(name) is not None else {}

    def open_mailbox(self, address: str, **options: Any) -> None:
        """Start a mailbox as the post office would, with other limits."""
        self.system.spawn(
            MailboxActor,
            parse_address(address),
            self.store,
            self.journal,
            self.post_office,
            self.events,
            name=f"mailbox:{address}",
            parent="post-office",
            **options,
        )
