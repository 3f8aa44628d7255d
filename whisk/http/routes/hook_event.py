"""The hook log: what agents reported and what became of it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from whisk.actors.future import get
from whisk.hooks.entry import AgentBridgeEvent
from whisk.http import relay, trail
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.http.routes.bridge import RELAY_LIMIT, AgentBridgeHookRequest, context_of, event_of
from whisk.storage import hook_event as storage
from whisk.values import Record


class HookEventFilter(Record, frozen=True):
    """`limit` is how many of the newest."""

    status: Literal["pending", "read", ""] = ""
    provider: str = ""
    event_name: str = ""
    pty_id: str = ""
    session_id: str = ""
    provider_session_id: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 200


class MarkRead(Record, frozen=True):
    """`id` is for clients that say it twice; the path's is meant."""

    wire_name: ClassVar[str] = "MarkAgentBridgeEventReadRequest"

    id: str = ""


class AgentHookLogStatus(Record, frozen=True):
    """`path` is the database that holds the log; `detail` says why nothing was opened."""

    enabled: bool
    clear_after_session: bool
    path: str
    size_bytes: int
    entries: int
    detail: str = ""


class SetAgentHookLogSettingsRequest(Record, frozen=True):
    """What is absent or null stays as it is.

    With `enabled` false nothing that agents say is kept; that an event came is, since `@idle` and prompts go by it.
    """

    enabled: bool | None = None
    clear_after_session: bool | None = None


def record_event(api: Api, request: Request[AgentBridgeHookRequest, None]) -> AgentBridgeEvent:
    sent = request.body
    event = event_of(sent, sent.provider or "unknown")
    return get(relay.keeper(api).note.remote(event, context_of(sent)))


def list_events(api: Api, request: Request[None, HookEventFilter]) -> list[AgentBridgeEvent]:
    wanted = storage.HookLogQuery(**msgspec.structs.asdict(request.query))
    return api.store.read(lambda db: storage.select(db, wanted))


def read_event(api: Api, request: Request[MarkRead, None]) -> AgentBridgeEvent:
    event_id = request.path["event_id"]
    return get(api.journal.write.remote(lambda db: storage.mark_read(db, event_id)))  # type: ignore[no-any-return]


def show_log(api: Api, request: Request[None, None]) -> AgentHookLogStatus:
    return _status(api)


def clear_log(api: Api, request: Request[None, None]) -> AgentHookLogStatus:
    get(api.journal.write.remote(storage.clear))
    trail.note(api, request, "clear", "hook-log", "hook-log", "cleared")
    return show_log(api, request)


def set_log(api: Api, request: Request[SetAgentHookLogSettingsRequest, None]) -> AgentHookLogStatus:
    get(relay.keeper(api).set_log.remote(request.body.enabled, request.body.clear_after_session))
    return _status(api)


def open_log(api: Api, request: Request[None, None]) -> AgentHookLogStatus:
    """A daemon has no desktop to open a file on, and a database is nothing to look at in an editor."""
    said = "nothing was opened: the log is in a database; `whisk hook events` prints it"
    return msgspec.structs.replace(_status(api), detail=said)


def _status(api: Api) -> AgentHookLogStatus:
    size, settings = api.store.read(lambda db: (storage.size(db), storage.load_settings(db)))
    return AgentHookLogStatus(
        enabled=settings.enabled,
        clear_after_session=settings.clear_after_session,
        path=api.store.path,
        size_bytes=size.bytes,
        entries=size.entries,
    )


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/agent-hook-events",
        record_event,
        "Log an agent's event; nobody is asked",
        body=AgentBridgeHookRequest,
        reply=AgentBridgeEvent,
        status=201,
        body_limit=RELAY_LIMIT,
        operation="recordAgentHookEvent",
    ),
    Route(
        "GET",
        "/v1/agent-bridge-events",
        list_events,
        "List the hook log",
        query=HookEventFilter,
        reply=list[AgentBridgeEvent],
        operation="listAgentBridgeEvents",
    ),
    Route(
        "POST",
        "/v1/agent-bridge-events/{event_id}/read",
        read_event,
        "Mark a log entry read",
        body=MarkRead,
        reply=AgentBridgeEvent,
        operation="markAgentBridgeEventRead",
    ),
    Route(
        "GET",
        "/v1/agent-hook-log",
        show_log,
        "Show where the hook log is and its size",
        reply=AgentHookLogStatus,
        operation="getAgentHookLogStatus",
    ),
    Route(
        "POST",
        "/v1/agent-hook-log/settings",
        set_log,
        "Switch the hook log on or off",
        body=SetAgentHookLogSettingsRequest,
        reply=AgentHookLogStatus,
        operation="setAgentHookLogSettings",
    ),
    Route(
        "POST",
        "/v1/agent-hook-log/open",
        open_log,
        "Say where the hook log is; whiskd opens nothing",
        reply=AgentHookLogStatus,
        operation="openAgentHookLog",
    ),
    Route(
        "POST",
        "/v1/agent-hook-log/clear",
        clear_log,
        "Empty the hook log",
        reply=AgentHookLogStatus,
        operation="clearAgentHookLog",
    ),
)
