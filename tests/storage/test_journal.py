from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peewee import Database, IntegrityError

from whisk.errors import ConflictError, DiskFullError, ReadOnlyError
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter


def put(text: str) -> Callable[[Database], Any]:
    return lambda db: db.execute_sql("INSERT INTO note (text) VALUES (?)", (text,)).lastrowid


def refuse(text: str) -> Callable[[Database], Any]:
    """A write that has already changed the database when it gives up."""

    def write(db: Database) -> None:
        put(text)(db)
        raise ConflictError("someone else was first")

    return write


def texts(store: Store) -> list[str]:
    return store.read(lambda db: [text for (text,) in db.execute_sql("SELECT text FROM note ORDER BY id")])


def test_a_group_is_one_transaction_and_each_write_gets_its_own_value(note_store: Store) -> None:
    writer = GroupWriter(note_store)
    outcomes = writer.run([put("a"), put("b"), put("c")])
    assert [outcome.value for outcome in outcomes] == [1, 2, 3]
    assert (writer.groups, writer.writes, writer.failed, writer.largest_group) == (1, 3, 0, 3)
    assert texts(note_store) == ["a", "b", "c"]


def test_a_refused_write_undoes_itself_alone(note_store: Store) -> None:
    outcomes = GroupWriter(note_store).run([put("a"), refuse("half"), put("b")])
    assert [type(outcome.error) for outcome in outcomes] == [type(None), ConflictError, type(None)]
    assert texts(note_store) == ["a", "b"]


def test_a_refused_write_by_itself_leaves_nothing(note_store: Store) -> None:
    with pytest.raises(ConflictError):
        GroupWriter(note_store).write(refuse("half"))
    assert texts(note_store) == []


def test_a_broken_constraint_stays_the_callers_bug_and_hurts_nobody_else(note_store: Store) -> None:
    outcomes = GroupWriter(note_store).run([put("a"), put("a"), put("b")])
    assert isinstance(outcomes[1].error, IntegrityError)
    assert texts(note_store) == ["a", "b"]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, RecursionError, ZeroDivisionError])
def test_no_exception_of_any_kind_ends_the_writer(note_store: Store, kind: type[BaseException]) -> None:
    def explode(_db: Database) -> None:
        raise kind("boom")

    writer = GroupWriter(note_store)
    assert [type(outcome.error) for outcome in writer.run([put("a"), explode, put("b")])] == [
        type(None),
        kind,
        type(None),
    ]
    assert isinstance(writer.run([explode])[0].error, kind)
    writer.write(put("c"))
    assert texts(note_store) == ["a", "b", "c"]


def test_an_atomic_block_inside_a_write_is_a_savepoint(note_store: Store) -> None:
    def keep_one(db: Database) -> None:
        put("outer")(db)
        try:
            with db.atomic():
                put("inner")(db)
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    writer = GroupWriter(note_store)
    writer.run([keep_one])
    writer.run([put("a"), put("b")])
    assert texts(note_store) == ["outer", "a", "b"]


def test_a_full_disk_fails_the_write_that_does_not_fit_and_no_other(note_store: Store) -> None:
    db = note_store.writer
    db.execute_sql(f"PRAGMA max_page_count = {db.pragma('page_count') + 4}")
    outcomes = GroupWriter(note_store).run([put("a"), put("x" * 1_000_000), put("b")])
    assert [type(outcome.error) for outcome in outcomes] == [type(None), DiskFullError, type(None)]
    assert texts(note_store) == ["a", "b"]
    db.execute_sql("PRAGMA max_page_count = 1000000")
    GroupWriter(note_store).write(put("c"))
    assert texts(note_store) == ["a", "b", "c"]


def test_a_database_that_cannot_be_written_is_a_typed_refusal_for_all(note_store: Store) -> None:
    note_store.writer.execute_sql("PRAGMA query_only = on")
    outcomes = GroupWriter(note_store).run([put("a"), put("b")])
    assert [type(outcome.error) for outcome in outcomes] == [ReadOnlyError, ReadOnlyError]
    assert note_store.path in str(outcomes[0].error)


def test_a_commit_that_fails_fails_the_whole_group(note_store: Store) -> None:
    # A deferred foreign key is only looked at by COMMIT: the surest way to make one fail.
    writer = GroupWriter(note_store)
    writer.write(
        lambda db: db.execute_sql("CREATE TABLE child (note INTEGER REFERENCES note(id) DEFERRABLE INITIALLY DEFERRED)")
    )
    orphan = lambda db: db.execute_sql("INSERT INTO child VALUES (99)")  # noqa: E731
    outcomes = writer.run([put("a"), orphan, put("b")])
    assert all(isinstance(outcome.error, IntegrityError) for outcome in outcomes)
    assert texts(note_store) == []
    writer.run([put("c"), put("d")])
    assert texts(note_store) == ["c", "d"]


KINDS = ("put", "refuse early", "refuse late", "explode", "twice")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(KINDS), max_size=12))
def test_a_group_of_any_mixture_is_what_its_writes_would_be_one_by_one(note_store: Store, kinds: list[str]) -> None:
    def write(kind: str, text: str) -> Callable[[Database], Any]:
        def run(db: Database) -> str:
            if kind == "refuse early":
                raise ConflictError(text)
            put(text)(db)
            if kind == "refuse late":
                raise ConflictError(text)
            if kind == "explode":
                put(text)(db)
            if kind == "twice":
                put(f"{text} again")(db)
            return text

        return run

    writer = GroupWriter(note_store)
    writer.write(lambda db: db.execute_sql("DELETE FROM note"))
    outcomes = writer.run([write(kind, str(number)) for number, kind in enumerate(kinds)])
    kept = {"put", "twice"}
    assert [outcome.value for outcome in outcomes] == [str(n) if k in kept else None for n, k in enumerate(kinds)]
    assert [outcome.error is None for outcome in outcomes] == [kind in kept for kind in kinds]
    expected = [[str(n), f"{n} again"][: 1 + (k == "twice")] for n, k in enumerate(kinds) if k in kept]
    assert texts(note_store) == [text for pair in expected for text in pair]


def test_a_refusal_that_changed_nothing_makes_nobody_run_again(note_store: Store) -> None:
    runs: list[str] = []

    def counted(text: str) -> Callable[[Database], Any]:
        return lambda db: (runs.append(text), put(text)(db))

    def refuse_early(_db: Database) -> None:
        raise ConflictError("no")

    writer = GroupWriter(note_store)
    writer.run([counted("a"), refuse_early, counted("b")])
    assert runs == ["a", "b"]
    writer.run([counted("c"), refuse("half"), counted("d")])
    assert runs == ["a", "b", "c", "c", "d"]


def test_what_was_written_is_there_when_the_file_is_opened_again(note_store: Store) -> None:
    GroupWriter(note_store).run([put(str(i)) for i in range(100)])
    note_store.close()
    store = Store.open(note_store.path, migrations=[_note()])
    assert texts(store) == [str(i) for i in range(100)]
    store.close()


def _note() -> Any:
    from whisk.storage.migration import Migration

    return Migration("note.create", lambda db: None)
