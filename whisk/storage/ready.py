"""Ready work, read from disk: every item's state from an index, and whole only the items that are shown."""

from __future__ import annotations

from peewee import Database

from whisk.storage import definition as definition_storage
from whisk.storage import item as item_storage
from whisk.storage import item_link as link_storage
from whisk.storage.project import PROJECTS
from whisk.work.project import Project
from whisk.work.ready import ItemState, Readiness, ReadyWork, explain, judge, needed, stage_kinds


def ready_work(db: Database, projects: list[Project], limit: int | None = None) -> ReadyWork:
    """Of these projects together, in their order."""
    definitions = definition_storage.select(db)
    whole = Readiness([], {}, {}, {}, {}, [])
    for project in projects:
        kinds = stage_kinds(project.workflow, definitions)
        states = [
            ItemState(id, number, kinds.get(stage_id, "active"), run_state)
            for id, number, stage_id, run_state in item_storage.states(db, project.id)
        ]
        blocks = link_storage.pairs(db, project.id, "blocks")
        _join(whole, judge(states, blocks, link_storage.pairs(db, project.id, "parent-child")))
    items = {item.id: item for item in item_storage.select_ids(db, needed(whole, limit))}
    return explain(whole, items, limit)


def of_project(db: Database, project_id: str, limit: int | None = None) -> ReadyWork:
    """Raises `NotFoundError`."""
    return ready_work(db, [PROJECTS.get(db, project_id)], limit)


def _join(whole: Readiness, part: Readiness) -> None:
    whole.ready.extend(part.ready)
    whole.cycles.extend(part.cycles)
    whole.blocked.update(part.blocked)
    whole.blockers.update(part.blockers)
    whole.dependents.update(part.dependents)
    whole.parents.update(part.parents)
