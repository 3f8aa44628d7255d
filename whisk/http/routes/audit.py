"""The audit trail: who decided what, when, by which rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from whisk.clock import Instant
from whisk.http.api import Api
from whisk.http.reply import JSON_LINES, Stream, lines_of
from whisk.http.route import Request, Route
from whisk.matters.audit import AuditEntry, AuditFilter, Surface
from whisk.storage import audit
from whisk.values import Record

# Entries that are in memory at once while the whole trail goes out.
_PAGE = 500


class AuditNarrowing(Record, frozen=True):
    """Which entries; empty fields do not narrow. `since` is included, `until` is not. `after` is an entry's number."""

    who: str = ""
    noun: str = ""
    id: str = ""
    action: str = ""
    outcome: str = ""
    surface: Surface = ""
    project_id: str = ""
    since: Instant | None = None
    until: Instant | None = None
    after: Annotated[int, msgspec.Meta(ge=0)] | None = None


class AuditQuery(AuditNarrowing, frozen=True):
    """Without `after`, the newest `limit` entries; with it, the first `limit` behind it."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 200


def list_audit(api: Api, request: Request[None, AuditQuery]) -> list[AuditEntry]:
    chosen = AuditFilter(**msgspec.structs.asdict(request.query))
    return api.store.read(lambda db: audit.select(db, chosen))


def export_audit(api: Api, request: Request[None, AuditNarrowing]) -> Stream:
    """All of it as JSON lines, oldest first; what is written meanwhile is included."""
    chosen = AuditFilter(**{**msgspec.structs.asdict(request.query), "limit": _PAGE})
    first = _page(api, chosen, chosen.after or 0)

    def chunks() -> Iterator[bytes]:
        page = first
        while page:
            yield lines_of(page)
            page = _page(api, chosen, page[-1].seq) if len(page) == _PAGE else []

    return Stream(chunks(), JSON_LINES)


def _page(api: Api, chosen: AuditFilter, after: int) -> list[AuditEntry]:
    wanted = msgspec.structs.replace(chosen, after=after)
    return api.store.read(lambda db: audit.select(db, wanted))


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/audit",
        list_audit,
        "List decisions: who, what, when, by which rule",
        query=AuditQuery,
        reply=list[AuditEntry],
        operation="listAudit",
    ),
    Route(
        "GET",
        "/v1/audit/export",
        export_audit,
        "The whole audit trail as JSON lines",
        query=AuditNarrowing,
        reply=Stream,
        operation="exportAudit",
        media=JSON_LINES,
        frames=(AuditEntry,),
    ),
)
