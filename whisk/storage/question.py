"""Questions about work items, on disk."""

from __future__ import annotations

from peewee import BigIntegerField, Database, Model, TextField

from whisk.storage.document import Documents
from whisk.storage.migration import Migration
from whisk.storage.page import WHOLE, Page
from whisk.work.question import Question


class QuestionRow(Model):
    id = TextField(primary_key=True)
    work_item_id = TextField()
    run_id = TextField(null=True)
    status = TextField()
    created_at = BigIntegerField()
    doc = TextField()

    class Meta:
        table_name = "question"


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE question (id TEXT NOT NULL PRIMARY KEY, work_item_id TEXT NOT NULL, run_id TEXT,"
        " status TEXT NOT NULL, created_at BIGINT NOT NULL, doc TEXT NOT NULL)"
    )
    db.execute_sql("CREATE INDEX question_work_item ON question (work_item_id, created_at)")
    db.execute_sql("CREATE INDEX question_run ON question (run_id, status)")


MIGRATIONS: list[Migration] = [Migration("question.create", _create)]

QUESTIONS = Documents(
    QuestionRow,
    Question,
    "question",
    lambda question: {
        "id": question.id,
        "work_item_id": question.work_item_id,
        "run_id": question.run_id,
        "status": question.status,
        "created_at": int(question.created_at),
    },
)


def select(
    db: Database, *, work_item_id: str | None = None, status: str | None = None, page: Page = WHOLE
) -> list[Question]:
    """Oldest first."""
    where = [] if work_item_id is None else [QuestionRow.work_item_id == work_item_id]
    where += [] if status is None else [QuestionRow.status == status]
    return QUESTIONS.select(db, *where, page=page)


def count_open(db: Database, run_id: str) -> int:
    """How many questions of this run wait for an answer."""
    return int(QuestionRow.select().where(QuestionRow.run_id == run_id, QuestionRow.status == "open").count(db))
