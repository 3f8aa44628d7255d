"""Migrations: named functions, recorded in the transaction that applies them.

Each noun's module exports `MIGRATIONS`; `all_migrations` puts them in the order of `_NOUNS`. A name is never changed
and a released function never edited: a later change is a further migration. So a function builds its tables from
models of its own (or from text), not from the module's live models, which move on. All that are missing are applied
in one transaction: an upgrade that fails leaves the database as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

from peewee import BigIntegerField, Database, Model, SchemaManager, TextField

from whisk import __version__
from whisk.clock import Clock
from whisk.errors import NewerSchemaError


class Migration(NamedTuple):
    """One step. `apply` runs inside the open transaction and must not commit."""

    name: str
    apply: Callable[[Database], object]


# Modules of whisk.storage that own tables; one that refers to another's table comes after it.
_NOUNS: tuple[str, ...] = (
    *("mail", "project", "item", "run", "question", "gate", "session", "terminal"),
    *("bridge", "hook_event"),
    "definition",
    "audit",
    "status",
    *("artifact", "workflow_event"),
    "search",
    "item_link",
    "peer",
    *("webhook", "matter", "notice"),
    # Last, since it needs the tables of others.
    "page",
)


class _Applied(Model):
    name = TextField(primary_key=True)
    applied_at = BigIntegerField()
    whisk = TextField()

    class Meta:
        table_name = "migration"


def all_migrations() -> tuple[Migration, ...]:
    """Every migration that this whisk knows, in the order in which they are applied."""
    return tuple(step for noun in _NOUNS for step in import_module(f"whisk.storage.{noun}").MIGRATIONS)


def create_tables(db: Database, *models: type[Model]) -> None:
    """Create the tables and indexes of `models` in `db`; for use inside a migration."""
    for model in models:
        SchemaManager(model, db).create_all(safe=True)


def migrate(db: Database, steps: Sequence[Migration], clock: Clock) -> list[str]:
    """Apply what is missing and return the names applied.

    Safe against a second opener: what is missing is looked up again under the write lock. Raises `NewerSchemaError`
    when the database holds a migration that `steps` does not name, and whatever a step raises.
    """
    names = [step.name for step in steps]
    if len(set(names)) != len(names):
        raise ValueError(f"two migrations share a name: {sorted(names)}")
    if db.table_exists("migration") and not _missing(db, steps):
        return []
    with db.atomic("IMMEDIATE"):
        create_tables(db, _Applied)
        missing = _missing(db, steps)
        for step in missing:
            step.apply(db)
            _Applied.insert(name=step.name, applied_at=int(clock.now()), whisk=__version__).execute(db)
    return [step.name for step in missing]


def _missing(db: Database, steps: Sequence[Migration]) -> list[Migration]:
    applied = {row.name: row.whisk for row in _Applied.select().execute(db)}
    unknown = sorted(applied.keys() - {step.name for step in steps})
    if unknown:
        raise NewerSchemaError(
            f"the database was written by a newer whisk ({applied[unknown[-1]]}): this one ({__version__}) does not "
            f"know {', '.join(unknown)}; start that version, or choose another state folder",
            migrations=unknown,
            written_by=applied[unknown[-1]],
        )
    return [step for step in steps if step.name not in applied]
