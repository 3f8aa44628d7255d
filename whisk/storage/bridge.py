"""Bridges, the requests of blocked hooks, and policies, on disk.

A request is closed by compare-and-set: whoever comes second is refused with the winner, even across two daemons.
"""

from __future__ import annotations

from collections.abc import Iterable

from peewee import BigIntegerField, Database, Model, TextField, fn

from whisk.bridges.bridge import Bridge
from whisk.bridges.policy import Policy
from whisk.bridges.request import BridgeRequest, State, taken
from whisk.bridges.trail import closed_entry, policy_entry
from whisk.clock import Instant
from whisk.matters.audit import Surface
from whisk.storage import audit
from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import Page
from whisk.values import encode

KEPT_REQUESTS = 5000
KEPT_CHARACTERS = 64 * 1024 * 1024
"""Closed requests are deleted beyond the newest so many, and beyond so much of them: one may hold a whole file."""


class BridgeRow(Model):
    id = TextField(primary_key=True)
    pty_id = TextField()
    created_at = BigIntegerField()
    closed_at = BigIntegerField(null=True)
    doc = TextField()

    class Meta:
        table_name = "bridge"


class RequestRow(Model):
    id = TextField(primary_key=True)
    bridge_id = TextField()
    relay_id = TextField()
    state = TextField()
    created_at = BigIntegerField()
    closed_at = BigIntegerField(null=True)
    doc = TextField()

    class Meta:
        table_name = "bridge_request"


class PolicyRow(Model):
    id = TextField(primary_key=True)
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "policy"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE bridge (id TEXT NOT NULL PRIMARY KEY, pty_id TEXT NOT NULL, created_at BIGINT NOT NULL,"
        " closed_at BIGINT, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX bridge_open ON bridge (closed_at, created_at)")
    db.execute_sql("CREATE INDEX bridge_pty ON bridge (pty_id)")
    db.execute_sql(
        "CREATE TABLE bridge_request (id TEXT NOT NULL PRIMARY KEY, bridge_id TEXT NOT NULL, relay_id TEXT NOT NULL,"
        " state TEXT NOT NULL, created_at BIGINT NOT NULL, closed_at BIGINT, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE UNIQUE INDEX bridge_request_relay ON bridge_request (bridge_id, relay_id)")
    db.execute_sql("CREATE INDEX bridge_request_state ON bridge_request (state, created_at)")
    db.execute_sql("CREATE INDEX bridge_request_closed ON bridge_request (closed_at)")
    db.execute_sql("CREATE TABLE policy (id TEXT NOT NULL PRIMARY KEY, created_at BIGINT NOT NULL, doc TEXT NOT NULL)")


MIGRATIONS: list[Migration] = [Migration("bridge.create", _create)]


BRIDGES = Documents(
    BridgeRow,
    Bridge,
    "agent bridge",
    lambda bridge: {
        "id": bridge.id,
        "pty_id": bridge.owner.pty_id,
        "created_at": int(bridge.created_at),
        "closed_at": None if bridge.closed_at is None else int(bridge.closed_at),
    },
)
REQUESTS = Documents(
    RequestRow,
    BridgeRequest,
    "prompt",
    lambda request: {
        "id": request.id,
        "bridge_id": request.bridge_id,
        "relay_id": request.relay_id,
        "state": request.state,
        "created_at": int(request.created_at),
        "closed_at": None if request.closing is None else int(request.closing.at),
    },
)
POLICIES = Documents(
    PolicyRow, Policy, "policy", lambda policy: {"id": policy.id, "created_at": int(policy.created_at)}
)


def open_bridges(db: Database) -> list[Bridge]:
    """Those whose terminal has not ended."""
    return BRIDGES.select(db, BridgeRow.closed_at.is_null())


def insert_request(db: Database, request: BridgeRequest) -> None:
    """A new request, or one that a rule has decided at once."""
    REQUESTS.insert(db, request)
    if request.closing is not None:
        audit.record(db, closed_entry(request))


def close_request(db: Database, closed: BridgeRequest) -> BridgeRequest:
    """Store the end of a request that is still pending; raises what `taken` says when it is not, with the winner."""
    keys = {"state": closed.state, "closed_at": None if closed.closing is None else int(closed.closing.at)}
    from_pending = (RequestRow.id == closed.id) & (RequestRow.state == "pending")
    doc = encode(closed).decode()
    if not RequestRow.update(**keys, doc=doc).where(from_pending).execute(db):
        raise taken(REQUESTS.get(db, closed.id))
    audit.record(db, closed_entry(closed))
    return closed


def find_by_relay(db: Database, bridge_id: str, relay_id: str) -> BridgeRequest | None:
    """The request that this waiting hook made, whatever became of it."""
    found = REQUESTS.select(db, RequestRow.bridge_id == bridge_id, RequestRow.relay_id == relay_id)
    return found[0] if found else None


def list_requests(db: Database, states: Iterable[State] | None = None, limit: int | None = None) -> list[BridgeRequest]:
    """Those in one of `states` (None: any), oldest first; with `limit`, the newest so many of them."""
    where = [] if states is None else [RequestRow.state.in_(list(states))]
    if limit is None:
        return REQUESTS.select(db, *where)
    newest = REQUESTS.select(
        db, *where, order=(RequestRow.created_at.desc(), RequestRow.id.desc()), page=Page(limit=limit)
    )
    return newest[::-1]


def closed_since(db: Database, since: Instant) -> list[BridgeRequest]:
    """Those that were closed at or after `since`, oldest first."""
    return REQUESTS.select(db, RequestRow.closed_at >= int(since))


def prune_requests(db: Database, keep: int = KEPT_REQUESTS, keep_characters: int = KEPT_CHARACTERS) -> int:
    """Delete the oldest closed requests until both bounds hold; returns how many went."""
    row = RequestRow
    size = fn.LENGTH(row.doc).coerce(False)  # else peewee makes it a text like the column
    newest_first = row.select(row.id, row.closed_at, size).where(row.closed_at.is_null(False))
    total = 0
    for number, (request_id, closed_at, characters) in enumerate(
        newest_first.order_by(row.closed_at.desc(), row.id.desc()).tuples().execute(db)
    ):
        total += characters
        if number >= keep or total > keep_characters:
            old = (row.closed_at < closed_at) | ((row.closed_at == closed_at) & (row.id <= request_id))
            return int(row.delete().where(old).execute(db))
    return 0


def insert_policy(db: Database, policy: Policy, surface: Surface = "") -> None:
    POLICIES.insert(db, policy)
    audit.record(db, policy_entry(policy, "add", policy.created_by, surface, policy.created_at))


def delete_policy(db: Database, policy_id: str, now: Instant, who: str = "", surface: Surface = "") -> Policy:
    """Raises `NotFoundError`."""
    found = POLICIES.get(db, policy_id)
    PolicyRow.delete().where(PolicyRow.id == policy_id).execute(db)
    audit.record(db, policy_entry(found, "remove", who, surface, now))
    return found
