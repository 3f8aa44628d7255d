"""The wire, described by itself."""

from __future__ import annotations

from typing import Any

from whisk.actors.offload import offload
from whisk.http.api import Api
from whisk.http.openapi import served
from whisk.http.reply import JSON, Text
from whisk.http.route import Request, Route


def show_document(_api: Api, _request: Request[None, None]) -> Text:
    return Text(offload(served), JSON)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/openapi.json",
        show_document,
        "Describe every operation (OpenAPI 3.0)",
        reply=dict[str, Any],
        operation="getOpenAPI",
    ),
)
