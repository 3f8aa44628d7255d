"""Peers: the agent sessions that whisk knows of, whoever started them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.peers.peer import Peer
from whisk.storage import peer as storage
from whisk.storage.page import Page
from whisk.storage.peer import PEERS, PeerQuery
from whisk.values import Record

LIMIT = 1000


class PeerFilter(Record, frozen=True):
    """`after` is the id of the last peer seen, `limit` how many at most."""

    status: Literal["online", "offline", ""] = ""
    runtime: str = ""
    provider_session_id: str = ""
    pty_id: str = ""
    run_id: str = ""
    work_item_id: str = ""
    project_id: str = ""
    after: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=LIMIT)] = LIMIT


def list_peers(api: Api, request: Request[None, PeerFilter]) -> list[Peer]:
    fields = msgspec.structs.asdict(request.query)
    page = Page(after=fields.pop("after") or None, limit=fields.pop("limit"))
    return api.store.read(lambda db: storage.select(db, PeerQuery(**fields), page))


def show_peer(api: Api, request: Request[None, None]) -> Peer:
    return api.store.read(lambda db: PEERS.get(db, request.path["peer_id"]))


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/peers",
        list_peers,
        "List agent sessions, in the order in which they were first seen",
        query=PeerFilter,
        reply=list[Peer],
        operation="listPeers",
    ),
    Route("GET", "/v1/peers/{peer_id}", show_peer, "Read an agent session", reply=Peer, operation="getPeer"),
)
