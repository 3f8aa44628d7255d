from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event
from peewee import Database

from tests.mail_desk import Gate
from whisk.actors.future import get, wait
from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.system import ActorSystem
from whisk.errors import BusyError, ConflictError, UnavailableError
from whisk.storage.database import Store
from whisk.storage.migration import Migration

NOTE = Migration("note.create", lambda db: db.execute_sql("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "whisk.sqlite3", migrations=[NOTE])
    yield store
    store.close()


@pytest.fixture
def journal(system: ActorSystem, store: Store) -> Iterator[JournalHandle]:
    yield system.spawn(JournalActor, store, name="journal", handle=JournalHandle)
    system.close()


def put(text: str) -> Callable[[Database], Any]:
    return lambda db: db.execute_sql("INSERT INTO note (text) VALUES (?)", (text,)).lastrowid


def texts(store: Store) -> list[str]:
    return store.read(lambda db: [text for (text,) in db.execute_sql("SELECT text FROM note ORDER BY id")])


def test_the_reply_comes_after_the_commit(journal: JournalHandle, store: Store) -> None:
    assert get(journal.write.remote(put("a"))) == 1
    assert texts(store) == ["a"]


def test_what_queues_up_behind_one_group_is_one_group(journal: JournalHandle, store: Store) -> None:
    gate = Gate(journal)
    replies = [journal.write.remote(put(str(i))) for i in range(100)]
    gate.open()
    assert get(replies, 20) == list(range(1, 101))
    assert texts(store) == [str(i) for i in range(100)]
    facts = journal._system().describe("journal").facts
    assert (facts["groups"], facts["writes"], facts["largestGroup"]) == (2, 101, 100)


def test_a_refused_write_is_its_callers_alone(journal: JournalHandle, store: Store) -> None:
    def refuse(db: Database) -> None:
        put("half")(db)
        raise ConflictError("someone else was first")

    gate = Gate(journal)
    replies = [journal.write.remote(write) for write in (put("a"), refuse, put("b"))]
    gate.open()
    wait(replies, num_returns=3, timeout=20)
    assert [type(reply.error()) for reply in replies] == [type(None), ConflictError, type(None)]
    assert texts(store) == ["a", "b"]


def test_the_hub_goes_on_while_the_disk_is_busy(journal: JournalHandle) -> None:
    gate = Gate(journal)
    reply = journal.write.remote(put("a"))
    gevent.sleep(0)
    assert not reply.done()
    gate.open()
    assert get(reply) == 1


def test_beyond_its_bound_the_queue_refuses_and_keeps_what_it_has(system: ActorSystem, store: Store) -> None:
    journal = system.spawn(JournalActor, store, queue_limit=5, name="journal", handle=JournalHandle)
    gate = Gate(journal)
    replies = [journal.write.remote(put(str(i))) for i in range(8)]
    wait(replies, num_returns=3, timeout=20)
    assert [type(reply.error()) for reply in replies] == [type(None)] * 5 + [BusyError] * 3
    gate.open()
    assert get(replies[:5], 20) == [1, 2, 3, 4, 5]
    system.close()


def test_stopping_writes_what_is_queued_and_refuses_what_comes_after(system: ActorSystem, store: Store) -> None:
    journal = system.spawn(JournalActor, store, name="journal", handle=JournalHandle)
    gate = Gate(journal)
    replies = [journal.write.remote(put(str(i))) for i in range(20)]
    stopped = system.stop("journal")
    late = journal.write.remote(put("late"))
    gate.open()
    assert get(replies, 20) == list(range(1, 21))
    get(stopped, 20)
    with pytest.raises(UnavailableError):
        get(late)
    assert texts(store) == [str(i) for i in range(20)]


def test_a_restarted_journal_goes_on_with_what_was_queued(system: ActorSystem, store: Store) -> None:
    journal = system.spawn(JournalActor, store, name="journal", restart="permanent", handle=JournalHandle)
    gate = Gate(journal)
    replies = [journal.write.remote(put("a"))]
    restarted = system.restart("journal")
    replies.append(journal.write.remote(put("b")))
    gate.open()
    assert get(replies, 20) == [1, 2]
    get(restarted, 20)
    assert get(journal.write.remote(put("c"))) == 3
    assert texts(store) == ["a", "b", "c"]
    system.close()


def test_a_killed_journal_tells_who_waits_and_lets_its_thread_finish(system: ActorSystem, store: Store) -> None:
    journal = system.spawn(JournalActor, store, name="journal", handle=JournalHandle)
    gate = Gate(journal)
    reply = journal.write.remote(put("a"))
    gevent.sleep(0)
    gone = Event()
    system.watch("journal", lambda _down: gone.set())
    system.kill("journal")
    with pytest.raises(UnavailableError, match="the write may be stored"):
        get(reply, 20)
    assert not gone.is_set(), "a successor would share the connection with the thread"
    gate.open()
    assert gone.wait(20)
    assert texts(store) == []
