"""SQL that is written once as text: the ORM's own building of a statement costs ten times its execution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from peewee import Database, SqliteDatabase


def run(db: Database, sql: str, params: Sequence[Any] = ()) -> Any:
    """Execute `sql`, whose parameters are `?` in every dialect (so it holds no other question mark); the cursor."""
    if isinstance(db, SqliteDatabase):
        # Past peewee's bookkeeping, which costs more than a small statement itself. Errors are sqlite3's own then.
        return db.connection().execute(sql, params)
    return db.execute_sql(sql.replace("?", db.param), params)


def insert_seq(db: Database, sql: str, params: Sequence[Any]) -> int:
    """Execute an `INSERT` into a table whose key `seq` the database chooses, and return that key."""
    if isinstance(db, SqliteDatabase):
        return int(db.connection().execute(sql, params).lastrowid)
    return int(run(db, f"{sql} RETURNING seq", params).fetchone()[0])


def marks(values: Iterable[Any]) -> str:
    """`?,?,?`: one mark per value, for `IN (…)`."""
    return ",".join("?" for _ in values)
