"""Notices to a person's phone or screen: how they stand, and a try."""

from __future__ import annotations

from whisk.actors.future import get
from whisk.actors.notifier import NotifierHandle, disabled
from whisk.errors import RefusedError
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.matters.notice import NotifyResult, NotifyState
from whisk.values import Record

_SECONDS = 180.0


class TestNotify(Record, frozen=True):
    pass


def show_notify(api: Api, request: Request[None, None]) -> NotifyState:
    notifier = _notifier(api)
    return get(notifier.show.options(timeout=_SECONDS).remote(), _SECONDS) if notifier is not None else disabled()


def test_notify(api: Api, request: Request[TestNotify, None]) -> list[NotifyResult]:
    """The answer comes when every target has been tried."""
    notifier = _notifier(api)
    if notifier is None:
        raise RefusedError("nobody is to be notified: put addresses into `urls` of [notify] in the settings")
    return get(notifier.test.options(timeout=_SECONDS).remote(), _SECONDS)


def _notifier(api: Api) -> NotifierHandle | None:
    return api.system.find("notifier", handle=NotifierHandle)


ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/notify", show_notify, "Show how notices stand", reply=NotifyState, operation="getNotify"),
    Route(
        "POST",
        "/v1/notify/test",
        test_notify,
        "Send a notice that is about nothing",
        body=TestNotify,
        reply=list[NotifyResult],
        operation="testNotify",
    ),
)
