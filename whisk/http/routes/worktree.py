"""Worktrees of git repositories. The paths are the daemon's: a repository anywhere on its machine."""

from __future__ import annotations

from whisk.errors import RefusedError
from whisk.http import trail
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage import terminal as terminal_storage
from whisk.work.session import check_directory
from whisk.work.worktree import (
    CreatedWorktree,
    CreateWorktree,
    DetectTool,
    ListWorktrees,
    RemoveWorktree,
    ToolStatus,
    Worktree,
    inside,
)


def detect_tool(api: Api, request: Request[DetectTool, None]) -> ToolStatus:
    return api.worktrees.detect(request.body)


def list_worktrees(api: Api, request: Request[ListWorktrees, None]) -> list[Worktree]:
    return api.worktrees.list(request.body.repo_path)


def create_worktree(api: Api, request: Request[CreateWorktree, None]) -> CreatedWorktree:
    """The worktree that the branch has, or a new one."""
    return api.worktrees.create(request.body)


def remove_worktree(api: Api, request: Request[RemoveWorktree, None]) -> None:
    """What may be missed needs `force`; so does a folder in which a terminal of whisk was started and still runs."""
    path = check_directory(request.body.worktree_path, "worktreePath")
    if not request.body.force:
        alive = api.store.read(terminal_storage.select_alive)
        users = [record.id for record in alive if inside(record.working_dir, path)]
        if users:
            raise RefusedError(
                f"terminals run in {path}: {', '.join(users)}", worktreePath=path, protected="in_use", ptys=users
            )
    api.worktrees.remove(request.body)
    trail.note(api, request, "remove", "worktree", path, "removed")


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/worktrunk/detect",
        detect_tool,
        "Say whether worktrees can be made, and by what",
        body=DetectTool,
        reply=ToolStatus,
        operation="detectWorktrunk",
    ),
    Route(
        "POST",
        "/v1/worktrees/list",
        list_worktrees,
        "List the worktrees of a repository",
        body=ListWorktrees,
        reply=list[Worktree],
        operation="listWorktrees",
    ),
    Route(
        "POST",
        "/v1/worktrees/create",
        create_worktree,
        "Create a worktree, or find the one that the branch has",
        body=CreateWorktree,
        reply=CreatedWorktree,
        status=201,
        operation="createWorktree",
    ),
    Route(
        "POST",
        "/v1/worktrees/remove",
        remove_worktree,
        "Remove a worktree, and its branch when asked",
        body=RemoveWorktree,
        status=204,
        operation="removeWorktree",
    ),
)
