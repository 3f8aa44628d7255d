"""The hook log in a real database file: filtered, marked, and never larger than its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.captured import NOW, load
from whisk.errors import NotFoundError
from whisk.hooks.entry import AgentBridgeEvent, HookContext, entry_of
from whisk.storage import hook_event
from whisk.storage.database import Store
from whisk.storage.hook_event import HookLogQuery
from whisk.storage.journal import GroupWriter


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path, migrations=hook_event.MIGRATIONS)
    yield store
    store.close()


@pytest.fixture
def entries(store: Store) -> list[AgentBridgeEvent]:
    names = ["SessionStart-resume", "PreToolUse-Bash", "PostToolUse-Bash", "Stop"]
    made = [entry_of(load("claude", name), HookContext(pty_id=f"pty_{name[0]}"), "logged", NOW) for name in names]
    writer = GroupWriter(store)
    for each in made:
        writer.write(lambda db, each=each: hook_event.insert(db, each))
    return made


def test_entries_come_back_whole_the_newest_last(store: Store, entries: list[AgentBridgeEvent]) -> None:
    assert store.read(lambda db: hook_event.select(db, HookLogQuery())) == entries
    assert store.read(lambda db: hook_event.select(db, HookLogQuery(limit=2))) == entries[2:]
    assert store.read(lambda db: hook_event.select(db, HookLogQuery(pty_id="pty_P"))) == entries[1:3]
    assert store.read(lambda db: hook_event.select(db, HookLogQuery(event_name="Stop"))) == entries[3:]


def test_an_entry_is_marked_read(store: Store, entries: list[AgentBridgeEvent]) -> None:
    writer = GroupWriter(store)
    assert writer.write(lambda db: hook_event.mark_read(db, entries[0].id)).status == "read"
    unread = store.read(lambda db: hook_event.select(db, HookLogQuery(status="pending")))
    assert unread == entries[1:]
    with pytest.raises(NotFoundError):
        writer.write(lambda db: hook_event.mark_read(db, "hev_none"))


def test_the_oldest_entries_go_when_a_bound_is_passed(store: Store, entries: list[AgentBridgeEvent]) -> None:
    writer = GroupWriter(store)
    assert writer.write(hook_event.prune) == 0
    assert writer.write(lambda db: hook_event.prune(db, keep_entries=3)) == 1
    newest = store.read(lambda db: hook_event.select(db, HookLogQuery(limit=1)))
    room = store.read(hook_event.size).bytes - 1
    assert writer.write(lambda db: hook_event.prune(db, keep_bytes=room)) == 1
    assert store.read(hook_event.size).entries == 2
    assert store.read(lambda db: hook_event.select(db, HookLogQuery(limit=1))) == newest
    assert writer.write(hook_event.clear) == 2
    assert store.read(hook_event.size).bytes == 0
