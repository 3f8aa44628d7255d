"""Workflow definitions in a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from whisk.clock import Instant
from whisk.errors import ConflictError, NotFoundError, RefusedError
from whisk.storage import definition as definition_storage
from whisk.storage import item as item_storage
from whisk.storage import project as project_storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.work.definition import BUILTIN, Definition, DefinitionRecord, content_hash
from whisk.work.item import CreateWorkItem, new_item
from whisk.work.project import CreateProject, Project, new_project

NOW = Instant(1_800_000_000_000_000_000)
TABLES = [*project_storage.MIGRATIONS, *item_storage.MIGRATIONS, *definition_storage.MIGRATIONS]


def record(id: str = "ship", version: int = 1, **changes: object) -> DefinitionRecord:
    definition: Definition = msgspec.structs.replace(BUILTIN, id=id, version=version, **changes)
    return DefinitionRecord(
        id=id,
        version=version,
        source="imported",
        content_hash=content_hash(definition),
        definition=definition,
        created_at=NOW,
        updated_at=NOW,
    )


def project(id: str, definition: DefinitionRecord) -> Project:
    made = new_project(CreateProject(root_dir="/src"), project_id=id, now=NOW)
    workflow = msgspec.structs.replace(
        made.workflow, definition_id=definition.id, definition_version=definition.version
    )
    return msgspec.structs.replace(made, workflow=workflow)


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path, migrations=TABLES)
    yield store
    store.close()


@pytest.fixture
def writer(store: Store) -> GroupWriter:
    return GroupWriter(store)


def test_the_builtin_definition_is_there_without_a_row(store: Store) -> None:
    assert store.read(lambda db: definition_storage.get(db, "plan-execute-review", 1)) is BUILTIN
    assert [each.source for each in store.read(definition_storage.select)] == ["builtin"]


def test_a_definition_is_there_after_a_restart(path: Path, store: Store, writer: GroupWriter) -> None:
    made = record(stages=("backlog", "fertig"))
    assert writer.write(lambda db: definition_storage.insert(db, made)) == made
    store.close()
    again = Store.open(path, migrations=TABLES)
    assert again.read(lambda db: definition_storage.get(db, "ship", 1)) == made.definition
    assert again.read(lambda db: definition_storage.find(db, "ship", 1)) == made
    again.close()


def test_they_are_listed_by_id_and_version(store: Store, writer: GroupWriter) -> None:
    for id, version in (("b", 1), ("a", 10), ("a", 2)):
        writer.write(lambda db, id=id, version=version: definition_storage.insert(db, record(id, version)))  # type: ignore[misc]
    listed = store.read(definition_storage.select)
    assert [(each.id, each.version) for each in listed[1:]] == [("a", 2), ("a", 10), ("b", 1)]


@pytest.mark.parametrize(("id", "version"), [("ship", 1), ("plan-execute-review", 2), ("", 1)])
def test_an_unknown_definition_is_not_found(store: Store, id: str, version: int) -> None:
    assert store.read(lambda db: definition_storage.find(db, id, version)) is None
    with pytest.raises(NotFoundError, match=f"workflow definition {id}@{version} not found"):
        store.read(lambda db: definition_storage.get(db, id, version))


def test_the_same_content_again_is_the_one_that_is_there(writer: GroupWriter) -> None:
    first = writer.write(lambda db: definition_storage.insert(db, record()))
    later = msgspec.structs.replace(record(), created_at=NOW.plus(5))
    assert writer.write(lambda db: definition_storage.insert(db, later)) == first
    builtin = record(BUILTIN.id, BUILTIN.version)
    assert writer.write(lambda db: definition_storage.insert(db, builtin)).source == "builtin"


@pytest.mark.parametrize("id", ["ship", BUILTIN.id])
def test_another_content_under_a_known_name_is_a_conflict(store: Store, writer: GroupWriter, id: str) -> None:
    writer.write(lambda db: definition_storage.insert(db, record(id)))
    before = store.read(definition_storage.select)
    with pytest.raises(ConflictError, match="another content"):
        writer.write(lambda db: definition_storage.insert(db, record(id, stages=("backlog",))))
    assert store.read(definition_storage.select) == before


def test_a_definition_in_use_is_not_deleted(store: Store, writer: GroupWriter) -> None:
    ship, other = record(), record("other")
    owner = project("proj_1", ship)
    for each in (ship, other):
        writer.write(lambda db, each=each: definition_storage.insert(db, each))  # type: ignore[misc]
    writer.write(lambda db: project_storage.PROJECTS.insert(db, owner))
    item = new_item(CreateWorkItem(project_id=owner.id, title="T"), owner.workflow, item_id="item_1", number=1, now=NOW)
    writer.write(lambda db: item_storage.insert(db, item))
    with pytest.raises(RefusedError, match="projects proj_1; work items pinned to it: 1") as refused:
        writer.write(lambda db: definition_storage.delete(db, "ship", 1))
    assert refused.value.details == {"projects": ["proj_1"], "workItems": 1}
    writer.write(lambda db: project_storage.PROJECTS.update(db, project("proj_1", other)))
    with pytest.raises(RefusedError, match="projects none; work items pinned to it: 1"):
        writer.write(lambda db: definition_storage.delete(db, "ship", 1))
    writer.write(item_storage.clear)
    assert writer.write(lambda db: definition_storage.delete(db, "ship", 1)) == ship
    assert store.read(lambda db: definition_storage.find(db, "ship", 1)) is None


def test_the_builtin_definition_is_not_deleted(writer: GroupWriter) -> None:
    with pytest.raises(RefusedError, match="built in"):
        writer.write(lambda db: definition_storage.delete(db, BUILTIN.id, BUILTIN.version))
    with pytest.raises(NotFoundError):
        writer.write(lambda db: definition_storage.delete(db, "ship", 1))
