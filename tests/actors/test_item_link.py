"""Links and ready work: real actors and a real journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.work_desk import Desk
from whisk.actors.future import Future, get, wait
from whisk.actors.system import ActorSystem
from whisk.errors import NotFoundError, RefusedError
from whisk.storage import item_link as link_storage
from whisk.storage import ready as ready_storage
from whisk.work.item import CreateWorkItem, WorkItem
from whisk.work.item_change import DeleteItem
from whisk.work.item_link import AddItemLink, ItemLink
from whisk.work.project import Project
from whisk.work.ready import ReadyWork


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def project(desk: Desk) -> Project:
    return desk.project()


def items(desk: Desk, project: Project, count: int, stage_id: str = "") -> list[WorkItem]:
    handle = desk.work.project(project.id)
    request = CreateWorkItem(project_id=project.id, title="Fix it", stage_id=stage_id)
    return [get(handle.create_item.remote(request)) for _ in range(count)]


def adding(desk: Desk, source: WorkItem, target: WorkItem, kind: str = "blocks") -> Future[ItemLink]:
    request = AddItemLink(source_work_item_id=source.id, target_work_item_id=target.id, type=kind)
    return desk.work.project(source.project_id).add_link.remote(request)


def ready(desk: Desk, project: Project) -> ReadyWork:
    return desk.store.read(lambda db: ready_storage.of_project(db, project.id))


def test_a_link_is_stored_announced_and_deleted(desk: Desk, project: Project) -> None:
    one, two, three = items(desk, project, 3)
    link = get(adding(desk, one, two))
    get(adding(desk, two, three, "related"))
    assert link.id in desk.changes
    of_one = desk.store.read(lambda db: link_storage.select(db, work_item_id=one.id))
    assert of_one == [link]
    assert len(desk.store.read(lambda db: link_storage.select(db, work_item_id=two.id))) == 2
    assert get(desk.work.project(project.id).delete_link.remote(link.id)) == link
    with pytest.raises(NotFoundError):
        get(desk.work.project(project.id).delete_link.remote(link.id))
    assert desk.store.read(lambda db: link_storage.select(db, work_item_id=one.id)) == []


def test_two_links_at_once_that_would_make_a_circle_are_one_link(desk: Desk, project: Project) -> None:
    for _ in range(10):
        one, two = items(desk, project, 2)
        both = [adding(desk, one, two), adding(desk, two, one)]
        wait(both, num_returns=2, timeout=10)
        errors = [each.error() for each in both]
        assert [type(error) for error in errors if error is not None] == [RefusedError]
        assert len(desk.store.read(lambda db, id=one.id: link_storage.select(db, work_item_id=id))) == 1


def test_items_of_two_projects_are_not_linked(desk: Desk, project: Project) -> None:
    [one] = items(desk, project, 1)
    [other] = items(desk, desk.project(), 1)
    for source, target in ((one, other), (other, one)):
        with pytest.raises(RefusedError, match="of different projects"):
            get(adding(desk, source, target))


def test_a_deleted_item_takes_its_links_with_it_and_blocks_nobody(desk: Desk, project: Project) -> None:
    one, two, three = items(desk, project, 3)
    get([adding(desk, one, two), adding(desk, two, three)])
    assert [each.work_item.id for each in ready(desk, project).blocked] == [two.id, three.id]
    get(desk.work.item(two.id).delete.options(timeout=30).remote(DeleteItem()), timeout=30)
    assert desk.store.read(link_storage.select) == []
    assert [each.work_item.id for each in ready(desk, project).ready] == [one.id, three.id]
    with pytest.raises(NotFoundError):
        get(adding(desk, one, two))


def test_an_item_is_ready_once_what_blocks_it_is_done(desk: Desk, project: Project) -> None:
    one, two = items(desk, project, 2)
    [done] = items(desk, project, 1, "done")
    get([adding(desk, one, two), adding(desk, done, two)])
    found = ready(desk, project)
    assert [each.work_item.id for each in found.ready] == [one.id]
    [blocked] = found.blocked
    assert [(each.id, each.number, each.run_state) for each in blocked.blocked_by] == [(one.id, 1, "idle")]
    desk.start(one, launch=True, agent_profile_id="claude")
    found = ready(desk, project)
    assert (found.ready, found.blocked[0].blocked_by[0].run_state) == ((), "running")


def test_ready_work_of_all_projects_is_that_of_each(desk: Desk, project: Project) -> None:
    other = desk.project()
    one, two = items(desk, project, 2)
    items(desk, other, 1)
    get(adding(desk, one, two))
    found = desk.store.read(lambda db: ready_storage.ready_work(db, [project, other]))
    assert (found.summary.total_ready, found.summary.total_blocked) == (2, 1)
