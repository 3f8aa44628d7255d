"""Artifacts on disk."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import WHOLE, Page
from whisk.work.artifact import Artifact


class ArtifactRow(Model):
    id = TextField(primary_key=True)
    project_id = TextField()
    work_item_id = TextField()
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "artifact"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE artifact (id TEXT NOT NULL PRIMARY KEY, project_id TEXT NOT NULL, work_item_id TEXT NOT NULL,"
        " created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX artifact_work_item ON artifact (work_item_id, created_at)")


MIGRATIONS: list[Migration] = [Migration("artifact.create", _create)]

ARTIFACTS = Documents(
    ArtifactRow,
    Artifact,
    "artifact",
    lambda artifact: {
        "id": artifact.id,
        "project_id": artifact.project_id,
        "work_item_id": artifact.work_item_id,
        "created_at": int(artifact.created_at),
    },
)


def select(db: Database, *, work_item_id: str | None = None, page: Page = WHOLE) -> list[Artifact]:
    """Oldest first."""
    where = [] if work_item_id is None else [ArtifactRow.work_item_id == work_item_id]
    return ARTIFACTS.select(db, *where, page=page)
