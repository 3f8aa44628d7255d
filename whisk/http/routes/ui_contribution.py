"""What plugins add to a client's window. Whisk has no plugins, so there is nothing but the scope."""

from __future__ import annotations

from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.values import Record


class UIContributionScope(Record, frozen=True):
    """The thing that a client shows, by any of its ids."""

    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pane_id: str = ""
    pty_id: str = ""
    gate_report_id: str = ""
    phase: str = ""


class UIContributionsResponse(Record, frozen=True):
    scope: UIContributionScope


def list_contributions(api: Api, request: Request[None, UIContributionScope]) -> UIContributionsResponse:
    return UIContributionsResponse(scope=request.query)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/ui-contributions",
        list_contributions,
        "List what plugins add to a window; there are none",
        query=UIContributionScope,
        reply=UIContributionsResponse,
        operation="listUIContributions",
    ),
)
