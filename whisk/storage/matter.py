"""Matters on disk: numbered by triggers, in the transaction of the change, whoever makes it.

Only what happened to which thing is kept. What is told is read from the thing itself, when it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from peewee import Database

from whisk.bridges.prompt import summary
from whisk.errors import NotFoundError
from whisk.matters.matter import Matter, Numbered, command_for, title_of
from whisk.storage import item as item_storage
from whisk.storage import mail as mail_storage
from whisk.storage import run as run_storage
from whisk.storage.artifact import ARTIFACTS
from whisk.storage.bridge import REQUESTS
from whisk.storage.gate import GATES
from whisk.storage.migration import Migration
from whisk.storage.question import QUESTIONS
from whisk.storage.statement import run
from whisk.storage.status import STATUS_EVENTS
from whisk.work.status import StatusEvent

KEPT = 10_000
"""Matters that are remembered for receivers that are behind."""
_ENDED = "('completed', 'failed', 'cancelled', 'lost')"
# name, matter, table, event, and when. Later migrations drop and make such triggers by these names.
_TRIGGERS = (
    ("prompt_opened", "prompt.opened", "bridge_request", "INSERT", "new.state = 'pending'"),
    ("prompt_closed", "prompt.closed", "bridge_request", "UPDATE", "old.state = 'pending' AND new.state <> 'pending'"),
    ("question_asked", "question.asked", "question", "INSERT", "new.status = 'open'"),
    ("question_answered", "question.answered", "question", "UPDATE", "old.status = 'open' AND new.status <> 'open'"),
    ("gate_opened", "gate.opened", "gate", "INSERT", "new.status = 'pending'"),
    ("gate_completed", "gate.completed", "gate", "UPDATE", "old.status <> new.status AND new.status <> 'pending'"),
    ("status_reported", "status.reported", "status_event", "INSERT", "1"),
    ("run_ended", "run.ended", "run", "UPDATE", f"old.status NOT IN {_ENDED} AND new.status IN {_ENDED}"),
    ("mail_escalated", "mail.escalated", "mail", "INSERT", "new.type = 'escalation'"),
)


def _create(db: Database) -> None:
    db.execute_sql("CREATE TABLE matter (seq INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, id TEXT NOT NULL)")
    _number(db, _TRIGGERS)
    db.execute_sql(
        "CREATE TRIGGER matter_bound AFTER INSERT ON matter WHEN new.seq % 100 = 0"
        f" BEGIN DELETE FROM matter WHERE seq <= new.seq - {KEPT}; END"
    )


def _number(db: Database, triggers: Iterable[tuple[str, str, str, str, str]]) -> None:
    for name, matter, table, event, when in triggers:
        db.execute_sql(
            f"CREATE TRIGGER matter_{name} AFTER {event} ON {table} WHEN {when}"
            f" BEGIN INSERT INTO matter (type, id) VALUES ('{matter}', new.id); END"
        )


def _follow_workflows(db: Database) -> None:
    draft = "json_extract(new.doc, '$.status') = 'draft'"
    # Only a stage that was left for a while has a stage to go back to.
    aside = "new.stage_id <> old.stage_id AND coalesce(json_extract(new.doc, '$.previousStageId'), '') <> ''"
    _number(
        db,
        (
            ("artifact_drafted", "artifact.drafted", "artifact", "INSERT", draft),
            ("item_blocked", "item.blocked", "work_item", "UPDATE", aside),
        ),
    )


MIGRATIONS: list[Migration] = [
    Migration("matter.create", _create),
    Migration("matter.workflow", _follow_workflows),
]


def last(db: Database) -> int:
    """The number of the newest matter, also when it is gone; 0 before the first."""
    row = run(db, "SELECT seq FROM sqlite_sequence WHERE name = 'matter'").fetchone()
    return int(row[0]) if row else 0


def first(db: Database) -> int:
    """The number of the oldest matter that is kept; one more than the last when there is none."""
    (seq,) = run(db, "SELECT min(seq) FROM matter").fetchone()
    return int(seq) if seq is not None else last(db) + 1


def after(db: Database, seq: int, limit: int) -> list[Numbered]:
    """The first `limit` behind that number."""
    rows = run(db, "SELECT seq, type, id FROM matter WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)).fetchall()
    return [Numbered(seq=number, type=kind, id=id) for number, kind, id in rows]


def tell(db: Database, numbered: Numbered) -> Matter | None:
    """The matter with its thing as it is now; None when the thing is gone."""
    noun = numbered.type.partition(".")[0]
    try:
        facts = _TOLD[noun](db, numbered.id)
    except NotFoundError:
        return None
    # Of ids and names, none is the same as an empty one.
    whole = facts | {name: facts.get(name) or "" for name in _TEXTS}
    whole |= {"seq": numbered.seq, "type": numbered.type, "id": numbered.id, "noun": facts.get("noun", noun)}
    whole.setdefault("key", numbered.id)
    whole["command"] = command_for(whole["noun"], numbered.id, whole["work_item_id"])
    whole["title"] = title_of(facts["title"])
    return Matter(**whole)


_TEXTS = ("who", "project_id", "work_item_id", "run_id", "session_id", "pty_id")


def _places(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name, None) for name in _TEXTS if name != "who"}


def _prompt(db: Database, id: str) -> dict[str, Any]:
    request = REQUESTS.get(db, id)
    closing = request.closing
    return {
        **_places(request),
        "noun": "approval" if request.is_approval else "prompt",
        "at": closing.at if closing else request.created_at,
        "title": summary(request.ask),
        "outcome": request.state,
        "needs_person": closing is None,
        "done": False,
        "who": closing.by if closing else request.provider,
    }


def _question(db: Database, id: str) -> dict[str, Any]:
    question = QUESTIONS.get(db, id)
    waits = question.status == "open"
    return {
        **_places(question),
        "at": question.answered_at or question.created_at,
        "title": question.prompt,
        "outcome": question.status,
        "needs_person": waits,
        "done": False,
        "who": question.actor if waits else question.answered_by,
    }


def _gate(db: Database, id: str) -> dict[str, Any]:
    gate = GATES.get(db, id)
    waits = gate.status == "pending"
    return {
        **_places(gate),
        "at": gate.updated_at,
        "title": gate.name,
        "outcome": gate.status,
        "needs_person": waits,
        "done": False,
        "who": gate.requested_by if waits else gate.completed_by,
    }


def _status(db: Database, id: str) -> dict[str, Any]:
    event = STATUS_EVENTS.get(db, id)
    return {
        **_places(event),
        "at": event.created_at,
        "title": event.message or event.kind,
        "outcome": event.kind,
        "needs_person": event.requires_attention and event.read_at is None,
        "done": event.kind == "done",
        "key": _key_of(event),
        "who": event.actor,
    }


def _key_of(event: StatusEvent) -> str:
    """A report that is done, or blocked, is the same matter as what it does to its run or work item."""
    if event.kind == "done" and event.run_id:
        return _end_of(event.run_id)
    if event.kind == "blocked" and event.work_item_id:
        return f"blocked:{event.work_item_id}"
    return event.notification_key


def _end_of(run_id: str) -> str:
    return f"done:{run_id}"


def _run(db: Database, id: str) -> dict[str, Any]:
    found = run_storage.get(db, id)
    return {
        **_places(found),
        "run_id": found.id,
        "at": found.updated_at,
        "title": item_storage.get(db, found.work_item_id).title,
        "outcome": found.status,
        "needs_person": False,
        "done": found.ended,
        "key": _end_of(found.id),
        "who": found.history[-1].actor if found.history else None,
    }


def _mail(db: Database, id: str) -> dict[str, Any]:
    message = mail_storage.get(db, id)
    return {
        **_places(message),
        "at": message.created_at,
        "title": message.subject or "",
        "outcome": message.type,
        "needs_person": any(reader.read_at is None for reader in message.recipients),
        "done": False,
        "who": str(message.from_),
    }


def _artifact(db: Database, id: str) -> dict[str, Any]:
    artifact = ARTIFACTS.get(db, id)
    item = item_storage.get(db, artifact.work_item_id)
    return {
        **_places(artifact),
        "at": artifact.updated_at,
        "title": f"{artifact.title or artifact.kind}: {item.title}",
        "outcome": artifact.status,
        "needs_person": artifact.status == "draft",
        "done": False,
        "who": artifact.decided_by or artifact.created_by,
        # A plan that is written anew is the same matter.
        "key": f"{artifact.kind}:{item.id}",
    }


def _item(db: Database, id: str) -> dict[str, Any]:
    item = item_storage.get(db, id)
    return {
        "at": item.updated_at,
        "title": item.title,
        "outcome": item.stage_id,
        "needs_person": bool(item.previous_stage_id),
        "done": False,
        "who": item.history[-1].actor if item.history else None,
        "key": f"blocked:{id}",
        "project_id": item.project_id,
        "work_item_id": id,
    }


_TOLD: dict[str, Callable[[Database, str], dict[str, Any]]] = {
    "prompt": _prompt,
    "question": _question,
    "gate": _gate,
    "status": _status,
    "run": _run,
    "mail": _mail,
    "artifact": _artifact,
    "item": _item,
}
