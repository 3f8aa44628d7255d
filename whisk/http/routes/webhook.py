"""Webhooks: addresses that are told of matters by signed requests."""

from __future__ import annotations

from typing import Any

from whisk.actors.future import get
from whisk.actors.matters import MattersHandle
from whisk.actors.webhook import WebhookHandle
from whisk.errors import WhiskError
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.matters.webhook import (
    Attempt,
    ChangeWebhook,
    CreateWebhook,
    DeadLetter,
    SecretWebhook,
    WebhookState,
)
from whisk.storage import webhook as storage
from whisk.values import Record

# A request may take its own time-out, and wait for its turn before.
_TRY_SECONDS = 90.0


class RemoveWebhook(Record, frozen=True):
    """Who removes it."""

    actor: str = ""


class Redelivery(Record, frozen=True):
    """What became of one dead letter; without `attempt`, `error` says why nothing could be sent."""

    letter: DeadLetter
    attempt: Attempt | None = None
    error: str = ""


def create_webhook(api: Api, request: Request[CreateWebhook, None]) -> SecretWebhook:
    state, secret = get(_keeper(api).add.remote(request.body))
    return SecretWebhook(webhook=state, secret=secret)


def list_webhooks(api: Api, request: Request[None, None]) -> list[WebhookState]:
    found = api.store.read(lambda db: storage.WEBHOOKS.select(db))
    handles = [get(_keeper(api).find.remote(webhook.id)) for webhook in found]
    return get([handle.show.remote() for handle in handles])


def show_webhook(api: Api, request: Request[None, None]) -> WebhookState:
    return get(_find(api, request).show.remote())


def remove_webhook(api: Api, request: Request[None, RemoveWebhook]) -> WebhookState:
    return get(_keeper(api).remove.remote(request.path["webhook_id"], request.query.actor, request.surface))


def pause_webhook(api: Api, request: Request[ChangeWebhook, None]) -> WebhookState:
    return get(_find(api, request).pause.remote(True, request.body.actor, request.body.surface))


def resume_webhook(api: Api, request: Request[ChangeWebhook, None]) -> WebhookState:
    return get(_find(api, request).pause.remote(False, request.body.actor, request.body.surface))


def rotate_secret(api: Api, request: Request[ChangeWebhook, None]) -> SecretWebhook:
    handle = _find(api, request)
    secret = get(handle.rotate.remote(request.body.actor, request.body.surface))
    return SecretWebhook(webhook=get(handle.show.remote()), secret=secret)


def test_webhook(api: Api, request: Request[ChangeWebhook, None]) -> Attempt:
    """Sends one request and says what became of it."""
    return get(_find(api, request).test.options(timeout=_TRY_SECONDS).remote(), _TRY_SECONDS)


def list_dead_letters(api: Api, request: Request[None, None]) -> list[DeadLetter]:
    webhook_id = request.path["webhook_id"]

    def read(db: Any) -> list[DeadLetter]:
        storage.WEBHOOKS.get(db, webhook_id)
        return storage.letters(db, webhook_id)

    return api.store.read(read)


def redeliver_all(api: Api, request: Request[ChangeWebhook, None]) -> list[Redelivery]:
    """Sends each dead letter once more, in their order, until one fails."""
    handle, done = _find(api, request), []
    for letter in list_dead_letters(api, request):  # type: ignore[arg-type]  # it looks at the path alone
        done.append(_redeliver(handle, letter, request.body))
        if done[-1].attempt is not None and not done[-1].attempt.delivered:
            break
    return done


def redeliver_one(api: Api, request: Request[ChangeWebhook, None]) -> Redelivery:
    handle, letter_id = _find(api, request), request.path["letter_id"]
    letter = api.store.read(lambda db: storage.letter(db, request.path["webhook_id"], letter_id))
    return _redeliver(handle, letter, request.body)


def _redeliver(handle: WebhookHandle, letter: DeadLetter, by: ChangeWebhook) -> Redelivery:
    try:
        call = handle.redeliver.options(timeout=_TRY_SECONDS)
        return Redelivery(letter=letter, attempt=get(call.remote(letter, by.actor, by.surface), _TRY_SECONDS))
    except WhiskError as error:
        return Redelivery(letter=letter, error=error.message)


def _keeper(api: Api) -> MattersHandle:
    return api.system.get("matters", handle=MattersHandle)


def _find(api: Api, request: Request[Any, Any]) -> WebhookHandle:
    return get(_keeper(api).find.remote(request.path["webhook_id"]))


_ONE = "/v1/webhooks/{webhook_id}"
ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/webhooks",
        list_webhooks,
        "List webhooks, the oldest first",
        reply=list[WebhookState],
        operation="listWebhooks",
    ),
    Route(
        "POST",
        "/v1/webhooks",
        create_webhook,
        "Add a webhook; the answer alone shows its secret",
        body=CreateWebhook,
        reply=SecretWebhook,
        status=201,
        operation="createWebhook",
    ),
    Route("GET", _ONE, show_webhook, "Show a webhook", reply=WebhookState, operation="getWebhook"),
    Route(
        "DELETE",
        _ONE,
        remove_webhook,
        "Remove a webhook",
        query=RemoveWebhook,
        reply=WebhookState,
        operation="removeWebhook",
    ),
    Route(
        "POST",
        f"{_ONE}/pause",
        pause_webhook,
        "Pause a webhook; it keeps its place",
        body=ChangeWebhook,
        reply=WebhookState,
        operation="pauseWebhook",
    ),
    Route(
        "POST",
        f"{_ONE}/resume",
        resume_webhook,
        "Let a webhook go on",
        body=ChangeWebhook,
        reply=WebhookState,
        operation="resumeWebhook",
    ),
    Route(
        "POST",
        f"{_ONE}/rotate",
        rotate_secret,
        "Give a webhook a new secret",
        body=ChangeWebhook,
        reply=SecretWebhook,
        operation="rotateWebhookSecret",
    ),
    Route(
        "POST",
        f"{_ONE}/test",
        test_webhook,
        "Send a webhook a request that is no matter",
        body=ChangeWebhook,
        reply=Attempt,
        operation="testWebhook",
    ),
    Route(
        "GET",
        f"{_ONE}/dead-letters",
        list_dead_letters,
        "List deliveries that were given up",
        reply=list[DeadLetter],
        operation="listDeadLettersOfWebhook",
    ),
    Route(
        "POST",
        f"{_ONE}/dead-letters/redeliver",
        redeliver_all,
        "Send dead letters again, until one fails",
        body=ChangeWebhook,
        reply=list[Redelivery],
        operation="redeliverDeadLetters",
    ),
    Route(
        "POST",
        f"{_ONE}/dead-letters/{{letter_id}}/redeliver",
        redeliver_one,
        "Send one dead letter again",
        body=ChangeWebhook,
        reply=Redelivery,
        operation="redeliverDeadLetter",
    ),
)
