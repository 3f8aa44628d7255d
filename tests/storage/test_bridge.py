"""Bridges, requests and policies in a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.captured import NOW, request
from whisk.bridges.bridge import BridgeOwner, open_bridge
from whisk.bridges.policy import PolicyDraft, new_policy
from whisk.bridges.request import BridgeRequest, answered, close, ended
from whisk.bridges.resolution import Resolution, resolve
from whisk.errors import ConflictError, GoneError, NotFoundError
from whisk.storage import audit
from whisk.storage import bridge as bridge_storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter

MIGRATIONS = [*bridge_storage.MIGRATIONS, *audit.MIGRATIONS]


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path, migrations=MIGRATIONS)
    yield store
    store.close()


def pending(number: int) -> BridgeRequest:
    made = request("claude", "PermissionRequest-Bash")
    return msgspec.structs.replace(made, relay_id=f"relay_{number}", created_at=NOW.plus(number))


def decided(found: BridgeRequest, word: str, seconds: float = 1) -> BridgeRequest:
    answer = resolve(found.ask, Resolution(answer=word))
    return close(found, answered(found, answer, NOW.plus(seconds), "ada"))


def test_requests_come_back_whole_after_reopening(store: Store, path: Path) -> None:
    asked = [pending(1), pending(2)]
    writer = GroupWriter(store)
    for each in asked:
        writer.write(lambda db, each=each: bridge_storage.insert_request(db, each))
    store.close()
    again = Store.open(path, migrations=MIGRATIONS)
    assert again.read(lambda db: bridge_storage.list_requests(db, ["pending"])) == asked
    found = again.read(lambda db: bridge_storage.find_by_relay(db, asked[1].bridge_id, "relay_2"))
    assert found == asked[1]
    assert again.read(lambda db: bridge_storage.find_by_relay(db, "brg_other", "relay_2")) is None
    again.close()


def test_the_second_of_two_answers_is_refused_with_the_first(store: Store) -> None:
    writer = GroupWriter(store)
    asked = pending(1)
    writer.write(lambda db: bridge_storage.insert_request(db, asked))
    denied, allowed = decided(asked, "deny"), decided(asked, "allow")
    writer.write(lambda db: bridge_storage.close_request(db, denied))
    with pytest.raises(ConflictError, match="denied by ada"):
        writer.write(lambda db: bridge_storage.close_request(db, allowed))
    assert store.read(lambda db: bridge_storage.REQUESTS.get(db, asked.id)) == denied


def test_both_answers_in_one_group_leave_one(store: Store) -> None:
    writer = GroupWriter(store)
    asked = pending(1)
    writer.write(lambda db: bridge_storage.insert_request(db, asked))
    closings = [decided(asked, "allow"), decided(asked, "deny")]
    outcomes = writer.run([lambda db, each=each: bridge_storage.close_request(db, each) for each in closings])
    assert outcomes[0].error is None
    assert isinstance(outcomes[1].error, ConflictError)


def test_a_request_that_is_past_or_unknown_takes_no_answer(store: Store) -> None:
    writer = GroupWriter(store)
    asked = pending(1)
    with pytest.raises(NotFoundError, match="prompt appr_"):
        writer.write(lambda db: bridge_storage.close_request(db, decided(asked, "allow")))
    writer.write(lambda db: bridge_storage.insert_request(db, asked))
    gone = close(asked, ended("withdrawn", NOW, "agent", "hook_gone"))
    writer.write(lambda db: bridge_storage.close_request(db, gone))
    with pytest.raises(GoneError):
        writer.write(lambda db: bridge_storage.close_request(db, decided(asked, "allow")))


def test_one_hook_makes_one_request(store: Store) -> None:
    writer = GroupWriter(store)
    asked = pending(1)
    again = msgspec.structs.replace(asked, id="appr_other")
    writer.write(lambda db: bridge_storage.insert_request(db, asked))
    with pytest.raises(Exception, match="UNIQUE"):
        writer.write(lambda db: bridge_storage.insert_request(db, again))


def test_old_closed_requests_are_pruned_and_pending_ones_never(store: Store) -> None:
    writer = GroupWriter(store)
    asked = [pending(number) for number in range(6)]
    for each in asked:
        writer.write(lambda db, each=each: bridge_storage.insert_request(db, each))
    for number, each in enumerate(asked[1:]):
        closed = decided(each, "allow", number)
        writer.write(lambda db, closed=closed: bridge_storage.close_request(db, closed))
    assert writer.write(lambda db: bridge_storage.prune_requests(db, keep=2)) == 3
    left = store.read(bridge_storage.list_requests)
    assert [each.id for each in left] == [asked[0].id, asked[4].id, asked[5].id]
    newest = store.read(lambda db: bridge_storage.list_requests(db, limit=2))
    assert [each.id for each in newest] == [asked[4].id, asked[5].id]
    # Few but large ones go as well, and again never one that waits.
    size = store.read(lambda db: max(len(row[0]) for row in db.execute_sql("SELECT doc FROM bridge_request")))
    assert writer.write(lambda db: bridge_storage.prune_requests(db, keep_characters=size + size // 2)) == 1
    assert writer.write(lambda db: bridge_storage.prune_requests(db, keep_characters=10)) == 1
    assert [each.id for each in store.read(bridge_storage.list_requests)] == [asked[0].id]


def test_closed_bridges_are_not_listed_as_open(store: Store) -> None:
    writer = GroupWriter(store)
    made = [open_bridge(BridgeOwner(provider="claude", pty_id=f"pty_{n}"), NOW.plus(n))[0] for n in range(2)]
    for each in made:
        writer.write(lambda db, each=each: bridge_storage.BRIDGES.insert(db, each))
    closed = msgspec.structs.replace(made[0], closed_at=NOW)
    writer.write(lambda db: bridge_storage.BRIDGES.update(db, closed))
    assert store.read(bridge_storage.open_bridges) == [made[1]]


def test_policies_are_kept_and_deleted(store: Store) -> None:
    writer = GroupWriter(store)
    rule = new_policy(PolicyDraft(effect="deny", rule="Bash(rm *)", reason="no"), NOW)
    writer.write(lambda db: bridge_storage.POLICIES.insert(db, rule))
    assert store.read(bridge_storage.POLICIES.select) == [rule]
    assert writer.write(lambda db: bridge_storage.delete_policy(db, rule.id, NOW)) == rule
    with pytest.raises(NotFoundError):
        writer.write(lambda db: bridge_storage.delete_policy(db, rule.id, NOW))
