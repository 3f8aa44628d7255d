"""Peers over HTTP: which are listed, in which parts, and what an unknown one is."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.captured import NOW, load
from tests.work_desk import Desk
from whisk.actors.future import get
from whisk.hooks.entry import HookContext
from whisk.peers.peer import Peer, after_event, end, new_peer
from whisk.storage import peer as storage

Call = Any


@pytest.fixture
def three(desk: Desk) -> list[Peer]:
    """A Claude Code in a terminal, one that has ended, and a Codex of a project."""
    made = []
    for number, (provider, context) in enumerate(
        [
            ("claude", HookContext(pty_id="pty_1")),
            ("claude", HookContext()),
            ("codex", HookContext(project_id="proj_1", run_id="run_1", work_item_id="item_1")),
        ]
    ):
        event = load(provider, "Stop", session_id=f"s{number}")
        now = NOW.plus(number)
        made.append(after_event(new_peer(f"peer_{number}", event, now), event, context, now))
    made[1] = end(made[1], NOW.plus(9), "process_gone")
    get(desk.journal.write.remote(lambda db: [storage.save(db, peer) for peer in made]))
    return made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "012"),
        ({"status": "online"}, "02"),
        ({"status": "offline"}, "1"),
        ({"runtime": "codex"}, "2"),
        ({"ptyId": "pty_1"}, "0"),
        ({"providerSessionId": "s1"}, "1"),
        ({"projectId": "proj_1", "runId": "run_1", "workItemId": "item_1"}, "2"),
        ({"limit": 1}, "0"),
        ({"after": "peer_0", "limit": 1}, "1"),
    ],
)
def test_the_list_is_narrowed_and_cut(call: Call, three: list[Peer], query: dict[str, Any], found: str) -> None:
    answer = call("GET", f"/v1/peers?{urlencode(query)}")
    assert [each["id"] for each in answer.json] == [f"peer_{number}" for number in found]


def test_an_ended_peer_has_its_handoff(call: Call, three: list[Peer]) -> None:
    peer = call("GET", "/v1/peers/peer_1").json
    assert (peer["status"], peer["handoff"]["cause"]) == ("offline", "process_gone")


def test_an_unknown_peer_is_404(call: Call) -> None:
    answer = call("GET", "/v1/peers/peer_9")
    assert (answer.status, answer.code) == (404, "not_found")


def test_clearing_the_daemon_forgets_the_peers_that_have_ended(call: Call, three: list[Peer]) -> None:
    assert call("POST", "/v1/daemon/clear", {}).status == 200
    assert [each["id"] for each in call("GET", "/v1/peers").json] == ["peer_0", "peer_2"]
