"""Terminals in a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.storage import terminal as storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.terminal.pty import PtyRecord, PtySpec, end, new_record, run

NOW = Instant(1_800_000_000_000_000_000)


def make(number: int, session: str = "sess_1", run_id: str = "") -> PtyRecord:
    spec = PtySpec(argv=("caf\u00e9", "-x"), working_dir="/", env={}, session_id=session, run_id=run_id)
    return new_record(f"pty_{number}", spec, NOW.plus(number))


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path, migrations=storage.MIGRATIONS)
    yield store
    store.close()


@pytest.fixture
def writer(store: Store) -> GroupWriter:
    return GroupWriter(store)


def test_a_terminal_is_there_after_the_file_is_opened_again(path: Path, store: Store, writer: GroupWriter) -> None:
    record = run(make(1), 42, 1.5, NOW)
    writer.write(lambda db: storage.insert(db, record, NOW))
    store.close()
    again = Store.open(path, migrations=storage.MIGRATIONS)
    assert again.read(lambda db: storage.get(db, "pty_1")) == record
    again.close()


def test_only_those_that_ran_when_last_heard_of_are_to_be_adopted(store: Store, writer: GroupWriter) -> None:
    running, ended = run(make(1), 42, 1.5, NOW), end(make(2), 0, None, False, NOW)
    for record in (ended, make(3), running):
        writer.write(lambda db, record=record: storage.insert(db, record, NOW))
    assert [each.id for each in store.read(storage.select_alive)] == ["pty_1", "pty_3"]
    writer.write(lambda db: storage.update(db, end(running, 0, None, False, NOW), NOW))
    assert [each.id for each in store.read(storage.select_alive)] == ["pty_3"]


def test_terminals_are_listed_oldest_first_by_session_and_by_run(store: Store, writer: GroupWriter) -> None:
    for record in (make(3, "sess_2", "run_1"), make(1), make(2, run_id="run_1")):
        writer.write(lambda db, record=record: storage.insert(db, record, NOW))
    assert [each.id for each in store.read(storage.select)] == ["pty_1", "pty_2", "pty_3"]
    assert [each.id for each in store.read(lambda db: storage.select(db, "sess_1"))] == ["pty_1", "pty_2"]
    assert [each.id for each in store.read(lambda db: storage.select(db, run_id="run_1"))] == ["pty_2", "pty_3"]


def test_a_late_change_does_not_bring_a_removed_terminal_back(store: Store, writer: GroupWriter) -> None:
    writer.write(lambda db: storage.insert(db, make(1), NOW))
    assert writer.write(lambda db: storage.delete(db, "pty_1"))
    assert not writer.write(lambda db: storage.delete(db, "pty_1"))
    with pytest.raises(NotFoundError, match="pty pty_1 not found"):
        writer.write(lambda db: storage.update(db, make(1), NOW))
    assert store.read(lambda db: storage.find(db, "pty_1")) is None
