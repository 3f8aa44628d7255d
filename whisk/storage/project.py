"""Projects on disk."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.work.project import Project


class ProjectRow(Model):
    id = TextField(primary_key=True)
    slug = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "project"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE project (id TEXT NOT NULL PRIMARY KEY, slug TEXT NOT NULL, created_at BIGINT NOT NULL,"
        " updated_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )


MIGRATIONS: list[Migration] = [Migration("project.create", _create)]

PROJECTS = Documents(
    ProjectRow,
    Project,
    "project",
    lambda project: {
        "id": project.id,
        "slug": project.slug,
        "created_at": int(project.created_at),
        "updated_at": int(project.updated_at),
    },
)


def select(db: Database) -> list[Project]:
    """All of them, oldest first."""
    return PROJECTS.select(db)
