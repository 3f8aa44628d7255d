"""Webhooks on disk, and the deliveries that were given up."""

from __future__ import annotations

from peewee import BigIntegerField, Database, IntegerField, Model, TextField, fn

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.matters.audit import AuditEntry, Surface
from whisk.matters.webhook import DeadLetter, Webhook
from whisk.storage import audit
from whisk.storage.document import Documents
from whisk.storage.migration import Migration

KEPT_LETTERS = 1000
"""Of each webhook; beyond them the oldest go."""


class WebhookRow(Model):
    id = TextField(primary_key=True)
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "webhook"


class LetterRow(Model):
    id = TextField(primary_key=True)
    webhook_id = TextField()
    seq = IntegerField()
    type = TextField()
    thing = TextField()
    at = BigIntegerField()
    attempts = IntegerField()
    error = TextField()

    class Meta:
        table_name = "webhook_letter"


def _create(db: Database) -> None:
    db.execute_sql("CREATE TABLE webhook (id TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, doc TEXT NOT NULL)")
    db.execute_sql(
        "CREATE TABLE webhook_letter (id TEXT NOT NULL PRIMARY KEY, webhook_id TEXT NOT NULL, seq BIGINT NOT NULL,"
        " type TEXT NOT NULL, thing TEXT NOT NULL, at BIGINT NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX webhook_letter_of ON webhook_letter (webhook_id, seq)")


MIGRATIONS: list[Migration] = [Migration("webhook.create", _create)]

WEBHOOKS = Documents(
    WebhookRow, Webhook, "webhook", lambda webhook: {"id": webhook.id, "created_at": int(webhook.created_at)}
)


def add(db: Database, webhook: Webhook, surface: Surface) -> None:
    WEBHOOKS.insert(db, webhook)
    note(db, webhook, "add", webhook.created_by, surface, webhook.created_at)


def remove(db: Database, webhook: Webhook, who: str, surface: Surface, now: Instant) -> None:
    """With its dead letters. Raises `NotFoundError`."""
    if not WebhookRow.delete().where(WebhookRow.id == webhook.id).execute(db):
        raise WEBHOOKS.unknown(webhook.id)
    LetterRow.delete().where(LetterRow.webhook_id == webhook.id).execute(db)
    note(db, webhook, "remove", who, surface, now)


def note(db: Database, webhook: Webhook, action: str, who: str, surface: Surface, now: Instant) -> None:
    """Say in the audit what was done to it."""
    entry = AuditEntry(
        at=now,
        who=who,
        surface=surface,
        action=action,
        noun="webhook",
        id=webhook.id,
        outcome=_OUTCOMES[action],
        about=webhook.url,
        project_id=webhook.project_id,
    )
    audit.record(db, entry)


_OUTCOMES = {
    "add": "added",
    "remove": "removed",
    "pause": "paused",
    "resume": "resumed",
    "rotate": "rotated",
    "redeliver": "tried",
}


def give_up(db: Database, webhook: Webhook, letter: DeadLetter) -> None:
    """Keep a delivery that failed too often; `webhook` is past it already."""
    WEBHOOKS.update(db, webhook)
    row = LetterRow
    names = ("id", "webhook_id", "seq", "type", "thing", "attempts", "error")
    row.insert(**{name: getattr(letter, name) for name in names}, at=int(letter.at)).execute(db)
    mine = row.webhook_id == webhook.id
    old = row.select(row.id).where(mine).order_by(row.seq.desc()).offset(KEPT_LETTERS).limit(-1)
    row.delete().where(row.id.in_([id for (id,) in old.tuples().execute(db)])).execute(db)


def letters(db: Database, webhook_id: str) -> list[DeadLetter]:
    """Oldest first."""
    row = LetterRow
    query = row.select(
        row.id, row.webhook_id, row.seq, row.type, row.thing, row.at, row.attempts, row.error
    ).where(row.webhook_id == webhook_id)  # fmt: skip
    return [
        DeadLetter(
            id=id, webhook_id=owner, seq=seq, type=type, thing=thing, at=Instant(at), attempts=attempts, error=error
        )
        for id, owner, seq, type, thing, at, attempts, error in query.order_by(row.seq).tuples().execute(db)
    ]


def letter(db: Database, webhook_id: str, letter_id: str) -> DeadLetter:
    """Raises `NotFoundError`."""
    for found in letters(db, webhook_id):
        if found.id == letter_id:
            return found
    raise NotFoundError(f"dead letter {letter_id} not found", id=letter_id)


def count_letters(db: Database, webhook_id: str) -> int:
    return int(LetterRow.select(fn.COUNT(LetterRow.id)).where(LetterRow.webhook_id == webhook_id).scalar(db))


def settle(db: Database, letter: DeadLetter, error: str) -> None:
    """A dead letter was sent again: it is gone when that succeeded, else it has one more failure."""
    mine = LetterRow.id == letter.id
    if not error:
        LetterRow.delete().where(mine).execute(db)
    else:
        LetterRow.update(attempts=LetterRow.attempts + 1, error=error).where(mine).execute(db)
