"""Workflow events: what has happened to work items on their way."""

from __future__ import annotations

from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.storage import workflow_event as event_storage
from whisk.work.workflow_event import WorkflowEvent


class WorkflowEventFilter(Paged, frozen=True):
    work_item_id: str | None = None


def list_events(api: Api, request: Request[None, WorkflowEventFilter]) -> list[WorkflowEvent]:
    return api.store.read(
        lambda db: event_storage.select(db, work_item_id=request.query.work_item_id, page=request.query.page)
    )


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/workflow-events",
        list_events,
        "List workflow events, the oldest first",
        query=WorkflowEventFilter,
        reply=list[WorkflowEvent],
        operation="listWorkflowEvents",
    ),
)
