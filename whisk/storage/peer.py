"""Peers on disk: all that are online, and the newest of those that ended."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.peers.peer import Peer
from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import Page
from whisk.values import Record

KEPT_ENDED = 1000


class PeerRow(Model):
    id = TextField(primary_key=True)
    runtime = TextField()
    status = TextField()
    provider_session_id = TextField()
    pty_id = TextField()
    run_id = TextField()
    work_item_id = TextField()
    project_id = TextField()
    ended_at = BigIntegerField(null=True)
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "peer"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE peer (id TEXT NOT NULL PRIMARY KEY, runtime TEXT NOT NULL, status TEXT NOT NULL,"
        " provider_session_id TEXT NOT NULL, pty_id TEXT NOT NULL, run_id TEXT NOT NULL, work_item_id TEXT NOT NULL,"
        " project_id TEXT NOT NULL, ended_at BIGINT, created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX peer_standing ON peer (status, ended_at)")


MIGRATIONS: list[Migration] = [Migration("peer.create", _create)]

PEERS = Documents(
    PeerRow,
    Peer,
    "peer",
    lambda peer: {
        "id": peer.id,
        "runtime": peer.runtime,
        "status": peer.status,
        "provider_session_id": peer.provider_session_id,
        "pty_id": peer.pty_id,
        "run_id": peer.run_id,
        "work_item_id": peer.work_item_id,
        "project_id": peer.project_id,
        "ended_at": None if peer.ended_at is None else int(peer.ended_at),
        "created_at": int(peer.created_at),
    },
)


class PeerQuery(Record, frozen=True):
    """What to list: empty fields do not narrow."""

    status: str = ""
    runtime: str = ""
    provider_session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    work_item_id: str = ""
    project_id: str = ""


def find(db: Database, peer_id: str) -> Peer | None:
    found = PEERS.select(db, PeerRow.id == peer_id)
    return found[0] if found else None


def select(db: Database, query: PeerQuery, page: Page) -> list[Peer]:
    """Those that fit, in the order in which they were first seen."""
    names = query.__struct_fields__
    where = [getattr(PeerRow, name) == value for name in names if (value := getattr(query, name))]
    return PEERS.select(db, *where, page=page)


def everybody(db: Database) -> list[Peer]:
    """All that are kept, in the order in which they were first seen."""
    return PEERS.select(db)


def clear_ended(db: Database) -> None:
    """Delete those that are offline, with what they said; the others still tell of themselves."""
    PeerRow.delete().where(PeerRow.status == "offline").execute(db)


def save(db: Database, peer: Peer, keep: int = KEPT_ENDED) -> list[str]:
    """Store it. Returns the ids of ended ones that had to go: only the last `keep` of them stay."""
    PeerRow.delete().where(PeerRow.id == peer.id).execute(db)
    PEERS.insert(db, peer)
    if peer.ended_at is None:
        return []
    ended = PeerRow.select(PeerRow.id).where(PeerRow.status == "offline")
    old = [id for (id,) in ended.order_by(PeerRow.ended_at.desc(), PeerRow.id).offset(keep).tuples().execute(db)]
    if old:
        PeerRow.delete().where(PeerRow.id.in_(old)).execute(db)
    return old
