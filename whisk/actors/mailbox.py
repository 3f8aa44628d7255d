"""The mailbox of one address: who is next for what arrives there, and which messages are out on a claim.

It is started when somebody waits at the address or holds a claim on its mail, and ends when neither is so. Messages
themselves are in storage; a mailbox that is restarted loses nothing but the order of its queue.
"""

from __future__ import annotations

from itertools import islice

from whisk.actors.actor import Actor, control
from whisk.actors.events import EventsHandle
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.journal import JournalHandle
from whisk.actors.mail_ticket import Ticket
from whisk.errors import BusyError
from whisk.ids import new_id
from whisk.mail.address import MailAddress
from whisk.mail.delivery import MAX_LEASE
from whisk.mail.message import MailMessage
from whisk.storage import mail, mail_delivery
from whisk.storage.database import Store
from whisk.storage.mail_delivery import Delivery

WAITERS = 20_000
_RETRY = 0.2


class MailboxActor(Actor):
    """Named `mailbox:<kind>:<id>`. Its messages are control messages: none is refused, and they keep their order."""

    def __init__(
        self,
        address: MailAddress,
        store: Store,
        journal: JournalHandle,
        post_office: Handle,
        events: EventsHandle,
        waiters: int = WAITERS,
    ) -> None:
        super().__init__()
        self._address = address
        self._store = store
        self._journal = journal
        self._post_office = post_office
        self._events = events
        self._limit = waiters
        self._lookers: dict[Ticket, None] = {}
        self._takers: dict[Ticket, None] = {}
        self._held: dict[str, str] = {}
        self._delivered = 0

    def on_start(self) -> None:
        # A mailbox that is new has no claims; only one that was restarted has forgotten some.
        if self.system.describe(self.name).incarnation > 1:
            self.take_up()

    def on_stop(self) -> None:
        """What is left to do here goes back to the post office, which brings it to the next incarnation."""
        waiting = [ticket for ticket in (*self._lookers, *self._takers) if ticket.open]
        if waiting or self._held:
            self._post_office.rejoin.tell(self._address, waiting)

    def on_failure(self, *_: object) -> None:
        self.on_stop()

    def may_passivate(self) -> bool:
        return not self._lookers and not self._takers and not self._held

    def describe(self) -> dict[str, object]:
        return {
            "waiting": sum(ticket.waits for queue in (self._takers, self._lookers) for ticket in queue),
            "claimed": len(self._held),
            "delivered": self._delivered,
        }

    @control
    def take_up(self) -> None:
        """Watch the claims that storage knows of: those of an earlier daemon, or of an earlier incarnation."""
        now = self.clock.now()
        for claim in self._store.read(lambda db: mail_delivery.open_claims(db, self._address)):
            # The wall clock is asked only here, and not believed beyond the longest lease: it may have been set.
            left = min(max(now.seconds_until(claim.until), 0.0), MAX_LEASE)
            self.hold(claim.mail_id, claim.token, left)

    @control
    def join(self, ticket: Ticket) -> bool:
        """Queue up. The answer: may there be mail here for it now? Not when somebody ahead waits for just anything."""
        queue = self._queue(ticket)
        if len(queue) >= self._limit:
            raise BusyError(f"{len(queue)} readers wait for mail at {self._address}", limit=self._limit)
        # A few at the head will do: who is not seen here costs the newcomer one look through storage. A heartbeat
        # is not anything: nobody is given one who has not asked for it.
        behind = "heartbeat" not in ticket.want.types and any(
            ahead.waits_for_anything for ahead in islice(self._takers, 16)
        )
        if ticket.open and ticket.want.wait:
            queue[ticket] = None
        return not behind

    @control
    def leave(self, ticket: Ticket) -> None:
        self._queue(ticket).pop(ticket, None)

    @control
    def arrived(self, message: MailMessage) -> None:
        """A message for this address has become available: show it to who only looks, give it to who is next."""
        for ticket in [ticket for ticket in self._lookers if ticket.want.fits(message)]:
            if ticket.reserve():
                self._lookers.pop(ticket)
                ticket.reply.set(Delivery(message, self._address))
                self._delivered += 1
        for ticket in self._takers:
            if ticket.want.fits(message) and ticket.reserve():
                self._take(ticket, message)
                return

    @control
    def hold(self, mail_id: str, token: str, seconds: float) -> None:
        """Watch a claim: when it is not settled within `seconds`, the message goes back to the queue."""
        self._held[token] = mail_id
        self.timers.start(token, seconds, self._lapse, token)

    @control
    def settled(self, token: str) -> None:
        """A claim was confirmed or given back."""
        if self._held.pop(token, None) is not None:
            self.timers.cancel(token)

    def _queue(self, ticket: Ticket) -> dict[Ticket, None]:
        return self._lookers if ticket.want.mode == "look" else self._takers

    def _take(self, ticket: Ticket, message: MailMessage) -> None:
        token, now = new_id("claim"), self.clock.now()
        found = Delivery(message, self._address)
        taking = self._journal.write.remote(lambda db: mail_delivery.take(db, found, ticket.want, token, now))
        # Not piped: the message may be this reader's by now, and must reach it even if this actor is restarted.
        taking.then(lambda done: self._taken(done, ticket, message))

    def _taken(self, taking: Future[Delivery | None], ticket: Ticket, message: MailMessage) -> None:
        error = taking.error()
        if error is not None:
            self._takers.pop(ticket, None)
            ticket.reply.set_error(error)
            self.timers.start(message.id, _RETRY, self.arrived, message)
            return
        delivery = taking.get(timeout=0)
        if delivery is None:
            # Another reader had it first.
            if ticket.release():
                self._post_office.serve.tell(ticket)
            return
        self._takers.pop(ticket, None)
        if ticket.reply.set(delivery):
            self._delivered += 1
            self._post_office.delivered.tell(delivery)
        else:
            self._post_office.give_back.tell(delivery)

    def _lapse(self, token: str) -> None:
        mail_id = self._held.get(token)
        if mail_id is None:
            return
        lapsing: Future[MailMessage | None] = self._journal.write.remote(
            lambda db: mail.get(db, mail_id) if mail_delivery.lapse(db, mail_id, token) else None
        )
        self.pipe(lapsing, self._lapsed, token)

    def _lapsed(self, lapsing: Future[MailMessage | None], token: str) -> None:
        if token not in self._held:
            return
        if lapsing.error() is not None:
            self.timers.start(token, _RETRY, self._lapse, token)
            return
        del self._held[token]
        message = lapsing.get(timeout=0)
        if message is not None:
            self.log.info("mail claim lapsed", mail=message.id)
            self._events.publish.tell("mailbox.changed", message.id)
            self.arrived(message)


class MailboxHandle(Handle):
    take_up: Method[[], None]
    join: Method[[Ticket], bool]
    leave: Method[[Ticket], None]
    arrived: Method[[MailMessage], None]
    hold: Method[[str, str, float], None]
    settled: Method[[str], None]
