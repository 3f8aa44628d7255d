"""The audit trail on disk. `record` is called inside the write that makes the decision, so both are stored or neither.

Entries are never changed; the database itself refuses it. They are deleted by age alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from peewee import BigIntegerField, Database, Model, TextField

from whisk.clock import Instant
from whisk.matters.audit import AuditEntry, AuditFilter, presentable
from whisk.storage.migration import Migration
from whisk.storage.statement import marks, run
from whisk.values import decode, encode

_KEYS = ("at", "who", "surface", "action", "noun", "id", "outcome", "project_id")


class AuditRow(Model):
    seq = BigIntegerField(primary_key=True)
    at = BigIntegerField()
    who = TextField()
    surface = TextField()
    action = TextField()
    noun = TextField()
    id = TextField()
    outcome = TextField()
    project_id = TextField()
    doc = TextField()

    class Meta:
        table_name = "audit"


def _create(db: Database) -> None:
    # AUTOINCREMENT: the number of a deleted entry is never given again.
    db.execute_sql(
        "CREATE TABLE audit (seq INTEGER PRIMARY KEY AUTOINCREMENT, at BIGINT NOT NULL, who TEXT NOT NULL,"
        " surface TEXT NOT NULL, action TEXT NOT NULL, noun TEXT NOT NULL, id TEXT NOT NULL, outcome TEXT NOT NULL,"
        " project_id TEXT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX audit_at ON audit (at)")
    db.execute_sql("CREATE INDEX audit_thing ON audit (id)")
    db.execute_sql("CREATE INDEX audit_who ON audit (who, seq)")
    db.execute_sql(
        "CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'an audit entry stays'); END"
    )


MIGRATIONS: list[Migration] = [Migration("audit.create", _create)]

_INSERT = f"INSERT INTO audit ({', '.join(_KEYS)}, doc) VALUES ({marks((*_KEYS, 'doc'))})"


def record(db: Database, entry: AuditEntry) -> None:
    """Add `entry`, with what looks like a secret hidden; for use inside the write of what it is about."""
    kept = presentable(entry)
    keys: dict[str, Any] = {name: getattr(kept, name) for name in _KEYS}
    run(db, _INSERT, (int(keys.pop("at")), *keys.values(), encode(kept).decode()))


def select(db: Database, chosen: AuditFilter) -> list[AuditEntry]:
    """See `AuditFilter`."""
    row = AuditRow
    query = row.select(row.seq, row.doc)
    for name in ("who", "noun", "id", "action", "outcome", "surface", "project_id"):
        if value := getattr(chosen, name):
            query = query.where(getattr(row, name) == value)
    if chosen.since is not None:
        query = query.where(row.at >= int(chosen.since))
    if chosen.until is not None:
        query = query.where(row.at < int(chosen.until))
    if chosen.after is not None:
        query = query.where(row.seq > chosen.after)
    newest = chosen.after is None
    query = query.order_by(row.seq.desc() if newest else row.seq).limit(chosen.limit)
    found = list(_entries(query.tuples().execute(db)))
    return found[::-1] if newest else found


def prune(db: Database, before: Instant) -> int:
    """Delete the entries made before that moment; returns how many there were."""
    return int(AuditRow.delete().where(AuditRow.at < int(before)).execute(db))


def _entries(rows: Any) -> Iterator[AuditEntry]:
    for seq, doc in rows:
        yield msgspec.structs.replace(decode(doc, AuditEntry), seq=seq)
