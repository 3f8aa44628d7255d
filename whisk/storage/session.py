"""Sessions on disk: key columns to look them up by, and the record itself as JSON."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.storage.migration import Migration
from whisk.storage.page import WHOLE, Page, cut
from whisk.storage.terminal import TerminalRow
from whisk.terminal.pty import PtyRecord
from whisk.values import decode, encode
from whisk.work.session import Session


class SessionRow(Model):
    id = TextField(primary_key=True)
    project_id = TextField(null=True)
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "session"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE session (id TEXT NOT NULL PRIMARY KEY, project_id TEXT, created_at BIGINT NOT NULL,"
        " updated_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX session_project ON session (project_id)")


MIGRATIONS: list[Migration] = [Migration("session.create", _create)]


def insert(db: Database, session: Session, now: Instant) -> None:
    SessionRow.insert(
        id=session.id, project_id=session.project_id, created_at=int(now), updated_at=int(now), doc=_doc(session)
    ).execute(db)


def update(db: Database, session: Session, now: Instant) -> None:
    """Raises `NotFoundError` when the session is no longer there: a late change must not bring it back."""
    changed = (
        SessionRow.update(project_id=session.project_id, updated_at=int(now), doc=_doc(session))
        .where(SessionRow.id == session.id)
        .execute(db)
    )
    if not changed:
        raise _unknown(session.id)


def delete(db: Database, session_id: str) -> bool:
    """Whether there was one."""
    return bool(SessionRow.delete().where(SessionRow.id == session_id).execute(db))


def get(db: Database, session_id: str) -> Session:
    """Raises `NotFoundError`."""
    row = SessionRow.select(SessionRow.doc).where(SessionRow.id == session_id).tuples().execute(db)
    for (doc,) in row:
        return decode(doc, Session)
    raise _unknown(session_id)


def select(db: Database, project_id: str | None = None, page: Page = WHOLE) -> list[Session]:
    """Oldest first; all of them, or those of one project."""
    query = SessionRow.select(SessionRow.doc)
    if project_id is not None:
        query = query.where(SessionRow.project_id == project_id)
    query = cut(db, query, SessionRow, (SessionRow.created_at, SessionRow.id), page)
    return [decode(doc, Session) for (doc,) in query.tuples().execute(db)]


def select_terminals(db: Database, page: Page = WHOLE) -> list[PtyRecord]:
    """The terminals of the sessions that there are, oldest first."""
    query = TerminalRow.select(TerminalRow.doc).where(TerminalRow.session_id.in_(SessionRow.select(SessionRow.id)))
    query = cut(db, query, TerminalRow, (TerminalRow.created_at, TerminalRow.id), page)
    return [decode(doc, PtyRecord) for (doc,) in query.tuples().execute(db)]


def _unknown(session_id: str) -> NotFoundError:
    return NotFoundError(f"session {session_id} not found", session=session_id)


def _doc(session: Session) -> str:
    return encode(session).decode()
