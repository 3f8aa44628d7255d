"""Links between work items, on disk. The graph of a project is read from the columns alone."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.clock import Instant
from whisk.errors import RefusedError
from whisk.storage import item as item_storage
from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.statement import run
from whisk.work.item_link import AddItemLink, ItemLink, LinkType, check_type, new_link


class LinkRow(Model):
    id = TextField(primary_key=True)
    project_id = TextField()
    source_id = TextField()
    target_id = TextField()
    type = TextField()
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "work_item_link"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE work_item_link (id TEXT NOT NULL PRIMARY KEY, project_id TEXT NOT NULL, source_id TEXT NOT NULL,"
        " target_id TEXT NOT NULL, type TEXT NOT NULL, created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE UNIQUE INDEX work_item_link_pair ON work_item_link (source_id, target_id, type)")
    db.execute_sql("CREATE INDEX work_item_link_target ON work_item_link (target_id)")
    # Holds all that the graph of a project needs, so that no row is read for it.
    db.execute_sql("CREATE INDEX work_item_link_graph ON work_item_link (project_id, type, source_id, target_id)")


MIGRATIONS: list[Migration] = [Migration("work_item_link.create", _create)]

PAIRS = "SELECT source_id, target_id FROM work_item_link WHERE project_id = ? AND type = ?"

LINKS = Documents(
    LinkRow,
    ItemLink,
    "work item link",
    lambda link: {
        "id": link.id,
        "project_id": link.project_id,
        "source_id": link.source_work_item_id,
        "target_id": link.target_work_item_id,
        "type": link.type,
        "created_at": int(link.created_at),
    },
)


def select(db: Database, *, work_item_id: str | None = None, project_id: str | None = None) -> list[ItemLink]:
    """Oldest first; those of an item are the ones from it and the ones to it."""
    where = [] if project_id is None else [LinkRow.project_id == project_id]
    if work_item_id is not None:
        where.append((LinkRow.source_id == work_item_id) | (LinkRow.target_id == work_item_id))
    return LINKS.select(db, *where)


def pairs(db: Database, project_id: str, type: LinkType) -> list[tuple[str, str]]:
    """Source and target of every link of that type in the project."""
    return list(run(db, PAIRS, (project_id, type)).fetchall())


def add(db: Database, project_id: str, request: AddItemLink, link_id: str, now: Instant) -> ItemLink:
    """Check and store a link, in one write: two at once that would make a circle together are one after the other.

    Raises `NotFoundError` for an item that is not there, and what `new_link` refuses.
    """
    kind = check_type(request.type)
    for item_id in (request.source_work_item_id, request.target_work_item_id):
        if item_storage.project_of(db, item_id) != project_id:
            raise RefusedError(
                f"work items {request.source_work_item_id} and {request.target_work_item_id} are of different projects",
                source=request.source_work_item_id,
                target=request.target_work_item_id,
            )
    known = pairs(db, project_id, kind)
    link = new_link(request, known=known, link_id=link_id, project_id=project_id, now=now)
    LINKS.insert(db, link)
    return link


def delete(db: Database, link_id: str) -> ItemLink:
    """Returns what was deleted. Raises `NotFoundError`."""
    link = LINKS.get(db, link_id)
    LinkRow.delete().where(LinkRow.id == link_id).execute(db)
    return link


def delete_of_item(db: Database, work_item_id: str) -> None:
    LinkRow.delete().where((LinkRow.source_id == work_item_id) | (LinkRow.target_id == work_item_id)).execute(db)
