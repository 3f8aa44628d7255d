"""The post office: every message goes in here, and every reader that takes or waits for one asks here.

It keeps nothing that a restart would miss. Messages are in storage before their sender hears of it; which of their
effects are still to be applied is stored with them; readers that wait ask again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from peewee import Database

from whisk.actors.events import EventsHandle
from whisk.actors.future import Future, get
from whisk.actors.handle import Handle, Method
from whisk.actors.journal import JournalHandle
from whisk.actors.mail_effect import MailEffects, effect_of
from whisk.actors.mail_reader import MailReaders
from whisk.actors.mail_ticket import Ticket
from whisk.actors.mailbox import MailboxHandle
from whisk.actors.supervisor import SupervisorHandle
from whisk.errors import ActorCrashedError, BusyError, DeadlineError, UnavailableError, WhiskError
from whisk.ids import new_id
from whisk.mail.address import MailAddress
from whisk.mail.delivery import Want
from whisk.mail.message import Draft, MailMessage, SendMailRequest, compose
from whisk.mail.thread import LoopGuard, ReplyMailRequest, reply_request
from whisk.storage import mail
from whisk.storage.database import Store
from whisk.storage.mail import Stored
from whisk.storage.mail_delivery import Delivery

# After these, the effect of a message may still come; any other refusal is its end.
_PASSING = (UnavailableError, BusyError, DeadlineError, ActorCrashedError)


class PostOfficeActor(MailReaders):
    """Named `post-office`; mailboxes are its children."""

    def __init__(
        self,
        store: Store,
        journal: JournalHandle,
        supervisor: SupervisorHandle,
        events: EventsHandle,
        effects: MailEffects,
        guard: LoopGuard | None = None,
    ) -> None:
        super().__init__(store, journal, events)
        self._supervisor = supervisor
        self._effects = effects
        self._guard = guard or LoopGuard()
        self._sent = 0
        self._repeated = 0

    def on_start(self) -> None:
        super().on_start()
        for message in self._store.read(mail.pending_effects):
            self.spawn_greenlet(self._apply, message, Future())

    def describe(self) -> dict[str, object]:
        return {"sent": self._sent, "repeated": self._repeated, "waiting": len(self._tickets)}

    def send(self, request: SendMailRequest) -> Future[MailMessage]:
        """Store a message and hand it out; the reply comes when it is on disk, and its effect has been tried."""
        draft = compose(request)
        reply: Future[MailMessage] = Future()
        if any(address.is_selector for address in draft.to):
            self._quietly(reply, self._expand, draft, reply)
        else:
            self._put(draft, draft.to, reply)
        return reply

    def reply(self, mail_id: str, request: ReplyMailRequest) -> Future[MailMessage]:
        """Answer the sender of a stored message. Raises `NotFoundError`."""
        reply: Future[MailMessage] = Future()
        self._quietly(reply, self._answer, mail_id, request, reply)
        return reply

    def _expand(self, draft: Draft, reply: Future[MailMessage]) -> None:
        if draft.idempotency_key is not None:
            # A retry gets its first message even when the selector stands for others by now, or for nobody.
            first = self._store.read(lambda db: mail.find_by_key(db, draft))
            if first is not None:
                self._repeated += 1
                reply.set(first)
                return
        found = get(self._supervisor.expand.remote(draft.to))
        self._put(draft, found, reply)

    def _answer(self, mail_id: str, request: ReplyMailRequest, reply: Future[MailMessage]) -> None:
        original = self._store.read(lambda db: mail.get(db, mail_id))
        self._put(compose(reply_request(original, request)), (original.from_,), reply)

    def _put(self, draft: Draft, to: Sequence[MailAddress], reply: Future[MailMessage]) -> None:
        mail_id, now, guard, effect = new_id("mail"), self.clock.now(), self._guard, effect_of(draft)
        # Somebody waits there this moment, so the address is not a mistake.
        heard = {address for address in to if self.system.find(f"mailbox:{address}") is not None}

        def write(db: Database) -> Stored:
            return mail.insert(db, draft, to, id=mail_id, now=now, guard=guard, heard=heard, effect=effect)

        self._journal.write.remote(write).then(lambda done: self._stored(done, effect is not None, reply))

    def _stored(self, storing: Future[Stored], has_effect: bool, reply: Future[MailMessage]) -> None:
        error = storing.error()
        if error is not None:
            reply.set_error(error)
            return
        stored: Stored = storing.get(timeout=0)
        message = stored.message
        if stored.repeated:
            self._repeated += 1
            reply.set(message)
            return
        self._sent += 1
        for reader in message.recipients:
            mailbox = self.system.find(f"mailbox:{reader.address}", handle=MailboxHandle)
            if mailbox is not None:
                mailbox.arrived.tell(message)
        self._announce(message.id)
        if message.type == "heartbeat":
            self._effects.beat(message)
        if has_effect:
            self.spawn_greenlet(self._apply, message, reply)
        else:
            reply.set(message)

    def _apply(self, message: MailMessage, reply: Future[MailMessage]) -> None:
        refusal: WhiskError | None = None
        try:
            self._effects.apply(message)
        except WhiskError as error:
            refusal = error
            self.log.info("mail had no effect", mail=message.id, type=message.type, why=error.message)
            message = msgspec.structs.replace(message, warnings=(*message.warnings, error.message))
        if not isinstance(refusal, _PASSING):
            # Otherwise the next start of the post office tries again.
            self._journal.write.remote(lambda db: mail.settle_effect(db, message.id))
        reply.set(message)


class PostOfficeHandle(Handle):
    send: Method[[SendMailRequest], MailMessage]
    reply: Method[[str, ReplyMailRequest], MailMessage]
    check: Method[[Want, Future[Delivery | None]], None]
    serve: Method[[Ticket], None]
    rejoin: Method[[MailAddress, Sequence[Ticket]], None]
    delivered: Method[[Delivery], None]
    give_back: Method[[Delivery], None]
    mark_read: Method[[str, MailAddress | None, str | None], MailMessage]
