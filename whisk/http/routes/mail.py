"""Mail: send, read, wait for and look through messages."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec

from whisk.actors.future import Future, get
from whisk.actors.post_office import PostOfficeHandle
from whisk.errors import DeadlineError
from whisk.http.api import Api
from whisk.http.client_gone import ClientGoneError, is_gone
from whisk.http.route import Request, Route
from whisk.mail.address import MailAddress, check_address, parse_address, unique
from whisk.mail.delivery import MAX_LEASE, MailClaim, MarkMailReadRequest, NextMailResponse, Want, want
from whisk.mail.message import MailMessage, SendMailRequest, parse_type
from whisk.mail.selector import concrete
from whisk.mail.thread import ReplyMailRequest
from whisk.storage import mail, mail_delivery, mail_list
from whisk.storage.mail_delivery import Delivery
from whisk.storage.mail_list import MailFilter
from whisk.values import Record

_DAY_MS = 86_400_000
# Longer than any disk should need; a sender that hears nothing by then retries with its idempotency key.
_STORE_SECONDS = 30.0
_SEARCH_LIMIT = 50


class MailQuery(Record, frozen=True):
    """`to` and `types`: any of them. `before` and `after` are message ids, for paging. `limit` 0 means all."""

    to: list[str] = []
    unread: bool = False
    types: list[str] = []
    project_id: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    thread_id: str | None = None
    before: str | None = None
    after: str | None = None
    limit: int | None = None


class MailSearchQuery(MailQuery, frozen=True):
    """Any text is a query; a message is found when it holds every word of it. Without `limit`, the newest 50."""

    q: str = ""


class NextMailQuery(Record, frozen=True):
    """`timeout_ms` 0 answers at once. `ack` marks the message read as it is given out. `claim` sets it aside for so
    many seconds, to be confirmed at `/read`; unconfirmed, it goes back to the queue. Neither: it is only shown."""

    to: list[str] = []
    types: list[str] = []
    project_id: str | None = None
    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=_DAY_MS)] = 0
    ack: bool = False
    claim: Annotated[float, msgspec.Meta(ge=0, le=MAX_LEASE)] = 0.0


def send_mail(api: Api, request: Request[SendMailRequest, None]) -> MailMessage:
    body = request.body
    key = request.header("Idempotency-Key")
    if key is not None and body.idempotency_key is None:
        body = msgspec.structs.replace(body, idempotency_key=key)
    return get(_post_office(api).send.options(timeout=_STORE_SECONDS).remote(body), _STORE_SECONDS)


def reply_mail(api: Api, request: Request[ReplyMailRequest, None]) -> MailMessage:
    body = request.body
    key = request.header("Idempotency-Key")
    if key is not None and body.idempotency_key is None:
        body = msgspec.structs.replace(body, idempotency_key=key)
    sending = _post_office(api).reply.options(timeout=_STORE_SECONDS).remote(request.path["mail_id"], body)
    return get(sending, _STORE_SECONDS)


def get_mail(api: Api, request: Request[None, None]) -> MailMessage:
    return api.store.read(lambda db: mail.get(db, request.path["mail_id"]))


def list_mail(api: Api, request: Request[None, MailQuery]) -> list[MailMessage]:
    chosen = _filter(request.query, default_limit=0)
    return api.store.read(lambda db: mail_list.select(db, chosen))


def search_mail(api: Api, request: Request[None, MailSearchQuery]) -> list[MailMessage]:
    chosen = _filter(request.query, default_limit=_SEARCH_LIMIT)
    return api.store.read(lambda db: mail_list.search(db, request.query.q, chosen))


def show_thread(api: Api, request: Request[None, None]) -> list[MailMessage]:
    return api.store.read(lambda db: mail_list.thread(db, request.path["mail_id"]))


def mark_mail_read(api: Api, request: Request[MarkMailReadRequest, None]) -> MailMessage:
    to = request.body.to
    address = concrete(check_address(to)) if to is not None else None
    marking = _post_office(api).mark_read.remote(request.path["mail_id"], address, request.body.claim)
    return get(marking, _STORE_SECONDS)


def next_mail(api: Api, request: Request[None, NextMailQuery]) -> NextMailResponse:
    query = request.query
    addresses = _addresses(query.to)
    seconds = query.timeout_ms / 1000
    if not addresses and not query.ack and not query.claim:
        types = tuple(parse_type(text) for text in query.types)
        anybody = Want(addresses=(), types=types, project_id=query.project_id)
        return _response(_look_at_all(api, request, anybody, seconds))
    wanted = want(
        addresses,
        types=query.types,
        project_id=query.project_id,
        ack=query.ack,
        claim=query.claim,
        wait=seconds > 0,
    )
    if wanted.mode == "look" and not wanted.wait:
        return _response(api.store.read(lambda db: mail_delivery.find_next(db, wanted)))
    return _response(_ask(api, request, wanted, seconds or _STORE_SECONDS))


def _ask(api: Api, request: Request[None, NextMailQuery], wanted: Want, seconds: float) -> Delivery | None:
    post_office = _post_office(api)
    reply: Future[Delivery | None] = Future()
    post_office.check.tell(wanted, reply)
    try:
        delivery = request.wait(reply, seconds)
        if delivery is not None and is_gone(request.environ):
            raise ClientGoneError
    except DeadlineError:
        # What came in the last moment is not given up.
        return None if reply.cancel() else reply.get(timeout=0)
    except BaseException:
        if not reply.cancel() and reply.error() is None and (taken := reply.get(timeout=0)) is not None:
            post_office.give_back.tell(taken)
        raise
    return delivery


def _look_at_all(api: Api, request: Request[None, NextMailQuery], wanted: Want, seconds: float) -> Delivery | None:
    """The oldest unread message of anybody. There is no queue to wait in, so the announcements say when to look."""
    deadline = time.monotonic() + seconds
    after = get(api.events.last.remote())
    while True:
        found = api.store.read(lambda db: mail_delivery.find_next(db, wanted))
        left = deadline - time.monotonic()
        if found is not None or left <= 0:
            return found
        following = api.events.follow.options(timeout=None).remote(after)
        try:
            after = request.wait(following, left).next
        except DeadlineError:
            return None
        finally:
            following.cancel()


def _response(delivery: Delivery | None) -> NextMailResponse:
    if delivery is None:
        return NextMailResponse(timeout=True)
    claim = None
    if delivery.token is not None and delivery.until is not None:
        claim = MailClaim(token=delivery.token, until=delivery.until)
    return NextMailResponse(message=delivery.message, address=delivery.address, claim=claim)


def _filter(query: MailQuery, default_limit: int) -> MailFilter:
    return MailFilter(
        to=_addresses(query.to),
        unread=query.unread,
        types=tuple(parse_type(text) for text in query.types),
        project_id=query.project_id,
        work_item_id=query.work_item_id,
        run_id=query.run_id,
        thread_id=query.thread_id,
        before=query.before,
        after=query.after,
        limit=default_limit if query.limit is None else query.limit,
    )


def _addresses(texts: list[str]) -> tuple[MailAddress, ...]:
    return unique(concrete(parse_address(text)) for text in texts)


def _post_office(api: Api) -> PostOfficeHandle:
    return api.system.get("post-office", PostOfficeHandle)


_ID = "/v1/mail/{mail_id}"

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/mail",
        send_mail,
        "Send a message",
        body=SendMailRequest,
        reply=MailMessage,
        status=201,
        operation="sendMail",
    ),
    Route(
        "GET",
        "/v1/mail",
        list_mail,
        "List messages, newest first",
        query=MailQuery,
        reply=list[MailMessage],
        operation="listMail",
    ),
    Route(
        "GET",
        "/v1/mail/next",
        next_mail,
        "Take, claim or look at the oldest unread message, waiting for one if asked",
        query=NextMailQuery,
        reply=NextMailResponse,
        operation="nextMail",
    ),
    Route(
        "GET",
        "/v1/mail/search",
        search_mail,
        "Search subjects and bodies, newest first",
        query=MailSearchQuery,
        reply=list[MailMessage],
        operation="searchMail",
    ),
    Route("GET", _ID, get_mail, "Show a message", reply=MailMessage, operation="getMail"),
    Route(
        "GET",
        f"{_ID}/thread",
        show_thread,
        "Show a whole conversation, its root first",
        reply=list[MailMessage],
        operation="getMailThread",
    ),
    Route(
        "POST",
        f"{_ID}/read",
        mark_mail_read,
        "Mark a message read, or confirm a claim on it",
        body=MarkMailReadRequest,
        reply=MailMessage,
        operation="markMailRead",
    ),
    Route(
        "POST",
        f"{_ID}/reply",
        reply_mail,
        "Answer the sender of a message",
        body=ReplyMailRequest,
        reply=MailMessage,
        status=201,
        operation="replyMail",
    ),
)
