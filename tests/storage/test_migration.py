from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest
from peewee import Database

import whisk.storage
from whisk.clock import ManualClock
from whisk.errors import NewerSchemaError
from whisk.storage.database import Store
from whisk.storage.migration import Migration, all_migrations

FIRST = Migration("a.create", lambda db: db.execute_sql("CREATE TABLE a (x INTEGER)"))
SECOND = Migration("a.fill", lambda db: db.execute_sql("INSERT INTO a VALUES (1)"))


def recorded(store: Store) -> list[tuple[str, int]]:
    return store.read(
        lambda db: list(db.execute_sql("SELECT name, applied_at FROM migration ORDER BY applied_at, name"))
    )


def test_steps_are_applied_in_order_and_only_once(path: Path) -> None:
    clock = ManualClock()
    for _ in range(2):
        store = Store.open(path, migrations=[FIRST, SECOND], clock=clock)
        assert store.read(lambda db: db.execute_sql("SELECT count(*) FROM a").fetchone()) == (1,)
        assert recorded(store) == [("a.create", int(clock.now())), ("a.fill", int(clock.now()))]
        store.close()


def test_a_step_added_later_is_applied_to_an_old_database(path: Path) -> None:
    clock = ManualClock()
    Store.open(path, migrations=[FIRST], clock=clock).close()
    clock.advance(1)
    store = Store.open(path, migrations=[FIRST, SECOND], clock=clock)
    assert [name for name, _ in recorded(store)] == ["a.create", "a.fill"]
    store.close()


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(path: Path) -> None:
    def break_off(db: Database) -> None:
        db.execute_sql("CREATE TABLE half (x)")
        raise RuntimeError("the power went")

    Store.open(path, migrations=[FIRST]).close()
    with pytest.raises(RuntimeError, match="the power went"):
        Store.open(path, migrations=[FIRST, SECOND, Migration("b.break", break_off)])
    store = Store.open(path, migrations=[FIRST])
    assert store.read(lambda db: sorted(db.get_tables())) == ["a", "migration"]
    assert store.read(lambda db: db.execute_sql("SELECT count(*) FROM a").fetchone()) == (0,)
    store.close()


def test_a_database_from_a_newer_whisk_is_refused_by_name_and_unchanged(path: Path) -> None:
    Store.open(path, migrations=[FIRST, Migration("z.from_the_future", lambda db: None)]).close()
    before = path.read_bytes()
    with pytest.raises(NewerSchemaError, match=r"newer whisk .* does not know z\.from_the_future") as refusal:
        Store.open(path, migrations=[FIRST])
    assert refusal.value.details["migrations"] == ["z.from_the_future"]
    assert path.read_bytes() == before


def test_two_steps_of_one_name_are_a_fault(path: Path) -> None:
    with pytest.raises(ValueError, match="share a name"):
        Store.open(path, migrations=[FIRST, FIRST])


def test_the_whole_list_opens_a_database_twice(path: Path) -> None:
    assert len({step.name for step in all_migrations()}) == len(all_migrations())
    Store.open(path).close()
    Store.open(path).close()


def test_every_module_that_owns_tables_is_in_the_list() -> None:
    listed = {step.name for step in all_migrations()}
    for module in pkgutil.iter_modules(whisk.storage.__path__, "whisk.storage."):
        for step in getattr(import_module(module.name), "MIGRATIONS", ()):
            assert step.name in listed, module.name
