"""Cases on disk: read whole, and what a step changed about them written as one.

Both are used inside one write of the journal, so that no other step comes between the reading and the writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from peewee import Database

from whisk.clock import Instant
from whisk.matters.audit import AuditEntry, Surface
from whisk.storage import audit
from whisk.storage import definition as definition_storage
from whisk.storage import item as item_storage
from whisk.storage import run as run_storage
from whisk.storage.artifact import ARTIFACTS
from whisk.storage.gate import GATES
from whisk.storage.project import PROJECTS
from whisk.storage.question import QUESTIONS
from whisk.storage.statement import run
from whisk.storage.workflow_event import WORKFLOW_EVENTS
from whisk.values import Record, decode
from whisk.work.action import Press, Taken
from whisk.work.artifact import Artifact
from whisk.work.case import Case
from whisk.work.gate import GateReport
from whisk.work.question import Question
from whisk.work.run import Run

Store = Callable[[Database, Any], None]
R = TypeVar("R", bound=Record)

# A case is read at every step, on the thread on which everything is written.
_ABOUT = "SELECT doc FROM {} WHERE work_item_id = ?{} ORDER BY created_at, id"
_ARTIFACTS, _GATES, _RUNS = (_ABOUT.format(table, "") for table in ("artifact", "gate", "run"))
_QUESTIONS = _ABOUT.format("question", " AND status = 'open'")


def load(db: Database, item_id: str) -> Case:
    """Raises `NotFoundError` for an item, or a definition it is pinned to, that is not there."""
    item = item_storage.get(db, item_id)
    return Case(
        project=PROJECTS.get(db, item.project_id),
        item=item,
        definition=definition_storage.get(db, item.workflow_id, item.workflow_version),
        artifacts=_all(db, _ARTIFACTS, item_id, Artifact),
        gates=_all(db, _GATES, item_id, GateReport),
        runs=_all(db, _RUNS, item_id, Run),
        questions=_all(db, _QUESTIONS, item_id, Question),
    )


def save(db: Database, before: Case, after: Case) -> None:
    """Store what is new or another object in `after`."""
    if after.item is not before.item:
        item_storage.update(db, after.item)
    _differing(db, before.artifacts, after.artifacts, ARTIFACTS.insert, ARTIFACTS.update)
    _differing(db, before.gates, after.gates, GATES.insert, GATES.update)
    _differing(db, before.runs, after.runs, run_storage.insert, run_storage.update)
    _differing(db, before.questions, after.questions, QUESTIONS.insert, QUESTIONS.update)
    for event in after.events:
        WORKFLOW_EVENTS.insert(db, event)


def audit_action(db: Database, taken: Taken, wanted: Press, surface: Surface, now: Instant) -> None:
    """Record who took an action; nothing for one that changed nothing."""
    if taken.action is None or not taken.case.events:
        return
    item = taken.case.item
    entry = AuditEntry(
        at=now,
        who=wanted.actor or "",
        surface=surface,
        action=taken.action.id,
        noun="work-item",
        id=item.id,
        outcome=item.stage_id,
        reason=wanted.reason,
        about=item.title,
        project_id=item.project_id,
        work_item_id=item.id,
        run_id=taken.run.id if taken.run is not None else "",
    )
    audit.record(db, entry)


def _all(db: Database, sql: str, item_id: str, kind: type[R]) -> tuple[R, ...]:
    return tuple(decode(doc, kind) for (doc,) in run(db, sql, (item_id,)).fetchall())


def _differing(db: Database, before: Iterable[Any], after: Iterable[Any], insert: Store, update: Store) -> None:
    known = {record.id: record for record in before}
    for record in after:
        if record.id not in known:
            insert(db, record)
        elif record is not known[record.id]:
            update(db, record)
