"""Runs: agents at work on work items."""

from __future__ import annotations

from typing import ClassVar

from whisk.actors.future import get
from whisk.actors.work_item import LAUNCH_SECONDS
from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.storage import run as run_storage
from whisk.values import Record
from whisk.work.run import LaunchRun, Run, StartRun


class RunFilter(Paged, frozen=True):
    work_item_id: str | None = None


class CancelRun(Record, frozen=True):
    wire_name: ClassVar[str] = "CancelWorkItemRunRequest"

    actor: str | None = None
    id: str = ""


def list_runs(api: Api, request: Request[None, RunFilter]) -> list[Run]:
    return api.store.read(
        lambda db: run_storage.select(db, work_item_id=request.query.work_item_id, page=request.query.page)
    )


def show_run(api: Api, request: Request[None, None]) -> Run:
    return api.store.read(lambda db: run_storage.get(db, request.path["run_id"]))


def start_run(api: Api, request: Request[StartRun, None]) -> Run:
    """With `launch` the answer comes when the agent's terminal runs; a launch that fails is the refusal."""
    item = api.work.item(request.body.work_item_id)
    return get(item.start_run.options(timeout=LAUNCH_SECONDS).remote(request.body), timeout=LAUNCH_SECONDS)


def launch_run(api: Api, request: Request[LaunchRun, None]) -> Run:
    run = api.work.run(request.path["run_id"])
    return get(run.launch.options(timeout=LAUNCH_SECONDS).remote(request.body), timeout=LAUNCH_SECONDS)


def cancel_run(api: Api, request: Request[CancelRun, None]) -> Run:
    return get(api.work.run(request.path["run_id"]).cancel.remote(request.body.actor, request.surface))


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/work-item-runs",
        list_runs,
        "List runs",
        query=RunFilter,
        reply=list[Run],
        operation="listWorkItemRuns",
    ),
    Route(
        "GET",
        "/v1/work-item-runs/{run_id}",
        show_run,
        "Show a run",
        reply=Run,
        operation="getWorkItemRun",
    ),
    Route(
        "POST",
        "/v1/work-item-runs",
        start_run,
        "Start a run",
        body=StartRun,
        reply=Run,
        status=201,
        operation="startWorkItemRun",
    ),
    Route(
        "POST",
        "/v1/work-item-runs/{run_id}/launch",
        launch_run,
        "Launch a queued run",
        body=LaunchRun,
        reply=Run,
        operation="launchWorkItemRun",
    ),
    Route(
        "POST",
        "/v1/work-item-runs/{run_id}/cancel",
        cancel_run,
        "Cancel a run",
        body=CancelRun,
        reply=Run,
        operation="cancelWorkItemRun",
    ),
)
