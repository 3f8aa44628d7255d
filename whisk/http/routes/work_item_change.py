"""One work item: shown, changed, deleted. What moves it through its stages is elsewhere."""

from __future__ import annotations

from whisk.actors.future import get
from whisk.actors.session_book import CLOSE_SECONDS
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage import item as item_storage
from whisk.work.item import WorkItem
from whisk.work.item_change import AttachToItem, BindWorktree, DeleteItem, UpdateItem


def show_item(api: Api, request: Request[None, None]) -> WorkItem:
    return api.store.read(lambda db: item_storage.get(db, request.path["work_item_id"]))


def update_item(api: Api, request: Request[UpdateItem, None]) -> WorkItem:
    return get(api.work.item(request.path["work_item_id"]).update.remote(request.body))


def attach(api: Api, request: Request[AttachToItem, None]) -> WorkItem:
    return get(api.work.item(request.path["work_item_id"]).attach.remote(request.body))


def bind_worktree(api: Api, request: Request[BindWorktree, None]) -> WorkItem:
    return get(api.work.item(request.path["work_item_id"]).bind_worktree.remote(request.body))


def delete_item(api: Api, request: Request[DeleteItem, None]) -> WorkItem:
    """The answer comes when the sessions of its runs have ended; it is the item as it was last."""
    delete = api.work.item(request.path["work_item_id"]).delete.options(timeout=CLOSE_SECONDS)
    return get(delete.remote(request.body), timeout=CLOSE_SECONDS)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/work-items/{work_item_id}",
        show_item,
        "Show a work item",
        reply=WorkItem,
        operation="getWorkItem",
    ),
    Route(
        "POST",
        "/v1/work-items/{work_item_id}/update",
        update_item,
        "Change a work item's title or body",
        body=UpdateItem,
        reply=WorkItem,
        operation="updateWorkItem",
    ),
    Route(
        "POST",
        "/v1/work-items/{work_item_id}/attachments",
        attach,
        "Attach a file, a link or a note to a work item",
        body=AttachToItem,
        reply=WorkItem,
        status=201,
        operation="addWorkItemAttachment",
    ),
    Route(
        "POST",
        "/v1/work-items/{work_item_id}/bind-worktree",
        bind_worktree,
        "Bind a worktree to a work item, once",
        body=BindWorktree,
        reply=WorkItem,
        operation="bindWorkItemWorktree",
    ),
    Route(
        "POST",
        "/v1/work-items/{work_item_id}/delete",
        delete_item,
        "Delete a work item with its runs, questions and gates",
        body=DeleteItem,
        reply=WorkItem,
        operation="deleteWorkItem",
    ),
)
