"""Between rows and messages: the tables of mail, and the one way to make a message of what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Raw
from peewee import BigIntegerField, BooleanField, CompositeKey, Database, IntegerField, Model, TextField

from whisk.clock import Instant
from whisk.mail.address import MailAddress
from whisk.mail.message import NO_PAYLOAD, Draft, MailMessage, MailRecipient
from whisk.storage.statement import marks, run


class MailRow(Model):
    seq = IntegerField(primary_key=True)
    id = TextField()
    thread_id = TextField()
    reply_to_id = TextField(null=True)
    hops = IntegerField()
    sender = TextField()
    type = TextField()
    priority = TextField()
    subject = TextField(null=True)
    body = TextField(null=True)
    payload = TextField(null=True)
    project_id = TextField(null=True)
    work_item_id = TextField(null=True)
    run_id = TextField(null=True)
    session_id = TextField(null=True)
    pty_id = TextField(null=True)
    dispatch_id = TextField(null=True)
    created_at = BigIntegerField()
    idempotency_key = TextField(null=True)
    digest = TextField(null=True)
    effect = TextField(null=True)

    class Meta:
        table_name = "mail"


class RecipientRow(Model):
    mail_seq = IntegerField()
    address = TextField()
    type = TextField()
    known = BooleanField()
    read_at = BigIntegerField(null=True)
    claim = TextField(null=True)
    claimed_at = BigIntegerField(null=True)
    claim_until = BigIntegerField(null=True)

    class Meta:
        table_name = "mail_recipient"
        primary_key = CompositeKey("mail_seq", "address")


# The columns that make a message, in the order in which `messages` takes them.
COLUMNS = (
    "seq", "id", "thread_id", "reply_to_id", "sender", "type", "priority", "subject", "body", "payload", "project_id",
    "work_item_id", "run_id", "session_id", "pty_id", "dispatch_id", "created_at",
)  # fmt: skip
SELECT_MAIL = f"SELECT {', '.join(COLUMNS)} FROM mail"


def messages(db: Database, rows: Sequence[Any]) -> list[MailMessage]:
    """Rows of `SELECT_MAIL`, whole and in the same order. Recipients are sorted by their text."""
    readers: dict[int, list[MailRecipient]] = {row[0]: [] for row in rows}
    seqs = list(readers)
    # SQLite takes a limited number of parameters in one statement.
    for start in range(0, len(seqs), 500):
        part = seqs[start : start + 500]
        for seq, address, read_at, known in run(
            db,
            f"SELECT mail_seq, address, read_at, known FROM mail_recipient WHERE mail_seq IN ({marks(part)})"
            " ORDER BY mail_seq, address",
            part,
        ):
            readers[seq].append(
                MailRecipient(
                    address=address_of(address),
                    read_at=None if read_at is None else Instant(read_at),
                    known=bool(known),
                )
            )
    return [_message(row, readers[row[0]]) for row in rows]


def address_of(text: str) -> MailAddress:
    """A stored address; it was checked before it was stored."""
    kind, _, id_ = text.partition(":")
    return MailAddress(kind=kind, id=id_)


def message_of(
    draft: Draft,
    recipients: Sequence[MailRecipient],
    warnings: tuple[str, ...],
    id: str,
    thread_id: str,
    now: Instant,
) -> MailMessage:
    """The message that `draft` has become."""
    return MailMessage(
        id=id,
        thread_id=thread_id,
        reply_to_id=draft.reply_to_id,
        from_=draft.from_,
        recipients=tuple(sorted(recipients, key=lambda recipient: str(recipient.address))),
        type=draft.type,
        priority=draft.priority,
        subject=draft.subject,
        body=draft.body,
        payload=_raw(draft.payload),
        project_id=draft.project_id,
        work_item_id=draft.work_item_id,
        run_id=draft.run_id,
        session_id=draft.session_id,
        pty_id=draft.pty_id,
        dispatch_id=draft.dispatch_id,
        created_at=now,
        warnings=warnings,
    )


def _message(row: Any, recipients: list[MailRecipient]) -> MailMessage:
    _, id, thread_id, reply_to_id, sender, type_, priority, subject, body, payload, *context, created_at = row
    project_id, work_item_id, run_id, session_id, pty_id, dispatch_id = context
    return MailMessage(
        id=id,
        thread_id=thread_id,
        reply_to_id=reply_to_id,
        from_=address_of(sender),
        recipients=tuple(recipients),
        type=type_,
        priority=priority,
        subject=subject,
        body=body,
        payload=_raw(payload),
        project_id=project_id,
        work_item_id=work_item_id,
        run_id=run_id,
        session_id=session_id,
        pty_id=pty_id,
        dispatch_id=dispatch_id,
        created_at=Instant(created_at),
    )


def _raw(payload: str | None) -> Raw:
    return NO_PAYLOAD if payload is None else Raw(payload.encode())
