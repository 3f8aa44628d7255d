"""The end of a work item on disk: its row, and every row that is about it alone."""

from __future__ import annotations

from peewee import Database

from whisk.errors import NotFoundError
from whisk.storage import item_link
from whisk.storage.artifact import ArtifactRow
from whisk.storage.gate import GateRow
from whisk.storage.item import ItemRow
from whisk.storage.question import QuestionRow
from whisk.storage.run import RunRow
from whisk.storage.status import StatusEventRow
from whisk.storage.workflow_event import WorkflowEventRow

ABOUT_AN_ITEM = (GateRow, QuestionRow, RunRow, StatusEventRow, ArtifactRow, WorkflowEventRow)
"""The tables whose rows go with the item. Mail stays: it was sent to somebody."""


def delete(db: Database, item_id: str) -> None:
    """Raises `NotFoundError` when the item is not there (any more)."""
    if not ItemRow.delete().where(ItemRow.id == item_id).execute(db):
        raise NotFoundError(f"work item {item_id} not found", id=item_id)
    item_link.delete_of_item(db, item_id)
    for rows in ABOUT_AN_ITEM:
        rows.delete().where(rows.work_item_id == item_id).execute(db)
