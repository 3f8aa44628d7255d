"""Artifacts: the plans and the feedback of work items."""

from __future__ import annotations

from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.storage import artifact as artifact_storage
from whisk.work.artifact import Artifact


class ArtifactFilter(Paged, frozen=True):
    work_item_id: str | None = None


def list_artifacts(api: Api, request: Request[None, ArtifactFilter]) -> list[Artifact]:
    return api.store.read(
        lambda db: artifact_storage.select(db, work_item_id=request.query.work_item_id, page=request.query.page)
    )


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/artifacts",
        list_artifacts,
        "List artifacts, the oldest first",
        query=ArtifactFilter,
        reply=list[Artifact],
        operation="listArtifacts",
    ),
)
