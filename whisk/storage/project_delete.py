"""The end of a project on disk: its row, its work items, and every row that is about one of them."""

from __future__ import annotations

import msgspec
from peewee import Database

from whisk.clock import Instant
from whisk.storage import session as session_storage
from whisk.storage.item import ItemRow
from whisk.storage.item_delete import ABOUT_AN_ITEM
from whisk.storage.item_link import LinkRow
from whisk.storage.project import PROJECTS, ProjectRow
from whisk.storage.status import StatusEventRow
from whisk.storage.workflow_event import WorkflowEventRow

ABOUT_A_PROJECT = (StatusEventRow, WorkflowEventRow, LinkRow)
"""The tables with rows that are about a project and no work item. Mail stays: it was sent to somebody."""


def delete(db: Database, project_id: str, now: Instant) -> list[str]:
    """Its sessions stay, and belong to no project from now on; their ids are returned.

    Raises `NotFoundError` when the project is not there (any more).
    """
    if not ProjectRow.delete().where(ProjectRow.id == project_id).execute(db):
        raise PROJECTS.unknown(project_id)
    items = ItemRow.select(ItemRow.id).where(ItemRow.project_id == project_id)
    for rows in ABOUT_AN_ITEM:
        rows.delete().where(rows.work_item_id.in_(items)).execute(db)
    for others in ABOUT_A_PROJECT:
        others.delete().where(others.project_id == project_id).execute(db)
    ItemRow.delete().where(ItemRow.project_id == project_id).execute(db)
    sessions = session_storage.select(db, project_id)
    for session in sessions:
        session_storage.update(db, msgspec.structs.replace(session, project_id=None), now)
    return [session.id for session in sessions]
