"""Worktrees with real repositories and real git."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import gevent
import msgspec
import pytest

from tests.git_house import GitHouse
from whisk.actors.worktrees import Worktrees
from whisk.clock import Instant
from whisk.errors import GitError, InvalidError, RefusedError
from whisk.work.item import CreateWorkItem, WorkItem, new_item
from whisk.work.item_change import bind_worktree
from whisk.work.project import CreateProject, Project, new_project
from whisk.work.workflow import builtin_workflow
from whisk.work.worktree import CreatedWorktree, CreateWorktree, DetectTool, RemoveWorktree, Worktree

NOW = Instant(1_800_000_000_000_000_000)


@pytest.fixture
def house(tmp_path: Path) -> GitHouse:
    return GitHouse(tmp_path)


@pytest.fixture
def worktrees(house: GitHouse) -> Worktrees:
    return Worktrees(house.environ)


@pytest.fixture
def repo(house: GitHouse) -> Path:
    return house.repository()


Create = Callable[..., CreatedWorktree]


@pytest.fixture
def create(worktrees: Worktrees, repo: Path) -> Create:
    def make(branch: str, **fields: str) -> CreatedWorktree:
        return worktrees.create(CreateWorktree(**{"repo_path": str(repo), "branch": branch, **fields}))

    return make


def remove(worktrees: Worktrees, repo: Path, path: str, **fields: bool) -> None:
    worktrees.remove(RemoveWorktree(repo_path=str(repo), worktree_path=path, **fields))


def one(found: list[Worktree], branch: str) -> Worktree:
    (match,) = (each for each in found if each.branch == branch)
    return match


# -- listed ---------------------------------------------------------------------------------------------------------


def test_the_worktrees_of_a_repository_are_listed_main_first(worktrees: Worktrees, repo: Path, create: Create) -> None:
    made = create("feature/x")
    assert (made.path, made.created) == (f"{repo}/.whisk/worktrees/feature-x", True)
    Path(made.path, "new").touch()
    main, other = worktrees.list(str(repo))
    assert (main.path, main.branch, main.is_main, main.is_current, main.dirty) == (str(repo), "main", True, True, False)
    assert (other.path, other.branch, other.is_main, other.dirty) == (made.path, "feature/x", False, True)
    assert (main.kind, other.kind, other.locked) == ("worktree", "worktree", False)
    assert [each.is_current for each in worktrees.list(made.path)] == [False, True]


def test_a_folder_in_the_repository_means_the_repository(house: GitHouse, worktrees: Worktrees, repo: Path) -> None:
    house.commit(repo, "part/code", "x")
    assert worktrees.list(str(repo / "part"))[0].is_current


def test_a_path_with_spaces_and_letters_of_the_world(house: GitHouse, worktrees: Worktrees) -> None:
    repo = house.repository("my app 名前 ü")
    made = worktrees.create(CreateWorktree(repo_path=str(repo), branch="zweig/ü"))
    assert made.path == f"{repo}/.whisk/worktrees/zweig-ü"
    assert one(worktrees.list(str(repo)), "zweig/ü").path == made.path
    remove(worktrees, repo, made.path, also_branch=True)
    assert house.branches(repo) == ["main"]


def test_a_detached_head_has_no_branch(house: GitHouse, worktrees: Worktrees, repo: Path, create: Create) -> None:
    commit = house.commit(repo, "more", "x")
    house.git(repo, "checkout", "-q", "--detach")
    [main] = worktrees.list(str(repo))
    assert (main.branch, main.head) == ("", commit)
    made = create("from-detached")
    assert house.git(Path(made.path), "rev-parse", "HEAD").strip() == commit


def test_a_locked_one_says_why(house: GitHouse, worktrees: Worktrees, repo: Path, create: Create) -> None:
    house.git(repo, "worktree", "lock", "--reason", "on a stick", create("x").path)
    found = one(worktrees.list(str(repo)), "x")
    assert (found.locked, found.lock_reason) == (True, "on a stick")


def test_one_whose_folder_is_gone_is_missing(worktrees: Worktrees, repo: Path, create: Create) -> None:
    shutil.rmtree(create("x").path)
    found = one(worktrees.list(str(repo)), "x")
    assert (found.kind, found.dirty) == ("missing", False)


def test_one_that_git_cannot_look_into_counts_as_changed(worktrees: Worktrees, repo: Path, create: Create) -> None:
    Path(create("x").path, ".git").write_text("nonsense")
    assert one(worktrees.list(str(repo)), "x").dirty


def test_a_bare_repository_has_worktrees_too(house: GitHouse, worktrees: Worktrees, repo: Path) -> None:
    bare = house.folder / "app.git"
    house.git(house.folder, "clone", "-q", "--bare", str(repo), str(bare))
    made = worktrees.create(CreateWorktree(repo_path=str(bare), branch="x"))
    found = worktrees.list(str(bare))
    assert [(each.kind, each.is_main, each.dirty) for each in found] == [
        ("bare", True, False),
        ("worktree", False, False),
    ]
    assert found[1].path == made.path == f"{bare}/.whisk/worktrees/x"
    assert [each.is_current for each in worktrees.list(made.path)] == [False, True]


def test_a_submodule_is_a_repository_of_its_own(house: GitHouse, worktrees: Worktrees, repo: Path) -> None:
    outer = house.repository("outer")
    house.git(outer, "submodule", "add", "-q", str(repo), "part")
    house.git(outer, "commit", "-q", "-m", "a part")
    inner = outer / "part"
    [main] = worktrees.list(str(inner))
    assert (main.path, main.is_main, main.is_current) == (str(inner), True, True)
    made = worktrees.create(CreateWorktree(repo_path=str(inner), branch="x"))
    assert made.path == f"{inner}/.whisk/worktrees/x"
    assert worktrees.list(made.path)[0].path == str(inner)
    assert house.is_clean(outer)
    remove(worktrees, inner, made.path, also_branch=True)


# -- created --------------------------------------------------------------------------------------------------------


def test_a_new_branch_starts_from_head_or_from_its_base(house: GitHouse, repo: Path, create: Create) -> None:
    first = house.git(repo, "rev-parse", "HEAD").strip()
    house.git(repo, "tag", "v1")
    second = house.commit(repo, "more", "x")
    assert house.git(Path(create("a").path), "rev-parse", "HEAD").strip() == second
    assert house.git(Path(create("b", base="v1").path), "rev-parse", "HEAD").strip() == first
    assert house.git(Path(create("c", base="main~1").path), "rev-parse", "HEAD").strip() == first


def test_the_repository_stays_clean(house: GitHouse, repo: Path, create: Create) -> None:
    exclude = repo / ".git/info/exclude"
    before = exclude.read_text()
    create("a")
    create("b")
    assert house.is_clean(repo)
    assert exclude.read_text() == before + "/.whisk/worktrees/\n"


def test_an_exclude_file_without_a_last_newline_keeps_its_last_line(repo: Path, create: Create) -> None:
    (repo / ".git/info/exclude").write_text("*.log")
    create("a")
    assert (repo / ".git/info/exclude").read_text() == "*.log\n/.whisk/worktrees/\n"


def test_a_branch_that_is_checked_out_has_its_worktree_already(house: GitHouse, repo: Path, create: Create) -> None:
    made = create("x")
    again = create("x")
    assert (again.path, again.created) == (made.path, False)
    assert (create("main").path, create("main").created) == (str(repo), False)


def test_a_branch_that_exists_is_checked_out(house: GitHouse, repo: Path, create: Create) -> None:
    house.git(repo, "branch", "old")
    commit = house.commit(repo, "more", "x")
    made = create("old", base="main")
    assert made.created
    assert house.git(Path(made.path), "rev-parse", "HEAD").strip() != commit


def test_a_branch_of_the_one_remote_is_followed(house: GitHouse, worktrees: Worktrees, repo: Path) -> None:
    house.git(repo, "branch", "theirs")
    clone = house.folder / "clone"
    house.git(house.folder, "clone", "-q", str(repo), str(clone))
    made = worktrees.create(CreateWorktree(repo_path=str(clone), branch="theirs"))
    upstream = house.git(Path(made.path), "rev-parse", "--abbrev-ref", "theirs@{upstream}").strip()
    assert upstream == "origin/theirs"
    own = worktrees.create(CreateWorktree(repo_path=str(clone), branch="ours", base="origin/main"))
    assert house.git(Path(own.path), "config", "--default", "none", "branch.ours.remote").strip() == "none"


def test_a_folder_may_be_chosen(house: GitHouse, create: Create) -> None:
    path = str(house.folder / "else where")
    assert create("x", worktree_path=path).path == path
    with pytest.raises(GitError, match="already exists"):
        create("y", worktree_path=path)
    with pytest.raises(InvalidError, match="absolute"):
        create("y", worktree_path="relative")


def test_two_branches_that_want_one_folder_get_two(create: Create) -> None:
    assert create("a/b").path.endswith("/worktrees/a-b")
    assert create("a-b").path.endswith("/worktrees/a-b-2")


def test_a_branch_whose_worktree_is_gone_gets_another(repo: Path, create: Create) -> None:
    first = create("x")
    shutil.rmtree(first.path)
    again = create("x")
    assert (again.created, again.path) == (True, first.path)
    assert Path(again.path, "readme").exists()


def test_a_locked_worktree_that_is_not_there_is_left_to_its_owner(house: GitHouse, repo: Path, create: Create) -> None:
    path = create("x").path
    house.git(repo, "worktree", "lock", path)
    shutil.rmtree(path)
    with pytest.raises(GitError, match="locked and not there"):
        create("x")


@pytest.mark.parametrize("branch", ["-x", "--detach", "../x", "a b", "HEAD", ""])
def test_what_is_no_branch_never_reaches_git(house: GitHouse, repo: Path, create: Create, branch: str) -> None:
    with pytest.raises(InvalidError):
        create(branch)
    assert house.branches(repo) == ["main"]


@pytest.mark.parametrize("base", ["nowhere", "-x", "--all", "$(id)"])
def test_an_unknown_base_is_refused(house: GitHouse, repo: Path, create: Create, base: str) -> None:
    with pytest.raises(InvalidError, match=r"base|revision"):
        create("x", base=base)
    assert house.branches(repo) == ["main"]


def test_the_same_branch_asked_for_by_many_is_made_once(repo: Path, create: Create) -> None:
    asked = [gevent.spawn(create, "x") for _ in range(6)]
    made = [each.get(timeout=60) for each in asked]
    assert len({each.path for each in made}) == 1
    assert [each.created for each in made].count(True) == 1


def test_many_branches_asked_for_at_once_are_all_made(worktrees: Worktrees, repo: Path, create: Create) -> None:
    asked = [gevent.spawn(create, f"b{number}") for number in range(6)]
    made = [each.get(timeout=60) for each in asked]
    assert all(each.created for each in made)
    assert len(worktrees.list(str(repo))) == 7


def test_before_the_first_commit_there_is_nothing_to_check_out(house: GitHouse, worktrees: Worktrees) -> None:
    unborn = house.repository("unborn", commit=False)
    [main] = worktrees.list(str(unborn))
    assert (main.branch, main.head, main.is_main) == ("main", "", True)
    with pytest.raises(GitError) as refusal:
        worktrees.create(CreateWorktree(repo_path=str(unborn), branch="x"))
    assert refusal.value.details["reason"] == "no_commits"


def test_a_folder_without_a_repository_is_refused(house: GitHouse, worktrees: Worktrees) -> None:
    for path in (house.folder / "home", house.folder / "nowhere"):
        with pytest.raises(GitError) as refusal:
            worktrees.list(str(path))
        assert refusal.value.details["reason"] == "not_a_repository"
    with pytest.raises(InvalidError, match="absolute"):
        worktrees.list("relative")


def test_without_git_on_the_path_that_is_said(house: GitHouse, repo: Path) -> None:
    without = Worktrees(house.environ | {"PATH": "/nonexistent"})
    with pytest.raises(GitError) as refusal:
        without.list(str(repo))
    assert refusal.value.details["reason"] == "git_missing"
    assert not without.detect(DetectTool(repo_path=str(repo))).available


def test_variables_of_git_do_not_lead_elsewhere(house: GitHouse, repo: Path) -> None:
    other = house.repository("other")
    misled = Worktrees(house.environ | {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)})
    assert [each.path for each in misled.list(str(repo))] == [str(repo)]


def test_a_hook_that_hangs_is_ended_in_time(house: GitHouse, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whisk.actors.repository.WRITE_SECONDS", 0.5)
    hook = repo / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexec sleep 600\n")
    hook.chmod(0o755)
    with pytest.raises(GitError) as refusal:
        Worktrees(house.environ).create(CreateWorktree(repo_path=str(repo), branch="x"))
    assert refusal.value.details["reason"] == "timed_out"


def test_a_hook_that_leaves_something_running_holds_nobody_up(
    house: GitHouse, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whisk.actors.repository.WRITE_SECONDS", 5.0)
    runs = house.folder / "runs"
    runs.touch()
    hook = repo / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho preparing\nwhile [ -e '{runs}' ]; do sleep 0.05; done &\n")
    hook.chmod(0o755)
    try:
        made = Worktrees(house.environ).create(CreateWorktree(repo_path=str(repo), branch="x"))
        assert made.created
    finally:
        runs.unlink()


# -- removed --------------------------------------------------------------------------------------------------------


def test_a_worktree_is_removed_and_its_branch_only_when_asked(
    house: GitHouse, worktrees: Worktrees, repo: Path, create: Create
) -> None:
    for also_branch, left in ((False, ["main", "x"]), (True, ["main"])):
        path = create("x").path
        remove(worktrees, repo, path, also_branch=also_branch)
        assert not os.path.exists(path)
        assert house.branches(repo) == left


def test_the_main_worktree_is_never_removed(worktrees: Worktrees, repo: Path, create: Create) -> None:
    other = create("x").path
    for asked_from in (str(repo), other):
        with pytest.raises(RefusedError, match="main worktree"):
            remove(worktrees, Path(asked_from), str(repo), force=True)
    assert (repo / "readme").exists()


def test_what_may_be_missed_is_removed_by_force_only(
    house: GitHouse, worktrees: Worktrees, repo: Path, create: Create
) -> None:
    dirty, locked, current = (create(name).path for name in ("dirty", "locked", "current"))
    Path(dirty, "new").touch()
    house.git(repo, "worktree", "lock", "--reason", "mine", locked)
    for path, asked_from, why in (
        (dirty, repo, "dirty"),
        (locked, repo, "locked"),
        (current, Path(current), "current"),
    ):
        with pytest.raises(RefusedError) as refusal:
            remove(worktrees, asked_from, path)
        assert refusal.value.details["protected"] == why
        assert os.path.isdir(path)
        remove(worktrees, asked_from, path, force=True, also_branch=True)
        assert not os.path.exists(path)
    assert house.branches(repo) == ["main"]


def test_a_branch_with_commits_of_its_own_is_deleted_by_force_only(
    house: GitHouse, worktrees: Worktrees, repo: Path, create: Create
) -> None:
    path = create("x").path
    house.commit(Path(path), "work", "precious")
    with pytest.raises(RefusedError, match="branch x has 1 commit that no other branch has") as refusal:
        remove(worktrees, repo, path, also_branch=True)
    assert (refusal.value.details["commits"], os.path.isdir(path)) == (1, True)
    house.git(repo, "merge", "-q", "--no-ff", "--no-edit", "x")
    remove(worktrees, repo, path, also_branch=True)
    path = create("y").path
    house.commit(Path(path), "work", "worthless")
    remove(worktrees, repo, path, also_branch=True, force=True)
    assert house.branches(repo) == ["main"]


def test_one_whose_folder_is_gone_can_be_removed(worktrees: Worktrees, repo: Path, create: Create) -> None:
    path = create("x").path
    shutil.rmtree(path)
    remove(worktrees, repo, path)
    assert len(worktrees.list(str(repo))) == 1


def test_a_folder_that_is_no_worktree_is_not_removed(house: GitHouse, worktrees: Worktrees, repo: Path) -> None:
    for path in (str(house.folder / "home"), f"{repo}/../home", str(repo / ".git")):
        with pytest.raises(RefusedError, match="is not a worktree of"):
            remove(worktrees, repo, path, force=True)
    assert (house.folder / "home").is_dir()


# -- detected -------------------------------------------------------------------------------------------------------


def test_what_makes_worktrees_here_is_git(house: GitHouse, worktrees: Worktrees, repo: Path) -> None:
    status = worktrees.detect(DetectTool(repo_path=str(repo)))
    assert (status.available, status.config_found) == (True, False)
    assert os.path.basename(status.binary.path) == "git"
    assert status.binary.version[0].isdigit()
    (repo / ".config").mkdir()
    (repo / ".config/wt.toml").touch()
    assert worktrees.detect(DetectTool(repo_path=str(repo))).config_found
    assert worktrees.detect(DetectTool()).available
    assert not worktrees.detect(DetectTool(repo_path=str(house.folder / "home"))).available


# -- provided for a work item ---------------------------------------------------------------------------------------


def project_at(root: Path) -> Project:
    return new_project(CreateProject(root_dir=str(root), name="App"), project_id="proj_1", now=NOW)


@pytest.fixture
def item() -> WorkItem:
    request = CreateWorkItem(project_id="proj_1", title="Fix the login")
    return new_item(request, builtin_workflow(), item_id="item_1", number=7, now=NOW)


def test_an_item_gets_a_branch_and_a_folder_of_its_own(
    house: GitHouse, worktrees: Worktrees, repo: Path, item: WorkItem
) -> None:
    made = worktrees.provision(project_at(repo), item)
    assert made.reason == ""
    assert made.worktree is not None
    assert (made.worktree.branch, made.worktree.base) == ("whisk/app-7-fix-the-login", "main")
    assert made.worktree.worktree_path == f"{repo}/.whisk/worktrees/app-7-fix-the-login"
    assert house.is_clean(repo)
    assert worktrees.provision(project_at(repo), item) == made


def test_a_bound_worktree_is_left_as_it_is_and_made_again_when_its_folder_is_gone(
    house: GitHouse, worktrees: Worktrees, repo: Path, item: WorkItem
) -> None:
    made = worktrees.provision(project_at(repo), item).worktree
    assert made is not None
    bound = bind_worktree(item, made, NOW)
    renamed = msgspec.structs.replace(bound, title="Another title")
    house.commit(Path(made.worktree_path), "work", "precious")
    assert worktrees.provision(project_at(repo), renamed).worktree == made
    shutil.rmtree(made.worktree_path)
    assert worktrees.provision(project_at(repo), renamed).worktree == made
    assert Path(made.worktree_path, "work").read_text() == "precious"


def test_a_project_in_a_part_of_its_repository_goes_on_in_that_part(
    house: GitHouse, worktrees: Worktrees, repo: Path, item: WorkItem
) -> None:
    house.commit(repo, "packages/app/code", "x")
    project = project_at(repo / "packages/app")
    made = worktrees.provision(project, item).worktree
    assert made is not None
    top = f"{repo}/.whisk/worktrees/app-7-fix-the-login"
    assert made.worktree_path == f"{top}/packages/app"
    shutil.rmtree(top)
    assert worktrees.provision(project, bind_worktree(item, made, NOW)).worktree == made
    assert Path(made.worktree_path, "code").exists()


def test_where_there_is_nothing_to_make_a_worktree_of_the_reason_is_told(
    house: GitHouse, worktrees: Worktrees, repo: Path, item: WorkItem
) -> None:
    plain = worktrees.provision(project_at(house.folder / "home"), item)
    assert (plain.worktree, "not a git repository" in plain.reason) == (None, True)
    unborn = worktrees.provision(project_at(house.repository("unborn", commit=False)), item)
    assert (unborn.worktree, "no commit yet" in unborn.reason) == (None, True)
    without = Worktrees({"PATH": "/nonexistent"}).provision(project_at(repo), item)
    assert (without.worktree, "git is not installed" in without.reason) == (None, True)


def test_a_worktree_that_git_will_not_make_is_an_error(
    house: GitHouse, worktrees: Worktrees, repo: Path, item: WorkItem
) -> None:
    """Two agents must not be let loose on one folder because of a typing error."""
    house.git(repo, "branch", "whisk")
    with pytest.raises(GitError, match="whisk"):
        worktrees.provision(project_at(repo), item)
