from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import gevent
import pytest
from peewee import Database

from whisk.errors import (
    DeadlineError,
    InvalidError,
    NotADatabaseError,
    NotFoundError,
    ReadOnlyError,
    StorageError,
    UnavailableError,
    WhiskError,
)
from whisk.storage.database import WAL_BYTES, Store
from whisk.storage.journal import GroupWriter
from whisk.storage.migration import Migration

NOTHING: list[Migration] = []


def put(text: str) -> Callable[[Database], object]:
    return lambda db: db.execute_sql("INSERT INTO note (text) VALUES (?)", (text,))


def texts(db: Database) -> list[str]:
    return [text for (text,) in db.execute_sql("SELECT text FROM note ORDER BY id")]


def test_a_new_database_and_the_folders_made_for_it_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    store = Store.open(folder / "whisk.sqlite3", migrations=NOTHING)
    GroupWriter(store).write(lambda db: db.execute_sql("CREATE TABLE t (a)"))
    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in os.scandir(folder)}
    store.close()
    assert set(modes) == {"whisk.sqlite3", "whisk.sqlite3-wal", "whisk.sqlite3-shm"}
    assert set(modes.values()) == {0o600}
    assert {parent.stat().st_mode & 0o777 for parent in (folder, folder.parent)} == {0o700}


def test_a_database_that_others_could_read_is_made_private(path: Path) -> None:
    path.touch(mode=0o644)
    Store.open(path, migrations=NOTHING).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_connection_syncs_fully_and_logs_ahead(note_store: Store) -> None:
    db = note_store.writer
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("synchronous") == 2
    assert db.pragma("foreign_keys") == 1


def test_a_sqlite_url_names_the_same_file(path: Path) -> None:
    Store.open(f"sqlite:///{path}", migrations=NOTHING).close()
    assert path.exists()


@pytest.mark.parametrize("target", ["mysql://host/db", "postgresql://host/db", ":memory:", ""])
def test_an_address_of_another_kind_is_refused(target: str) -> None:
    with pytest.raises(InvalidError):
        Store.open(target, migrations=NOTHING)


def test_a_file_that_is_not_a_database_is_named_and_left_alone(path: Path) -> None:
    path.write_bytes(b"this is a diary, not a database\n" * 100)
    with pytest.raises(NotADatabaseError, match=str(path)):
        Store.open(path, migrations=NOTHING)
    assert path.read_bytes() == b"this is a diary, not a database\n" * 100


def test_a_folder_in_place_of_the_file_is_refused_with_its_path(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StorageError, match=str(path)):
        Store.open(path, migrations=NOTHING)


def test_a_file_in_place_of_the_folder_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StorageError, match="state"):
        Store.open(tmp_path / "state" / "whisk.sqlite3", migrations=NOTHING)


def test_a_read_sees_what_is_committed_and_nothing_else(note_store: Store) -> None:
    writer = GroupWriter(note_store)
    writer.write(put("kept"))
    db = note_store.writer
    with db.atomic("IMMEDIATE"):
        put("not yet")(db)
        assert note_store.read(texts) == ["kept"]
    assert note_store.read(texts) == ["kept", "not yet"]


def test_the_queries_of_one_read_see_one_state(note_store: Store) -> None:
    writer = GroupWriter(note_store)

    def twice(db: Database) -> tuple[list[str], list[str]]:
        before = texts(db)
        writer.write(put("meanwhile"))
        return before, texts(db)

    assert note_store.read(twice) == ([], [])
    assert note_store.read(texts) == ["meanwhile"]


def test_a_read_cannot_write(note_store: Store) -> None:
    with pytest.raises(ReadOnlyError):
        note_store.read(put("sneaked in"))
    assert note_store.read(texts) == []


def test_a_read_blocks_only_its_own_greenlet(note_store: Store) -> None:
    release = threading.Event()
    reading = gevent.spawn(note_store.read, lambda _db: release.wait(10))
    others = [gevent.spawn(note_store.read, texts) for _ in range(20)]
    gevent.joinall(others, timeout=10)
    assert [other.value for other in others] == [[]] * 20
    assert not reading.ready()
    release.set()
    assert reading.get(timeout=10) is True


def test_a_refusal_inside_a_read_reaches_the_caller_and_no_traceback_is_printed(
    note_store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(_db: Database) -> None:
        raise NotFoundError("mail m not found")

    with pytest.raises(NotFoundError, match="mail m not found"):
        note_store.read(refuse)
    assert capfd.readouterr() == ("", "")
    assert note_store.read(texts) == []


def test_a_read_from_another_thread_runs_there(note_store: Store) -> None:
    note_store.read(texts)
    seen: list[object] = []

    def read_there() -> None:
        seen.append(note_store.read(lambda _db: threading.get_ident()))
        seen.append(threading.get_ident())

    thread = threading.Thread(target=read_there)
    thread.start()
    thread.join(10)
    assert seen[0] == seen[1] != threading.get_ident()


def test_a_read_without_end_is_ended_and_the_store_goes_on(path: Path) -> None:
    store = Store.open(path, migrations=NOTHING, read_seconds=0.05)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(DeadlineError):
        store.read(lambda db: db.execute_sql(endless).fetchone())
    assert store.read(lambda db: db.execute_sql("SELECT 1").fetchone()) == (1,)
    store.close()


def test_the_log_ahead_stays_small_under_many_writes_and_reads(note_store: Store) -> None:
    writer = GroupWriter(note_store)
    body = "x" * 10_000
    for round_ in range(40):
        writer.run([put(f"{round_} {i} {body}") for i in range(100)])
        note_store.read(lambda db: db.execute_sql("SELECT count(*) FROM note").fetchone())
    assert os.stat(f"{note_store.path}-wal").st_size < 2 * WAL_BYTES


def test_a_closed_store_refuses_reads_and_leaves_no_side_files(path: Path) -> None:
    store = Store.open(path, migrations=NOTHING)
    store.read(lambda db: db.execute_sql("SELECT 1").fetchone())
    store.close()
    store.close()
    with pytest.raises(UnavailableError):
        store.read(texts)
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name]


def test_closing_gives_every_descriptor_back(path: Path) -> None:
    def used() -> int:
        return len(os.listdir("/dev/fd"))

    def round_trip() -> None:
        store = Store.open(path, migrations=NOTHING)
        jobs = [gevent.spawn(store.read, lambda db: db.execute_sql("SELECT 1").fetchone()) for _ in range(20)]
        gevent.joinall(jobs, raise_error=True, timeout=10)
        store.close()

    round_trip()
    before = used()
    for _ in range(5):
        round_trip()
    assert used() == before


def test_two_processes_that_open_a_new_database_together_both_get_it(path: Path) -> None:
    code = (
        "import sys; from whisk.storage.database import Store; from whisk.storage.migration import Migration\n"
        "step = Migration('t.create', lambda db: db.execute_sql('CREATE TABLE t (a)'))\n"
        "sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.readline()\n"
        "Store.open(sys.argv[1], migrations=[step]).close()\n"
    )
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    for opener in openers:
        opener.communicate(timeout=30)
    assert [opener.returncode for opener in openers] == [0] * 4
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM migration").fetchone() == (1,)
    db.close()


def test_a_database_held_by_another_process_is_a_busy_refusal(note_store: Store) -> None:
    other = sqlite3.connect(note_store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    note_store.writer.execute_sql("PRAGMA busy_timeout = 20")
    with pytest.raises(WhiskError) as refusal:
        GroupWriter(note_store).write(put("late"))
    assert refusal.value.code == "busy"
    other.execute("ROLLBACK")
    other.close()
    GroupWriter(note_store).write(put("now"))
    assert note_store.read(texts) == ["now"]
