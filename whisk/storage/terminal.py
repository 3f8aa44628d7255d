"""Terminals on disk: key columns to look them up by, and the record itself as JSON."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.storage.migration import Migration
from whisk.terminal.pty import PtyRecord
from whisk.values import decode, encode


class TerminalRow(Model):
    id = TextField(primary_key=True)
    status = TextField()
    session_id = TextField()
    run_id = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "terminal"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE terminal (id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, session_id TEXT NOT NULL,"
        " run_id TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX terminal_session ON terminal (session_id)")
    db.execute_sql("CREATE INDEX terminal_run ON terminal (run_id)")
    db.execute_sql("CREATE INDEX terminal_status ON terminal (status)")


MIGRATIONS: list[Migration] = [Migration("terminal.create", _create)]


def insert(db: Database, record: PtyRecord, now: Instant) -> None:
    TerminalRow.insert(id=record.id, created_at=int(record.created_at), **_columns(record, now)).execute(db)


def update(db: Database, record: PtyRecord, now: Instant) -> None:
    """Raises `NotFoundError` when the terminal is no longer there: a late change must not bring it back."""
    changed = TerminalRow.update(**_columns(record, now)).where(TerminalRow.id == record.id).execute(db)
    if not changed:
        raise _unknown(record.id)


def delete(db: Database, pty_id: str) -> bool:
    """Whether there was one."""
    return bool(TerminalRow.delete().where(TerminalRow.id == pty_id).execute(db))


def get(db: Database, pty_id: str) -> PtyRecord:
    """Raises `NotFoundError`."""
    record = find(db, pty_id)
    if record is None:
        raise _unknown(pty_id)
    return record


def find(db: Database, pty_id: str) -> PtyRecord | None:
    for (doc,) in TerminalRow.select(TerminalRow.doc).where(TerminalRow.id == pty_id).tuples().execute(db):
        return decode(doc, PtyRecord)
    return None


def select(db: Database, session_id: str | None = None, run_id: str | None = None) -> list[PtyRecord]:
    """Oldest first; all of them, or those of one session or run."""
    query = TerminalRow.select(TerminalRow.doc).order_by(TerminalRow.created_at, TerminalRow.id)
    if session_id is not None:
        query = query.where(TerminalRow.session_id == session_id)
    if run_id is not None:
        query = query.where(TerminalRow.run_id == run_id)
    return [decode(doc, PtyRecord) for (doc,) in query.tuples().execute(db)]


def select_newest(db: Database, limit: int, session_id: str | None = None) -> list[PtyRecord]:
    """The `limit` newest, oldest first; of all sessions, or of one."""
    query = TerminalRow.select(TerminalRow.doc).order_by(TerminalRow.created_at.desc(), TerminalRow.id.desc())
    if session_id is not None:
        query = query.where(TerminalRow.session_id == session_id)
    return [decode(doc, PtyRecord) for (doc,) in query.limit(limit).tuples().execute(db)][::-1]


def select_ids(db: Database) -> set[str]:
    return {pty_id for (pty_id,) in TerminalRow.select(TerminalRow.id).tuples().execute(db)}


def select_ended(db: Database) -> list[tuple[str, bool]]:
    """The ids of terminals that have ended, the longest ended first, and whether their session is still there."""
    sql = (
        "SELECT terminal.id, session.id IS NOT NULL FROM terminal LEFT JOIN session ON session.id = terminal.session_id"
        " WHERE terminal.status NOT IN ('starting', 'running') ORDER BY terminal.updated_at, terminal.id"
    )
    return [(pty_id, bool(listed)) for pty_id, listed in db.execute_sql(sql)]


def select_alive(db: Database) -> list[PtyRecord]:
    """Those that were starting or running when last heard of: what a new daemon has to adopt. Oldest first."""
    query = TerminalRow.select(TerminalRow.doc).where(TerminalRow.status.in_(("starting", "running")))
    rows = query.order_by(TerminalRow.created_at, TerminalRow.id).tuples().execute(db)
    return [decode(doc, PtyRecord) for (doc,) in rows]


def _columns(record: PtyRecord, now: Instant) -> dict[str, object]:
    return {
        "status": record.status,
        "session_id": record.session_id,
        "run_id": record.run_id,
        "updated_at": int(now),
        "doc": encode(record).decode(),
    }


def _unknown(pty_id: str) -> NotFoundError:
    return NotFoundError(f"pty {pty_id} not found", pty=pty_id)
