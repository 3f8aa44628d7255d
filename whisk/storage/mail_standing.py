"""What whisk knows of a recipient at the time of sending: does it live, has it ended, or was it never heard of?"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Literal, NamedTuple

from peewee import Database

from whisk.errors import NotFoundError
from whisk.mail.address import MailAddress
from whisk.mail.message import MailRecipient
from whisk.storage.statement import run

Standing = Literal["lives", "ended", "unknown"]

# Of each kind: is it there and can it still read (1), has it ended (0), or is it not there (NULL)?
_STATES = {
    "run": "SELECT status IN ('queued', 'running', 'awaiting_input') FROM run WHERE id = ?",
    "pty": "SELECT status IN ('starting', 'running') FROM terminal WHERE id = ?",
    "session": "SELECT 1 FROM session WHERE id = ?",
    "work-item": "SELECT 1 FROM work_item WHERE id = ?",
    "project": "SELECT 1 FROM project WHERE id = ?",
    "peer": "SELECT status = 'online' FROM peer WHERE id = ?",
}
# One statement for each recipient, since sending is the hottest path.
_QUERIES = {
    kind: f"SELECT coalesce(({state}), 2 * EXISTS (SELECT 1 FROM mail WHERE sender = ?) - 1)"
    for kind, state in _STATES.items()
}


class Readers(NamedTuple):
    recipients: list[MailRecipient]
    warnings: tuple[str, ...]


def standing(db: Database, address: MailAddress) -> Standing:
    """An address that nothing else is known of has been heard of when it has sent mail itself."""
    (state,) = run(db, _QUERIES[address.kind], (address.id, str(address))).fetchone()
    return "lives" if state > 0 else "ended" if state == 0 else "unknown"


def readers(db: Database, addresses: Iterable[MailAddress], *, heard: Set[MailAddress], strict: bool) -> Readers:
    """The recipients with what is known of them, and a sentence for each that may never read.

    `heard` are addresses that are known to live, whatever storage says. With `strict`, an unknown recipient raises
    `NotFoundError` that names them all.
    """
    found: list[MailRecipient] = []
    warnings: list[str] = []
    unknown: list[str] = []
    for address in addresses:
        state: Standing = "lives" if address in heard else standing(db, address)
        found.append(MailRecipient(address=address, known=state != "unknown"))
        if state == "unknown":
            unknown.append(str(address))
            warnings.append(f"{address} is not known: the mail is kept for it in case it appears")
        elif state == "ended":
            warnings.append(f"{address} has ended: the mail is kept, but there may be nobody left to read it")
    if strict and unknown:
        raise NotFoundError(f"mail recipient {', '.join(unknown)} is not known; nothing was sent", recipients=unknown)
    return Readers(found, tuple(warnings))
