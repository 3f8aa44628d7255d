"""What the hook log and the requests of a terminal tell about its agent's turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from peewee import Database

from whisk.bridges.prompt import prompt_of
from whisk.bridges.request import BridgeRequest
from whisk.hooks.entry import AgentBridgeEvent
from whisk.hooks.turn import TELLING, Decision, Turn, TurnReport, turn_of
from whisk.storage.bridge import REQUESTS, BridgeRow, RequestRow
from whisk.storage.hook_event import HookEventRow
from whisk.storage.page import Page
from whisk.values import decode

# A terminal's last events are enough: one of them tells, unless a hundred notifications came since.
_LOOKED_AT = 100


def last_turn(db: Database, pty_id: str) -> Turn | None:
    """Where the agent of a terminal is in its turn; None when nothing tells."""
    mine = RequestRow.bridge_id.in_(BridgeRow.select(BridgeRow.id).where(BridgeRow.pty_id == pty_id))
    pending = _newest(db, mine & (RequestRow.state == "pending"), RequestRow.created_at)
    if pending is not None:
        # However much is reported meanwhile, a person is waited for.
        prompt = prompt_of(pending).message
        return Turn(state="waiting", at=pending.created_at, provider=pending.provider, prompt=prompt)
    return turn_of(_reports(db, pty_id), lambda at: _decision(db, mine & (RequestRow.closed_at > int(at))))


def _newest(db: Database, where: Any, by: Any) -> BridgeRequest | None:
    found = REQUESTS.select(db, where, order=(by.desc(), RequestRow.id.desc()), page=Page(limit=1))
    return found[0] if found else None


def _decision(db: Database, where: Any) -> Decision | None:
    request = _newest(db, where, RequestRow.closed_at)
    closing = request.closing if request is not None else None
    if closing is None:
        return None
    asks = closing.action in (None, "ask")
    return Decision(at=closing.at, state=closing.state, reason=closing.reason, asks=asks)


def _reports(db: Database, pty_id: str) -> Iterator[TurnReport]:
    rows = (
        HookEventRow.select(HookEventRow.doc)
        .where(HookEventRow.pty_id == pty_id, HookEventRow.event_name.in_(TELLING))
        .order_by(HookEventRow.id.desc())
        .limit(_LOOKED_AT)
    )
    for (doc,) in rows.tuples().iterator(db):
        entry = decode(doc, AgentBridgeEvent)
        yield TurnReport(
            name=entry.event_name,
            at=entry.created_at,
            provider=entry.provider,
            session=entry.provider_session_id,
            notification=entry.notification_type,
            source=entry.source,
            result=entry.result,
        )
