"""The place where a run works: before its agent starts, its item gets a worktree when the run is meant to have one."""

from __future__ import annotations

from typing import NamedTuple

from peewee import Database

from whisk.actors.work_services import WorkServices
from whisk.clock import Instant
from whisk.storage import item as item_storage
from whisk.work.case import AUTO_PROVISION, WORKING_DIR
from whisk.work.item import WorkItem
from whisk.work.item_change import BindWorktree, bind_worktree
from whisk.work.person import RUNTIME
from whisk.work.project import Project
from whisk.work.run import Run


class Place(NamedTuple):
    """The item with its worktree, and what is to be told about it: why it has none."""

    item: WorkItem
    note: str = ""


def provide(services: WorkServices, project: Project, item: WorkItem, run: Run, now: Instant) -> Place:
    """Make and bind the worktree that `run` is meant to work in; in a project without a repository there is none, and
    the run works in the project's own folder.

    Blocks the calling greenlet for as long as git takes. Raises `GitError`: what went wrong by accident must not let
    two agents loose on one folder.
    """
    if not _wants_worktree(run):
        return Place(item)
    made = services.provision(project, item)
    if made.worktree is None:
        return Place(item, f"works in the project's own folder: {made.reason}")
    binding = made.worktree
    bound = services.write(lambda db: _bind(db, item.id, binding, now))
    if bound.worktree != item.worktree:
        services.changed(item.id)
    return Place(bound)


def _wants_worktree(run: Run) -> bool:
    place, wish = run.metadata.get(WORKING_DIR), run.metadata.get(AUTO_PROVISION)
    return place is not None and place.text == "worktree" and wish is not None and wish.flag is True


def _bind(db: Database, item_id: str, binding: BindWorktree, now: Instant) -> WorkItem:
    item = item_storage.get(db, item_id)
    request = BindWorktree(
        branch=binding.branch, worktree_path=binding.worktree_path, base=binding.base, actor=RUNTIME
    )  # fmt: skip
    bound = bind_worktree(item, request, now)
    if bound is not item:
        item_storage.update(db, bound)
    return bound
