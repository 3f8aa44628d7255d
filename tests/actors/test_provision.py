"""The worktree of an item whose execution is launched: real actors, a real journal, real git."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.git_house import GitHouse
from tests.work_desk import Desk
from whisk.actors.future import get, wait
from whisk.actors.system import ActorSystem
from whisk.errors import GitError, SpawnError
from whisk.work.action import Press
from whisk.work.item import CreateWorkItem, WorkItem
from whisk.work.item_change import BindWorktree
from whisk.work.project import CreateProject
from whisk.work.run import LaunchRun, Run

SECONDS = 60.0


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def house(tmp_path: Path) -> GitHouse:
    return GitHouse(tmp_path)


def ready(desk: Desk, root: Path) -> WorkItem:
    """An item of a project at `root`, with an approved plan."""
    project = desk.work.create_project(CreateProject(root_dir=str(root), name="App"))
    return planned(desk, project.id, "Fix the login")


def planned(desk: Desk, project_id: str, title: str) -> WorkItem:
    request = CreateWorkItem(project_id=project_id, title=title)
    item = get(desk.work.project(project_id).create_item.remote(request))
    handle = desk.work.item(item.id)
    run = get(handle.press.remote(Press(action="start_planning", actor="ann"))).run
    assert run is not None
    plan = get(handle.press.remote(Press(action="submit_draft_plan", run_id=run.id, body="The plan"))).artifact
    assert plan is not None
    get(handle.press.remote(Press(action="approve_plan", actor="ann", artifact_id=plan.id)))
    return item


def execute(desk: Desk, item: WorkItem, **launch: str) -> Run:
    handle = desk.work.item(item.id).press_and_launch.options(timeout=SECONDS)
    request = LaunchRun(**{"agent_profile_id": "claude", **launch})
    return get(handle.remote(Press(action="start_execution", actor="ann"), request), timeout=SECONDS)


def shown(desk: Desk, item: WorkItem) -> WorkItem:
    return get(desk.work.item(item.id).show.remote())


def test_an_execution_works_in_a_worktree_of_its_own(desk: Desk, house: GitHouse) -> None:
    repo = house.repository()
    item = ready(desk, repo)
    run = execute(desk, item)
    path = f"{repo}/.whisk/worktrees/app-1-fix-the-login"
    bound = shown(desk, item).worktree
    assert bound is not None
    assert (bound.branch, bound.base, bound.worktree_path) == ("whisk/app-1-fix-the-login", "main", path)
    [(order, _)] = desk.launches
    assert (order.root_dir, order.working_dir) == (str(repo), path)
    assert f"Worktree: {path} (branch whisk/app-1-fix-the-login)" in run.prompt_snapshot
    assert order.initial_pty is not None
    assert order.initial_pty.prompt == run.prompt_snapshot == desk.stored(run).prompt_snapshot
    step = shown(desk, item).history[-1]
    assert (step.type, step.actor, step.worktree_path) == ("worktree_bound", "runtime", path)


def test_without_a_repository_it_works_in_the_projects_folder_and_says_why(desk: Desk, house: GitHouse) -> None:
    root = house.folder / "plain"
    root.mkdir()
    run = execute(desk, item := ready(desk, root))
    assert (run.status, desk.launches[0][0].working_dir) == ("running", "")
    started = run.history[-1]
    assert started.type == "running"
    assert (started.message or "").startswith("works in the project's own folder: git rev-parse: not a git repository")
    assert f"Worktree: {root} (branch the project's own)" in run.prompt_snapshot
    assert shown(desk, item).worktree is None


def test_a_worktree_that_was_bound_by_hand_is_used(desk: Desk, house: GitHouse) -> None:
    repo = house.repository()
    item = ready(desk, repo)
    house.git(repo, "worktree", "add", "-q", "-b", "mine", str(house.folder / "mine"))
    request = BindWorktree(branch="mine", worktree_path=str(house.folder / "mine"))
    get(desk.work.item(item.id).bind_worktree.remote(request))
    execute(desk, item)
    assert desk.launches[0][0].working_dir == str(house.folder / "mine")
    assert house.branches(repo) == ["main", "mine"]


def test_who_says_where_the_run_works_gets_no_worktree_besides(desk: Desk, house: GitHouse) -> None:
    repo = house.repository()
    execute(desk, ready(desk, repo), worktree_override_path=str(house.folder))
    assert desk.launches[0][0].working_dir == str(house.folder)
    assert house.branches(repo) == ["main"]


def test_a_worktree_that_git_will_not_make_fails_the_launch(desk: Desk, house: GitHouse) -> None:
    repo = house.repository()
    house.git(repo, "branch", "whisk")
    item = ready(desk, repo)
    with pytest.raises(GitError, match="has failed"):
        execute(desk, item)
    assert (desk.launches, shown(desk, item).worktree, shown(desk, item).run_state) == ([], None, "failed")


def test_a_worktree_whose_folder_is_gone_is_made_again_for_the_next_launch(desk: Desk, house: GitHouse) -> None:
    item = ready(desk, house.repository())
    run = get(desk.work.item(item.id).press.remote(Press(action="start_execution", actor="ann"))).run
    assert run is not None
    desk.refusal = SpawnError("no such program")
    with pytest.raises(SpawnError):
        get(desk.work.run(run.id).launch.options(timeout=SECONDS).remote(LaunchRun(agent_profile_id="claude")))
    bound = shown(desk, item).worktree
    assert bound is not None
    shutil.rmtree(bound.worktree_path)
    desk.refusal = None
    handle = desk.work.item(item.id)
    get(handle.press.remote(Press(action="complete_execution", actor="ann")))
    get(handle.press.remote(Press(action="submit_review_feedback", actor="ann", body="More")))
    again = get(desk.work.run(run.id).launch.options(timeout=SECONDS).remote(LaunchRun(agent_profile_id="claude")))
    assert again.status == "running"
    assert Path(bound.worktree_path, "readme").exists()


def test_items_that_start_together_get_a_worktree_each(desk: Desk, house: GitHouse) -> None:
    first = ready(desk, house.repository())
    items = [first, *(planned(desk, first.project_id, f"Other {number}") for number in range(2))]
    starting = [
        desk.work.item(item.id)
        .press_and_launch.options(timeout=SECONDS)
        .remote(Press(action="start_execution", actor="ann"), LaunchRun(agent_profile_id="claude"))
        for item in items
    ]
    wait(starting, num_returns=len(starting), timeout=SECONDS)
    assert [each.get().status for each in starting] == ["running"] * 3
    folders = {order.working_dir for order, _ in desk.launches}
    assert len(folders) == 3
    assert all(Path(folder, "readme").exists() for folder in folders)
