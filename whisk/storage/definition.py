"""Workflow definitions on disk. The built-in one has no row and is always there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from peewee import BigIntegerField, Database, IntegerField, Model, TextField

from whisk.errors import ConflictError, NotFoundError, RefusedError
from whisk.storage.document import Documents
from whisk.storage.item import ItemRow
from whisk.storage.migration import Migration
from whisk.storage.project import PROJECTS
from whisk.values import Record, decode
from whisk.work.definition import BUILTIN_RECORD, Definition, DefinitionRecord, identity


class DefinitionRow(Model):
    """`id` is the identity, `ship@2`; the id without the version is `definition_id`."""

    id = TextField(primary_key=True)
    definition_id = TextField()
    version = IntegerField()
    content_hash = TextField()
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "workflow_definition"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE workflow_definition (id TEXT NOT NULL PRIMARY KEY, definition_id TEXT NOT NULL,"
        " version INTEGER NOT NULL, content_hash TEXT NOT NULL, created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )


MIGRATIONS: list[Migration] = [Migration("workflow_definition.create", _create)]

DEFINITIONS = Documents(
    DefinitionRow,
    DefinitionRecord,
    "workflow definition",
    lambda record: {
        "id": identity(record.id, record.version),
        "definition_id": record.id,
        "version": record.version,
        "content_hash": record.content_hash,
        "created_at": int(record.created_at),
    },
)
_BUILTIN = identity(BUILTIN_RECORD.id, BUILTIN_RECORD.version)


@dataclass(frozen=True, slots=True)
class Use:
    """Who needs a definition: the projects whose new items get it, and how many items are pinned to it."""

    projects: tuple[str, ...]
    items: int

    def __bool__(self) -> bool:
        return bool(self.projects or self.items)


class _Pin(Record, frozen=True):
    """What an item's document says of its definition; the rest of it is skipped."""

    workflow_id: str
    workflow_version: int


def get(db: Database, id: str, version: int) -> Definition:
    """Raises `NotFoundError`."""
    return get_record(db, id, version).definition


def get_record(db: Database, id: str, version: int) -> DefinitionRecord:
    """Raises `NotFoundError`."""
    name = identity(id, version)
    return BUILTIN_RECORD if name == _BUILTIN else DEFINITIONS.get(db, name)


def find(db: Database, id: str, version: int) -> DefinitionRecord | None:
    try:
        return get_record(db, id, version)
    except NotFoundError:
        return None


def select(db: Database) -> list[DefinitionRecord]:
    """By id and version; the built-in one first."""
    return [BUILTIN_RECORD, *DEFINITIONS.select(db, order=(DefinitionRow.definition_id, DefinitionRow.version))]


def insert(db: Database, record: DefinitionRecord) -> DefinitionRecord:
    """Store it and return what is stored now: the one that was there, when it says the same.

    Raises `ConflictError` when another content has this id and version; items may be pinned to it.
    """
    known = find(db, record.id, record.version)
    if known is None:
        DEFINITIONS.insert(db, record)
        return record
    if known.content_hash != record.content_hash:
        name = identity(record.id, record.version)
        raise ConflictError(
            f"workflow definition {name} exists with another content; give the new one another version",
            id=record.id,
            version=record.version,
            contentHash=known.content_hash,
        )
    return known


def delete(db: Database, id: str, version: int) -> DefinitionRecord:
    """Returns what was deleted. Raises `NotFoundError`, and `RefusedError` for the built-in one or one in use."""
    record = get_record(db, id, version)
    name = identity(id, version)
    if record.source == "builtin":
        raise RefusedError(f"workflow definition {name} is built in", id=id, version=version)
    if use := in_use(db, id, version):
        raise RefusedError(
            f"workflow definition {name} is in use: projects {', '.join(use.projects) or 'none'};"
            f" work items pinned to it: {use.items}",
            projects=list(use.projects),
            workItems=use.items,
        )
    DefinitionRow.delete().where(DefinitionRow.id == name).execute(db)
    return record


def in_use(db: Database, id: str, version: int) -> Use:
    """False when nobody needs it. Reads the documents of all items: for deletions, not for every day."""
    users = tuple(
        project.id
        for project in PROJECTS.select(db)
        if (project.workflow.definition_id, project.workflow.definition_version) == (id, version)
    )
    pinned = sum(1 for pin in _pins(db) if (pin.workflow_id, pin.workflow_version) == (id, version))
    return Use(projects=users, items=pinned)


def _pins(db: Database) -> Iterator[_Pin]:
    for (doc,) in ItemRow.select(ItemRow.doc).tuples().execute(db):
        yield decode(doc, _Pin)
