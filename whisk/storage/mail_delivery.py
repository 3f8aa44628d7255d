"""Handing mail out: one recipient's row is given to one reader, once.

A row is available while it is neither read nor claimed. Everything here but `find_next` is a write, and there is one
writer, so whoever comes first has it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from peewee import Database

from whisk.clock import Instant
from whisk.errors import ConflictError, NotFoundError
from whisk.mail.address import MailAddress
from whisk.mail.delivery import Want
from whisk.mail.message import MailMessage
from whisk.storage.mail import get, seq_of
from whisk.storage.mail_row import SELECT_MAIL, address_of, messages
from whisk.storage.statement import marks, run


class Delivery(NamedTuple):
    """A message found for `address`. `token` is set when it was taken, `until` and `lease` (seconds) when by a claim.

    In the message of a taken one, the recipient's `read_at` is already the time at which it was taken: that is what
    it will be once the claim is confirmed.
    """

    message: MailMessage
    address: MailAddress
    token: str | None = None
    until: Instant | None = None
    lease: float = 0.0


class OpenClaim(NamedTuple):
    mail_id: str
    token: str
    until: Instant


def find_next(db: Database, want: Want) -> Delivery | None:
    """The oldest available message for any of the wanted addresses, for anybody when none is named. Changes nothing."""
    if not want.addresses:
        return _found(db, _oldest(db, None, want))
    # One step into the index per address; a single query over all of them would sort every unread row.
    steps = [_oldest(db, str(address), want) for address in want.addresses]
    return _found(db, min((step for step in steps if step is not None), key=lambda step: step[0], default=None))


def take_next(db: Database, want: Want, token: str, now: Instant) -> Delivery | None:
    """`find_next`, and in the same step mark it read (`ack`) or set it aside under `token` (`claim`)."""
    found = find_next(db, want)
    if found is None:
        return None
    return take(db, found, want, token, now)


def take(db: Database, found: Delivery, want: Want, token: str, now: Instant) -> Delivery | None:
    """Take this very message for this address; None when it is no longer available."""
    until = now.plus(want.lease) if want.mode == "claim" else None
    changed = run(
        db,
        "UPDATE mail_recipient SET claim = ?, claimed_at = ?, claim_until = ?, read_at = ? WHERE address = ?"
        " AND read_at IS NULL AND claim IS NULL AND mail_seq = (SELECT seq FROM mail WHERE id = ?)",
        (token, now, until, None if until is not None else now, str(found.address), found.message.id),
    ).rowcount
    if not changed:
        return None
    readers = tuple(
        msgspec.structs.replace(reader, read_at=now) if reader.address == found.address else reader
        for reader in found.message.recipients
    )
    return Delivery(msgspec.structs.replace(found.message, recipients=readers), found.address, token, until, want.lease)


def give_back(db: Database, mail_id: str, token: str) -> bool:
    """Undo a take whose reader never got the message; whether it is available again."""
    query = (
        "UPDATE mail_recipient SET claim = NULL, claim_until = NULL, read_at = NULL"
        " WHERE mail_seq = (SELECT seq FROM mail WHERE id = ?) AND claim = ?"
    )
    return bool(run(db, query, (mail_id, token)).rowcount)


def lapse(db: Database, mail_id: str, token: str) -> bool:
    """End a claim that was not confirmed in time; whether it is available again (not when it was read meanwhile)."""
    query = (
        "UPDATE mail_recipient SET claim = NULL, claim_until = NULL"
        " WHERE mail_seq = (SELECT seq FROM mail WHERE id = ?) AND claim = ? AND read_at IS NULL"
    )
    return bool(run(db, query, (mail_id, token)).rowcount)


def open_claims(db: Database, address: MailAddress) -> list[OpenClaim]:
    """Claims on this address's mail that are neither confirmed nor ended, oldest mail first."""
    query = (
        "SELECT mail.id, claim, claim_until FROM mail_recipient JOIN mail ON mail.seq = mail_seq"
        " WHERE address = ? AND read_at IS NULL AND claim IS NOT NULL ORDER BY mail_seq"
    )
    return [OpenClaim(id, token, Instant(until)) for id, token, until in run(db, query, (str(address),))]


def addresses_with_claims(db: Database) -> list[MailAddress]:
    """Every address for which `open_claims` has something."""
    query = "SELECT DISTINCT address FROM mail_recipient WHERE read_at IS NULL AND claim IS NOT NULL"
    return [address_of(address) for (address,) in run(db, query)]


def confirm(db: Database, mail_id: str, token: str) -> Delivery:
    """Mark a claimed message read, as of the time of its claim. Twice is the same as once.

    Raises `ConflictError` when the claim has ended (the message may be with another reader by now).
    """
    seq = seq_of(db, mail_id)
    held = "mail_seq = ? AND claim = ?"
    row = run(db, f"SELECT address FROM mail_recipient WHERE {held}", (seq, token)).fetchone()
    if row is None:
        raise ConflictError(
            f"the claim on mail {mail_id} has ended; the message went back to the queue", id=mail_id, claim=token
        )
    run(db, f"UPDATE mail_recipient SET read_at = claimed_at WHERE {held} AND read_at IS NULL", (seq, token))
    return Delivery(get(db, mail_id), address_of(row[0]), token)


def mark_read(db: Database, mail_id: str, to: MailAddress | None, now: Instant) -> MailMessage:
    """Mark the message read for one recipient, or for all; the first time counts. Raises `NotFoundError`."""
    seq = seq_of(db, mail_id)
    if to is None:
        run(db, "UPDATE mail_recipient SET read_at = ? WHERE mail_seq = ? AND read_at IS NULL", (now, seq))
        return get(db, mail_id)
    here = "mail_seq = ? AND address = ?"
    if run(db, f"SELECT 1 FROM mail_recipient WHERE {here}", (seq, str(to))).fetchone() is None:
        raise NotFoundError(f"mail {mail_id} recipient not found", id=mail_id, address=str(to))
    run(db, f"UPDATE mail_recipient SET read_at = ? WHERE {here} AND read_at IS NULL", (now, seq, str(to)))
    return get(db, mail_id)


def _found(db: Database, step: tuple[int, str] | None) -> Delivery | None:
    if step is None:
        return None
    seq, address = step
    (message,) = messages(db, run(db, f"{SELECT_MAIL} WHERE seq = ?", (seq,)).fetchall())
    return Delivery(message, address_of(address))


def _oldest(db: Database, address: str | None, want: Want) -> tuple[int, str] | None:
    tables, where = "mail_recipient", "read_at IS NULL AND claim IS NULL"
    params: list[str] = []
    if address is not None:
        where += " AND address = ?"
        params.append(address)
    if want.types:
        where += f" AND mail_recipient.type IN ({marks(want.types)})"
        params += want.types
    else:
        where += " AND mail_recipient.type <> 'heartbeat'"
    if want.project_id is not None:
        tables += " JOIN mail ON mail.seq = mail_seq"
        where += " AND project_id = ?"
        params.append(want.project_id)
    query = f"SELECT mail_seq, address FROM {tables} WHERE {where} ORDER BY mail_seq LIMIT 1"
    row = run(db, query, params).fetchone()
    return None if row is None else (row[0], row[1])
