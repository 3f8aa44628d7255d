"""Links between work items, and the work that is ready because of them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from whisk.actors.future import get
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage import item as item_storage
from whisk.storage import item_link as link_storage
from whisk.storage import project as project_storage
from whisk.storage import ready as ready_storage
from whisk.values import Record
from whisk.work.item_link import AddItemLink, ItemLink
from whisk.work.ready import ReadyWork


class LinkFilter(Record, frozen=True):
    """Those of an item are the links from it and to it."""

    work_item_id: str | None = None
    project_id: str | None = None


class ReadyFilter(Record, frozen=True):
    """`limit` cuts each of the lists; the summary counts all."""

    project_id: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


def list_links(api: Api, request: Request[None, LinkFilter]) -> list[ItemLink]:
    wanted = request.query
    return api.store.read(
        lambda db: link_storage.select(db, work_item_id=wanted.work_item_id, project_id=wanted.project_id)
    )


def add_link(api: Api, request: Request[AddItemLink, None]) -> ItemLink:
    project_id = api.store.read(lambda db: item_storage.project_of(db, request.body.source_work_item_id))
    return get(api.work.project(project_id).add_link.remote(request.body))


def delete_link(api: Api, request: Request[None, None]) -> ItemLink:
    link_id = request.path["link_id"]
    project_id = api.store.read(lambda db: link_storage.LINKS.get(db, link_id)).project_id
    return get(api.work.project(project_id).delete_link.remote(link_id))


def ready_work(api: Api, request: Request[None, ReadyFilter]) -> ReadyWork:
    """What can be begun now, and what the rest waits for; of one project, or of all."""
    project_id, limit = request.query.project_id, request.query.limit
    if project_id:
        return api.store.read(lambda db: ready_storage.of_project(db, project_id, limit))
    return api.store.read(lambda db: ready_storage.ready_work(db, project_storage.select(db), limit))


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/work-item-links",
        list_links,
        "List links between work items",
        query=LinkFilter,
        reply=list[ItemLink],
        operation="listWorkItemLinks",
    ),
    Route(
        "POST",
        "/v1/work-item-links",
        add_link,
        "Link two work items of a project",
        body=AddItemLink,
        reply=ItemLink,
        status=201,
        operation="addWorkItemLink",
    ),
    Route(
        "POST",
        "/v1/work-item-links/{link_id}/delete",
        delete_link,
        "Delete a link",
        reply=ItemLink,
        operation="deleteWorkItemLink",
    ),
    Route(
        "GET",
        "/v1/ready-work",
        ready_work,
        "List the work items that can be begun, and what the others wait for",
        query=ReadyFilter,
        reply=ReadyWork,
        operation="readyWork",
    ),
)
