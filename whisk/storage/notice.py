"""How far notices have been sent, and of what lately: so that a restart neither forgets nor repeats one."""

from __future__ import annotations

from peewee import Database

from whisk.clock import Instant
from whisk.storage import matter
from whisk.storage.migration import Migration
from whisk.storage.statement import run

KEPT_SECONDS = 7 * 86_400.0


def _create(db: Database) -> None:
    db.execute_sql("CREATE TABLE notice_place (up_to BIGINT NOT NULL)")
    db.execute_sql("CREATE TABLE notice_sent (key TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL)")


MIGRATIONS: list[Migration] = [Migration("notice.create", _create)]


def begin(db: Database) -> int:
    """The number of the last matter that was looked at; the first time, of the newest there is."""
    row = run(db, "SELECT up_to FROM notice_place").fetchone()
    if row is None:
        row = (matter.last(db),)
        run(db, "INSERT INTO notice_place VALUES (?)", row)
    return int(row[0])


def end(db: Database) -> None:
    """Nobody is to be told any more: what happens meanwhile is not made up for later."""
    run(db, "DELETE FROM notice_place")


def move(db: Database, up_to: int, key: str, now: Instant) -> None:
    """All up to that matter has been looked at; with a `key`, a person has been told of it."""
    run(db, "UPDATE notice_place SET up_to = ?", (up_to,))
    if key:
        run(db, "DELETE FROM notice_sent WHERE at < ?", (int(now.plus(-KEPT_SECONDS)),))
        query = "INSERT INTO notice_sent VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET at = excluded.at"
        run(db, query, (key, int(now)))


def sent_at(db: Database, key: str) -> Instant | None:
    """When a person was last told of this."""
    row = run(db, "SELECT at FROM notice_sent WHERE key = ?", (key,)).fetchone()
    return None if row is None else Instant(row[0])
