"""Work items."""

from __future__ import annotations

from whisk.actors.future import get
from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.storage import item as item_storage
from whisk.work.item import CreateWorkItem, WorkItem


class WorkItemFilter(Paged, frozen=True):
    project_id: str | None = None
    stage_id: str | None = None


def list_items(api: Api, request: Request[None, WorkItemFilter]) -> list[WorkItem]:
    wanted = request.query
    return api.store.read(
        lambda db: item_storage.select(db, wanted.project_id, stage_id=wanted.stage_id, page=wanted.page)
    )


def create_item(api: Api, request: Request[CreateWorkItem, None]) -> WorkItem:
    return get(api.work.project(request.body.project_id).create_item.remote(request.body))


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/work-items",
        list_items,
        "List work items",
        query=WorkItemFilter,
        reply=list[WorkItem],
        operation="listWorkItems",
    ),
    Route(
        "POST",
        "/v1/work-items",
        create_item,
        "Create a work item",
        body=CreateWorkItem,
        reply=WorkItem,
        status=201,
        operation="createWorkItem",
    ),
)
