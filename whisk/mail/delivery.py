"""Who gets which message: what a reader asks for, and what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError
from whisk.mail.address import MailAddress, unique
from whisk.mail.message import MailMessage, MailType, parse_type
from whisk.mail.selector import concrete
from whisk.values import Record

# Addresses that one reader may wait at.
ADDRESS_LIMIT = 100
# Seconds for which a claimed message may stay unconfirmed.
MAX_LEASE = 600.0

# look: show, change nothing. ack: mark read. claim: set aside for this reader until it confirms or the lease ends.
Mode = Literal["look", "ack", "claim"]


class Want(Record, frozen=True):
    """The oldest unread message for any of `addresses`, of these types (none named: any but heartbeat).

    With `wait`, the reader stays in the queue of each address until there is one.
    """

    addresses: tuple[MailAddress, ...]
    types: tuple[MailType, ...] = ()
    project_id: str | None = None
    mode: Mode = "look"
    lease: float = 60.0
    wait: bool = False

    @property
    def takes_anything(self) -> bool:
        return not self.types and self.project_id is None

    def fits(self, message: MailMessage) -> bool:
        """Whether a message for one of the addresses is of the kind that is wanted."""
        if self.project_id is not None and message.project_id != self.project_id:
            return False
        return message.type in self.types if self.types else message.type != "heartbeat"


class MailClaim(Record, frozen=True):
    """Proof that a message is set aside for its holder. Confirm it (`POST /v1/mail/{id}/read` with `claim`) before
    `until`; otherwise the message goes back to the queue."""

    token: str
    until: Instant


class NextMailResponse(Record, frozen=True):
    """`address` is the one of the asked addresses for which the message was found. `timeout` when there was none."""

    message: MailMessage | None = None
    timeout: bool = False
    address: MailAddress | None = None
    claim: MailClaim | None = None


class MarkMailReadRequest(Record, frozen=True):
    """`to`: only this recipient, else all. `claim`: only if this claim still holds."""

    to: MailAddress | str | None = None
    claim: str | None = None


def want(
    addresses: Sequence[MailAddress],
    *,
    types: Sequence[str] = (),
    project_id: str | None = None,
    ack: bool = False,
    claim: float = 0.0,
    wait: bool = False,
) -> Want:
    """A checked `Want`; `claim` is the lease in seconds, 0 for none. Raises `InvalidError`, `TooLargeError`."""
    if not addresses:
        raise InvalidError("mail check recipient required", field="to")
    if len(addresses) > ADDRESS_LIMIT:
        raise TooLargeError(f"a reader waits at up to {ADDRESS_LIMIT} addresses", field="to", limit=ADDRESS_LIMIT)
    if ack and claim:
        raise InvalidError("ack and claim exclude each other: a claim is acked when it is confirmed", field="claim")
    if claim < 0 or claim > MAX_LEASE:
        raise InvalidError(f"a mail claim lasts up to {MAX_LEASE:g} seconds", field="claim", limit=MAX_LEASE)
    return Want(
        addresses=unique(concrete(address) for address in addresses),
        types=tuple(dict.fromkeys(parse_type(text) for text in types)),
        project_id=project_id or None,
        mode="ack" if ack else "claim" if claim else "look",
        lease=claim,
        wait=wait,
    )
