"""Two who use one database at the same time: writers that read first, and a reader that stays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import gevent
from peewee import Database

from whisk.storage.database import WAL_BYTES, Store
from whisk.storage.journal import GroupWriter
from whisk.storage.migration import Migration

COUNTER = [Migration("counter.create", lambda db: db.execute_sql("CREATE TABLE counter (n INTEGER NOT NULL)"))]
ROUNDS = 150


def count(db: Database) -> int:
    """Reads, then writes what it read: a transaction that began with the read alone could not be made a write."""
    (n,) = db.execute_sql("SELECT n FROM counter").fetchone()
    db.execute_sql("UPDATE counter SET n = ?", (n + 1,))
    return int(n) + 1


OTHER = """
import sys
from tests.storage.test_contention import COUNTER, ROUNDS, count
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
store = Store.open(sys.argv[1], migrations=COUNTER)
writer = GroupWriter(store)
sys.stdout.write("ready\\n")
sys.stdout.flush()
for _ in range(ROUNDS):
    writer.write(count)
store.close()
"""


def test_two_writers_that_read_first_wait_for_each_other_and_lose_nothing(path: Path) -> None:
    store = Store.open(path, migrations=COUNTER)
    writer = GroupWriter(store)
    writer.write(lambda db: db.execute_sql("INSERT INTO counter VALUES (0)"))
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        for _ in range(ROUNDS):
            writer.write(count)
    assert other.returncode == 0
    assert store.read(lambda db: db.execute_sql("SELECT n FROM counter").fetchone()) == (2 * ROUNDS,)
    store.close()


def put(text: str) -> Callable[[Database], object]:
    return lambda db: db.execute_sql("INSERT INTO note (text) VALUES (?)", (text,))


def test_a_reader_that_stays_holds_the_log_ahead_only_as_long_as_it_is_there(note_store: Store) -> None:
    writer = GroupWriter(note_store)
    writer.write(put("first"))
    here, go = threading.Event(), threading.Event()

    def stay(db: Database) -> tuple[int, int]:
        before = db.execute_sql("SELECT count(*) FROM note").fetchone()[0]
        here.set()
        go.wait(20)
        return before, db.execute_sql("SELECT count(*) FROM note").fetchone()[0]

    reading = gevent.spawn(note_store.read, stay)
    gevent.get_hub().threadpool.apply(here.wait, (20,))
    body = "x" * 100_000
    for round_ in range(10):
        writer.run([put(f"{round_} {i} {body}") for i in range(60)])
    log = f"{note_store.path}-wal"
    assert os.stat(log).st_size > 3 * WAL_BYTES, "kept back by the reader"
    go.set()
    assert reading.get(timeout=20) == (1, 1), "it saw one state all along"
    for number in range(3):
        writer.write(put(f"after {number}"))
    assert os.stat(log).st_size <= WAL_BYTES
