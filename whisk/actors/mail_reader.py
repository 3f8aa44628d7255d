"""The half of the post office that serves readers: it brings them through the mailboxes' queues to their message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from peewee import Database

from whisk.actors.actor import Actor, control
from whisk.actors.events import EventsHandle
from whisk.actors.future import Future, get
from whisk.actors.journal import JournalHandle
from whisk.actors.mail_ticket import Ticket
from whisk.actors.mailbox import MailboxActor, MailboxHandle
from whisk.errors import BusyError, UnavailableError, WhiskError
from whisk.ids import new_id
from whisk.mail.address import MailAddress
from whisk.mail.delivery import Want
from whisk.mail.message import MailMessage
from whisk.storage import mail, mail_delivery
from whisk.storage.database import Store
from whisk.storage.mail_delivery import Delivery

T = TypeVar("T")

MAILBOX_IDLE = 60.0
"""Seconds after which a mailbox that nobody waits at ends."""
_RETRY = 0.2


class MailReaders(Actor):
    """Base of `PostOfficeActor`. No message blocks it: what takes time has a greenlet of its own."""

    def __init__(self, store: Store, journal: JournalHandle, events: EventsHandle) -> None:
        super().__init__()
        self._store = store
        self._journal = journal
        self._events = events
        self._tickets: set[Ticket] = set()

    def on_start(self) -> None:
        # Claims that an earlier daemon gave out must end some day; their mailboxes see to that.
        for address in self._store.read(mail_delivery.addresses_with_claims):
            self._mailbox(address).take_up.tell()

    def on_stop(self) -> None:
        for ticket in list(self._tickets):
            ticket.reply.set_error(UnavailableError("the post office is closing"))

    def on_failure(self, *_: object) -> None:
        self.on_stop()

    def check(self, want: Want, reply: Future[Delivery | None]) -> None:
        """Serve a reader: `reply` gets the next message, or `None` when there is none and it does not wait.

        The future is the reader's own, so that what it was given and what it gave up cannot cross: a reader that
        hangs up cancels it, and when that fails it holds a delivery to `give_back`.
        """
        ticket = Ticket(want, reply)
        self._tickets.add(ticket)
        reply.then(lambda _: self._close(ticket))
        self._quietly(reply, self._begin, ticket)

    @control
    def serve(self, ticket: Ticket) -> None:
        """Look through storage again for a reserved ticket that a message has passed by."""
        self._quietly(ticket.reply, self._search, ticket, ticket.want.addresses)

    @control
    def rejoin(self, address: MailAddress, tickets: Sequence[Ticket]) -> None:
        """A mailbox has ended under its readers; they take their places again, in the same order."""
        if self.system.describe(self.name).state == "draining":
            for ticket in tickets:
                ticket.reply.set_error(UnavailableError("the post office is closing"))
            return
        mailbox = self._mailbox(address)
        mailbox.take_up.tell()
        for ticket in tickets:
            mailbox.join.tell(ticket)
            if ticket.reserve():
                self.serve(ticket)

    @control
    def delivered(self, delivery: Delivery) -> None:
        """A reader has its message: from now on its claim is watched."""
        if delivery.token is not None and delivery.until is not None:
            self._mailbox(delivery.address).hold.tell(delivery.message.id, delivery.token, delivery.lease)
        if delivery.token is not None:
            self._announce(delivery.message.id)

    @control
    def give_back(self, delivery: Delivery) -> None:
        """The reader was gone before it had its message: the message is for the next."""
        token, mail_id = delivery.token, delivery.message.id
        if token is None:
            return
        giving: Future[MailMessage | None] = self._journal.write.remote(
            lambda db: mail.get(db, mail_id) if mail_delivery.give_back(db, mail_id, token) else None
        )
        giving.then(lambda done: self._given_back(done, delivery))

    def mark_read(self, mail_id: str, to: MailAddress | None, claim: str | None) -> Future[MailMessage]:
        """Confirm a claim, or mark the message read for one recipient or for all. See `mail_delivery`."""
        reply: Future[MailMessage] = Future()
        now = self.clock.now()

        def write(db: Database) -> tuple[MailMessage, MailAddress | None]:
            if claim is None:
                return mail_delivery.mark_read(db, mail_id, to, now), None
            confirmed = mail_delivery.confirm(db, mail_id, claim)
            return confirmed.message, confirmed.address

        self._journal.write.remote(write).then(lambda done: self._marked(done, claim, reply))
        return reply

    def _begin(self, ticket: Ticket) -> None:
        want = ticket.want
        # A reader that does not wait needs no queue, but it does not push in where there is one.
        mailboxes = {
            address: self._mailbox(address) if want.wait else self.system.find(f"mailbox:{address}", MailboxHandle)
            for address in want.addresses
        }
        joins = {
            address: mailbox.join.options(timeout=None).remote(ticket)
            for address, mailbox in mailboxes.items()
            if mailbox is not None
        }
        free = [address for address in want.addresses if address not in joins or get(joins[address], timeout=None)]
        self._search(ticket, free)

    def _search(self, ticket: Ticket, addresses: Sequence[MailAddress]) -> None:
        """Bring a reserved ticket the oldest message there is, as often as one passes it by meanwhile."""
        while ticket.open:
            found = self._find(ticket.want, addresses) if addresses else None
            if found is not None:
                if ticket.reply.set(found):
                    self.delivered(found)
                else:
                    self.give_back(found)
            elif not ticket.want.wait:
                ticket.reply.set(None)
            elif not ticket.release():
                return
            addresses = ticket.want.addresses

    def _find(self, want: Want, addresses: Sequence[MailAddress]) -> Delivery | None:
        narrowed = msgspec.structs.replace(want, addresses=tuple(addresses))
        if want.mode == "look":
            return self._store.read(lambda db: mail_delivery.find_next(db, narrowed))
        token, now = new_id("claim"), self.clock.now()
        # Without a limit: whoever gave up here could not give back what the write then took.
        write = self._journal.write.options(timeout=None)
        taken: Delivery | None = get(
            write.remote(lambda db: mail_delivery.take_next(db, narrowed, token, now)), timeout=None
        )
        return taken

    def _given_back(self, giving: Future[MailMessage | None], delivery: Delivery) -> None:
        mailbox = self.system.find(f"mailbox:{delivery.address}", MailboxHandle)
        if giving.error() is not None:
            self.timers.start(f"give back {delivery.token}", _RETRY, self.give_back, delivery)
            return
        message = giving.get(timeout=0)
        if mailbox is not None and delivery.token is not None:
            mailbox.settled.tell(delivery.token)
            if message is not None:
                mailbox.arrived.tell(message)
        self._announce(delivery.message.id)

    def _marked(self, marking: Future[Any], claim: str | None, reply: Future[MailMessage]) -> None:
        error = marking.error()
        if error is not None:
            reply.set_error(error)
            return
        message, address = marking.get(timeout=0)
        mailbox = self.system.find(f"mailbox:{address}", MailboxHandle) if address is not None else None
        if mailbox is not None and claim is not None:
            mailbox.settled.tell(claim)
        self._announce(message.id)
        reply.set(message)

    def _close(self, ticket: Ticket) -> None:
        """The reader has its answer, or has gone: its places in the queues are free."""
        self._tickets.discard(ticket)
        for address in ticket.want.addresses:
            mailbox = self.system.find(f"mailbox:{address}", MailboxHandle)
            if mailbox is not None:
                mailbox.leave.tell(ticket)

    def _mailbox(self, address: MailAddress) -> MailboxHandle:
        return self.system.spawn(
            MailboxActor,
            address,
            self._store,
            self._journal,
            self.me,
            self._events,
            name=f"mailbox:{address}",
            parent=self.me,
            restart="permanent",
            idle_after=MAILBOX_IDLE,
            get_if_exists=True,
            handle=MailboxHandle,
        )

    def _announce(self, mail_id: str) -> None:
        try:
            self._events.publish.tell("mailbox.changed", mail_id)
        except BusyError:
            # Followers read everything again when they see a gap, so one announcement more or less is no loss.
            self.log.warning("announcement dropped", mail=mail_id)

    def _quietly(self, reply: Future[T], work: Callable[..., None], *args: Any) -> None:
        """Run `work(*args)` in a greenlet of its own; a refusal in it is the answer to `reply`."""

        def run() -> None:
            try:
                work(*args)
            except WhiskError as refusal:
                reply.set_error(refusal)

        self.spawn_greenlet(run)
