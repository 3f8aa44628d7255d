"""Search: words in mail, questions, artifacts and transcripts."""

from __future__ import annotations

from typing import Annotated

import msgspec

from whisk.errors import UnavailableError
from whisk.http.api import Api
from whisk.http.reply import JSON_LINES, Text, lines_of
from whisk.http.route import Request, Route
from whisk.search.hit import HIT_KINDS, HitKind, SearchResults
from whisk.storage.search import SearchFilter
from whisk.values import Record, check_text

_QUERY_BYTES = 64 * 1024


class SearchQuery(Record, frozen=True):
    """`q`: words and "phrases", all of which must be there; a `*` at the end of one finds longer words too. `kinds`
    narrows, joined by commas. `after` is the id of the last hit of the page before.
    """

    q: str = ""
    kinds: list[HitKind] = []
    project_id: str = ""
    work_item_id: str = ""
    after: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


def search(api: Api, request: Request[None, SearchQuery]) -> SearchResults | Text:
    """The hits alone, as JSON lines, to who accepts those."""
    wanted = request.query
    if api.library is None:
        raise UnavailableError("nothing is indexed here")
    chosen = SearchFilter(
        kinds=tuple(dict.fromkeys(wanted.kinds)) or HIT_KINDS,
        project_id=wanted.project_id,
        work_item_id=wanted.work_item_id,
        limit=wanted.limit,
    )
    found = api.library.search(check_text(wanted.q, "q", limit=_QUERY_BYTES), chosen, wanted.after)
    if JSON_LINES in (request.header("Accept") or ""):
        return Text(lines_of(found.hits), JSON_LINES)
    return found


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/search",
        search,
        "Search mail, questions, artifacts and transcripts",
        query=SearchQuery,
        reply=SearchResults,
        operation="search",
    ),
)
