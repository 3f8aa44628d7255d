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

# What says of each kind whether it is there, and whether it can still read. Sending is the hottest path, hence text.
_QUERIES = {
    "run": "SELECT status IN ('queued', 'running', 'awaiting_input') FROM run WHERE id = ?",
    "pty": "SELECT status IN ('starting', 'running') FROM terminal WHERE id = ?",
    "session": "SELECT 1 FROM session WHERE id = ?",
    "work-item": "SELECT 1 FROM work_item WHERE id = ?",
    "project": "SELECT 1 FROM project WHERE id = ?",
}


class Readers(NamedTuple):
    recipients: list[MailRecipient]
    warnings: tuple[str, ...]


def standing(db: Database, address: MailAddress) -> Standing:
    """An address that nothing else is known of has been heard of when it has sent mail itself."""
    row = run(db, _QUERIES[address.kind], (address.id,)).fetchone()
    if row is not None:
        return "lives" if row[0] else "ended"
    sent = run(db, "SELECT 1 FROM mail WHERE sender = ? LIMIT 1", (str(address),)).fetchone()
    return "unknown" if sent is None else "lives"


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
