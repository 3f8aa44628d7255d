"""The daemon itself: is it there, what is it, stop it, empty it."""

from __future__ import annotations

from typing import ClassVar

from whisk import PROTOCOL_VERSION
from whisk.actors.clearing import clear
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.values import Record
from whisk.work.clearing import Cleared
from whisk.work.person import check_actor


class Health(Record, frozen=True):
    ok: bool


class Compatibility(Record, frozen=True):
    """`api_version` is the old name of the same number."""

    wire_name: ClassVar[str] = "CompatibilityResponse"

    api_version: int
    protocol_version: int
    supported_previous_protocol_versions: tuple[int, ...]
    git_sha: str
    version: str
    dirty: bool = False


class Shutdown(Record, frozen=True):
    wire_name: ClassVar[str] = "ShutdownRequest"

    kill_ptys: bool = False


class ClearDaemon(Record, frozen=True):
    """`actor` is who asks, for the audit."""

    wire_name: ClassVar[str] = "ClearDaemonRequest"

    actor: str = ""


def health(_api: Api, _request: Request[None, None]) -> Health:
    return Health(ok=True)


def compat(api: Api, _request: Request[None, None]) -> Compatibility:
    return Compatibility(
        api_version=PROTOCOL_VERSION,
        protocol_version=PROTOCOL_VERSION,
        supported_previous_protocol_versions=(),
        git_sha=api.build.git_sha,
        version=api.build.version,
        dirty=api.build.dirty,
    )


def shutdown(api: Api, request: Request[Shutdown, None]) -> None:
    api.shutdown(request.body.kill_ptys)


def clear_daemon(api: Api, request: Request[ClearDaemon, None]) -> Cleared:
    who = check_actor(request.body.actor) or ""
    return clear(api.system, api.journal, api.sessions, api.events.publish.tell, who, request.surface)


ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/health", health, "Say that whiskd is up", reply=Health, auth="none", operation="getHealth"),
    Route(
        "GET",
        "/v1/compat",
        compat,
        "Say which version of the wire whiskd speaks",
        reply=Compatibility,
        operation="getCompatibility",
    ),
    Route(
        "POST",
        "/v1/shutdown",
        shutdown,
        "Stop whiskd; terminals go on unless killPtys",
        body=Shutdown,
        status=204,
        operation="shutdownDaemon",
    ),
    Route(
        "POST",
        "/v1/daemon/clear",
        clear_daemon,
        "End all terminals and delete sessions, work and mail",
        body=ClearDaemon,
        reply=Cleared,
        operation="clearDaemon",
    ),
)
