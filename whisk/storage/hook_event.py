"""The hook log on disk: the newest entries, bounded in number and in bytes."""

from __future__ import annotations

from typing import Any

import msgspec
from peewee import BigIntegerField, Database, IntegerField, Model, TextField, fn

from whisk.errors import NotFoundError
from whisk.hooks.entry import AgentBridgeEvent
from whisk.storage.migration import Migration
from whisk.values import Record, decode, encode

KEPT_ENTRIES = 20_000
KEPT_BYTES = 25 * 1024 * 1024


class HookEventRow(Model):
    id = TextField(primary_key=True)
    status = TextField()
    provider = TextField()
    event_name = TextField()
    pty_id = TextField()
    session_id = TextField()
    provider_session_id = TextField()
    size = IntegerField()
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "hook_event"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE hook_event (id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, provider TEXT NOT NULL,"
        " event_name TEXT NOT NULL, pty_id TEXT NOT NULL, session_id TEXT NOT NULL, provider_session_id TEXT NOT NULL,"
        " size BIGINT NOT NULL, created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX hook_event_pty ON hook_event (pty_id, id)")


def _create_settings(db: Database) -> None:
    db.execute_sql("CREATE TABLE hook_log_setting (id BIGINT NOT NULL PRIMARY KEY, doc TEXT NOT NULL)")


MIGRATIONS: list[Migration] = [
    Migration("hook_event.create", _create),
    Migration("hook_event.create_settings", _create_settings),
]


class HookLogSettings(Record, frozen=True):
    """Whether what agents say is kept, and whether the log is emptied when the daemon stops."""

    enabled: bool = True
    clear_after_session: bool = False


class _SettingsRow(Model):
    id = BigIntegerField(primary_key=True)
    doc = TextField()

    class Meta:
        table_name = "hook_log_setting"


class HookLogQuery(Record, frozen=True):
    """What to list: empty fields do not narrow. `limit` is how many of the newest."""

    status: str = ""
    provider: str = ""
    event_name: str = ""
    pty_id: str = ""
    session_id: str = ""
    provider_session_id: str = ""
    limit: int = 200


class HookLogSize(Record, frozen=True):
    entries: int
    bytes: int


def insert(db: Database, entry: AgentBridgeEvent) -> AgentBridgeEvent:
    doc = encode(entry).decode()
    HookEventRow.insert(**_keys(entry), size=len(doc), doc=doc).execute(db)
    return entry


def select(db: Database, query: HookLogQuery) -> list[AgentBridgeEvent]:
    """The newest entries that fit, oldest first."""
    rows = HookEventRow.select(HookEventRow.doc)
    for name in ("status", "provider", "event_name", "pty_id", "session_id", "provider_session_id"):
        if value := getattr(query, name):
            rows = rows.where(getattr(HookEventRow, name) == value)
    found = rows.order_by(HookEventRow.id.desc()).limit(query.limit).tuples().execute(db)
    return [decode(doc, AgentBridgeEvent) for (doc,) in found][::-1]


def mark_read(db: Database, entry_id: str) -> AgentBridgeEvent:
    """Raises `NotFoundError`."""
    found = HookEventRow.select(HookEventRow.doc).where(HookEventRow.id == entry_id).tuples().execute(db)
    for (doc,) in found:
        read = msgspec.structs.replace(decode(doc, AgentBridgeEvent), status="read")
        HookEventRow.update(status="read", doc=encode(read).decode()).where(HookEventRow.id == entry_id).execute(db)
        return read
    raise NotFoundError(f"hook event {entry_id} not found", id=entry_id)


def size(db: Database) -> HookLogSize:
    totals = HookEventRow.select(fn.COUNT(HookEventRow.id), fn.SUM(HookEventRow.size)).tuples().execute(db)
    ((entries, total),) = totals
    return HookLogSize(entries=int(entries), bytes=int(total or 0))


def clear(db: Database) -> int:
    """Delete all of it; returns how many entries there were."""
    return int(HookEventRow.delete().execute(db))


def load_settings(db: Database) -> HookLogSettings:
    for (doc,) in _SettingsRow.select(_SettingsRow.doc).tuples().execute(db):
        return decode(doc, HookLogSettings)
    return HookLogSettings()


def save_settings(db: Database, settings: HookLogSettings) -> HookLogSettings:
    _SettingsRow.delete().execute(db)
    _SettingsRow.insert(id=1, doc=encode(settings).decode()).execute(db)
    return settings


def prune(db: Database, keep_entries: int = KEPT_ENTRIES, keep_bytes: int = KEPT_BYTES) -> int:
    """Delete the oldest entries until both bounds hold; returns how many went."""
    newest_first = HookEventRow.select(HookEventRow.id, HookEventRow.size).order_by(HookEventRow.id.desc())
    total = 0
    for number, (entry_id, entry_size) in enumerate(newest_first.tuples().execute(db)):
        total += entry_size
        if number >= keep_entries or total > keep_bytes:
            return int(HookEventRow.delete().where(HookEventRow.id <= entry_id).execute(db))
    return 0


def _keys(entry: AgentBridgeEvent) -> dict[str, Any]:
    return {
        "id": entry.id,
        "status": entry.status,
        "provider": entry.provider,
        "event_name": entry.event_name,
        "pty_id": entry.pty_id,
        "session_id": entry.session_id,
        "provider_session_id": entry.provider_session_id,
        "created_at": int(entry.created_at),
    }
