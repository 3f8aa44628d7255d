"""A webhook: an address that is told of matters, by signed requests, until it says that it has them."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import random
from typing import ClassVar
from urllib.parse import urlsplit

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.ids import new_id, secret_token
from whisk.matters.audit import Surface
from whisk.matters.matter import MATTER_TYPES, Matter, MatterType
from whisk.values import Record, check_text

URL_BYTES = 2048
_LEAST_SECRET = 16


class Webhook(Record, frozen=True):
    """As it is stored. `types` empty means all. `cursor` is the last matter that needs no more telling: it was
    delivered, was not wanted, or was given up. `missed` counts those that were gone before they could be told.
    """

    id: str
    url: str
    secret: str
    created_at: Instant
    cursor: int
    types: tuple[MatterType, ...] = ()
    project_id: str = ""
    created_by: str = ""
    paused: bool = False
    delivered: int = 0
    missed: int = 0
    last_delivered_at: Instant | None = None


class WebhookState(Record, frozen=True):
    """As clients see it. `behind` is how many matters it has not been told of yet, wanted or not; `attempts` how often
    the present one has failed, `last_error` how. `insecure`: what it is told can be read on the way.
    """

    wire_name: ClassVar[str] = "Webhook"

    id: str
    url: str
    types: tuple[MatterType, ...]
    paused: bool
    created_at: Instant
    behind: int
    delivered: int
    dead_letters: int
    missed: int
    project_id: str = ""
    created_by: str = ""
    last_delivered_at: Instant | None = None
    attempts: int = 0
    last_error: str = ""
    insecure: bool = False


class SecretWebhook(Record, frozen=True):
    """The secret is shown here, and never again."""

    webhook: WebhookState
    secret: str


class CreateWebhook(Record, frozen=True):
    """`secret` signs the requests; without one it is made."""

    url: str
    types: list[MatterType] = []
    project_id: str = ""
    secret: str = ""
    actor: str = ""
    surface: Surface = ""


class ChangeWebhook(Record, frozen=True):
    """Who changes it."""

    actor: str = ""
    surface: Surface = ""


class Attempt(Record, frozen=True):
    """What became of one request: `status` is the receiver's, 0 when there was none."""

    wire_name: ClassVar[str] = "WebhookAttempt"

    delivered: bool
    milliseconds: int
    status: int = 0
    error: str = ""


class DeadLetter(Record, frozen=True):
    """A delivery that was given up. `id` is the delivery's: the receiver sees it again when it is sent again."""

    wire_name: ClassVar[str] = "WebhookDeadLetter"

    id: str
    webhook_id: str
    seq: int
    type: MatterType
    thing: str
    at: Instant
    attempts: int
    error: str


def new_webhook(draft: CreateWebhook, cursor: int, now: Instant) -> Webhook:
    """Raises `InvalidError` for an address or a secret that will not do."""
    check_url(draft.url)
    check_text(draft.actor, "actor", limit=256)
    check_text(draft.secret, "secret", limit=1024)
    if draft.secret and len(draft.secret) < _LEAST_SECRET:
        raise InvalidError(f"the secret is shorter than {_LEAST_SECRET} characters", field="secret")
    return Webhook(
        id=new_id("wh"),
        url=draft.url,
        secret=draft.secret or secret_token(),
        created_at=now,
        cursor=cursor,
        types=tuple(each for each in MATTER_TYPES if each in draft.types),
        project_id=draft.project_id,
        created_by=draft.actor,
    )


def check_url(url: str) -> None:
    """An absolute http(s) address without a user, a password or a fragment. Loopback and private addresses are fine:
    whoever may add a webhook may run programs here anyway.
    """
    check_text(url, "url", limit=URL_BYTES, empty=False)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidError(f"not an address: {error}", field="url") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidError("the address must begin with http:// or https:// and name a host", field="url")
    if parts.username is not None or parts.password is not None:
        raise InvalidError("an address with a user or a password would be logged; use the signature", field="url")
    if parts.fragment or port == 0 or any(not "!" <= char <= "~" for char in url):
        raise InvalidError("the address has a part that cannot be sent; percent-encode it", field="url")


def is_insecure(url: str) -> bool:
    """Whether others can read what goes there: plain http to another machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    return parts.scheme == "http" and not local


def wants(webhook: Webhook, matter: Matter) -> bool:
    return (not webhook.types or matter.type in webhook.types) and webhook.project_id in ("", matter.project_id)


def delivery_id(webhook_id: str, seq: int) -> str:
    """The same for every attempt at one matter, so that a receiver can tell a repetition."""
    return f"{webhook_id}.{seq}"


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """`sha256=…` over the timestamp, a dot and the body; for the header `X-Whisk-Signature`."""
    signed = timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def pause_before(attempt: int, first: float, most: float, chance: random.Random) -> float:
    """Seconds before the attempt of that number (from 1): doubling, at most `most`, and less by up to a half, so that
    those who failed together do not come back together.
    """
    return float(min(most, first * 2 ** min(attempt - 1, 32)) * chance.uniform(0.5, 1.0))
