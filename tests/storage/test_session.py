"""Sessions in a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.storage import session as storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.terminal.pty import PtySpec, new_record
from whisk.work.session import CreateSession, Session, attach_pty, new_session, set_project, split_pane

NOW = Instant(1_800_000_000_000_000_000)


def make(number: int, project: str = "") -> Session:
    return new_session(
        CreateSession(root_dir=f"/src/é{number}", project_id=project),
        session_id=f"sess_{number}",
        window_id=f"win_{number}",
        pane_id=f"pane_{number}",
    )


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path, migrations=[*terminal_storage.MIGRATIONS, *storage.MIGRATIONS])
    yield store
    store.close()


@pytest.fixture
def writer(store: Store) -> GroupWriter:
    return GroupWriter(store)


def test_a_session_is_there_after_the_file_is_opened_again(path: Path, store: Store, writer: GroupWriter) -> None:
    session = attach_pty(split_pane(make(1), "win_1", "pane_1", "vertical", "pane_2"), "pane_2", "pty_1")
    writer.write(lambda db: storage.insert(db, session, NOW))
    store.close()
    again = Store.open(path, migrations=[*terminal_storage.MIGRATIONS, *storage.MIGRATIONS])
    assert again.read(lambda db: storage.get(db, "sess_1")) == session
    again.close()


def test_a_change_replaces_the_record(store: Store, writer: GroupWriter) -> None:
    writer.write(lambda db: storage.insert(db, make(1), NOW))
    writer.write(lambda db: storage.update(db, set_project(make(1), "proj_1"), NOW.plus(1)))
    assert store.read(lambda db: storage.select(db, "proj_1")) == [set_project(make(1), "proj_1")]


def test_a_late_change_does_not_bring_a_closed_session_back(store: Store, writer: GroupWriter) -> None:
    writer.write(lambda db: storage.insert(db, make(1), NOW))
    assert writer.write(lambda db: storage.delete(db, "sess_1")) is True
    assert writer.write(lambda db: storage.delete(db, "sess_1")) is False
    with pytest.raises(NotFoundError, match="session sess_1 not found"):
        writer.write(lambda db: storage.update(db, make(1), NOW))
    with pytest.raises(NotFoundError, match="session sess_1 not found"):
        store.read(lambda db: storage.get(db, "sess_1"))


def test_sessions_are_listed_oldest_first_and_by_project(store: Store, writer: GroupWriter) -> None:
    writer.write(lambda db: storage.insert(db, make(2, "proj_1"), NOW.plus(1)))
    writer.write(lambda db: storage.insert(db, make(1), NOW))
    writer.write(lambda db: storage.insert(db, make(3, "proj_2"), NOW.plus(2)))
    assert [each.id for each in store.read(storage.select)] == ["sess_1", "sess_2", "sess_3"]
    assert [each.id for each in store.read(lambda db: storage.select(db, "proj_1"))] == ["sess_2"]


def test_terminals_are_listed_only_of_sessions_that_exist(store: Store, writer: GroupWriter) -> None:
    for number, session_id in enumerate(("sess_1", "sess_gone", "sess_1")):
        spec = PtySpec(argv=("sh",), working_dir="/", env={}, session_id=session_id)
        record = new_record(f"pty_{number}", spec, NOW.plus(-number))
        writer.write(lambda db, record=record: terminal_storage.insert(db, record, NOW))  # type: ignore[misc]
    writer.write(lambda db: storage.insert(db, make(1), NOW))
    assert [record.id for record in store.read(storage.select_terminals)] == ["pty_2", "pty_0"]
