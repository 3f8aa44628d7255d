"""A reader's place in the queues: one ticket, however many addresses it waits at, and it wins one message.

Tickets live on the hub and are changed between switches only, so `reserve` is a compare-and-set.
"""

from __future__ import annotations

from whisk.actors.future import Future
from whisk.mail.delivery import Want
from whisk.storage.mail_delivery import Delivery


class Ticket:
    """Open until `reply` has an outcome: a delivery, `None` for nothing, a refusal, or the reader's cancellation.

    A new ticket is reserved: its first look through storage is on the way.
    """

    __slots__ = ("_missed", "_reserved", "reply", "want")

    def __init__(self, want: Want, reply: Future[Delivery | None]) -> None:
        self.want = want
        self.reply = reply
        self._reserved = True
        self._missed = False

    @property
    def open(self) -> bool:
        return not self.reply.done()

    @property
    def waits(self) -> bool:
        """Whether it is in the queues and nobody is bringing it a message."""
        return not self._reserved and not self.reply.done()

    @property
    def waits_for_anything(self) -> bool:
        """Whether whatever comes would be its own. Then nothing is available at its addresses."""
        return self.waits and self.want.takes_anything

    def reserve(self) -> bool:
        """Take hold of it to bring it a message. False when it is closed, or someone else is bringing it one.

        In the second case it is remembered that there was more: see `release`.
        """
        if self.reply.done():
            return False
        if self._reserved:
            self._missed = True
            return False
        self._reserved = True
        return True

    def release(self) -> bool:
        """Let go of it empty-handed. True: it stays reserved, since a message passed it by, and must be served anew."""
        if self._missed:
            self._missed = False
            return True
        self._reserved = False
        return False
