"""What a message is, on the wire and in storage, and the rules it must keep."""

from __future__ import annotations

import hashlib
from typing import Literal, get_args

import msgspec
from msgspec import Raw

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError
from whisk.mail.address import MailAddress, check_address, unique
from whisk.mail.selector import concrete
from whisk.values import Record, check_text, encode

MailType = Literal["status", "dispatch", "worker_done", "escalation", "handoff", "decision_gate", "heartbeat"]
Priority = Literal["low", "normal", "high", "urgent"]
MAIL_TYPES: tuple[MailType, ...] = get_args(MailType)
PRIORITIES: tuple[Priority, ...] = get_args(Priority)

SUBJECT_LIMIT = 240
BODY_LIMIT = 65_536
PAYLOAD_LIMIT = 65_536
KEY_LIMIT = 200
REFERENCE_LIMIT = 200
RECIPIENT_LIMIT = 1_000

# One object for all: only the very default is left out of the JSON, and an empty `Raw` in it would be no JSON.
NO_PAYLOAD = Raw()


class MailRecipient(Record, frozen=True):
    """One reader. `known` is false when whisk had never heard of the address at the time of sending."""

    address: MailAddress
    read_at: Instant | None = None
    known: bool = True


class MailMessage(Record, frozen=True, kw_only=True):
    """A stored message; only `recipients[].read_at` ever changes. Times are UTC nanoseconds, `payload` is any JSON.

    `thread_id` is the id of the message that began the thread: its own, for that message. `warnings` stand only in
    the answer to the sender.
    """

    id: str
    thread_id: str
    reply_to_id: str | None = None
    from_: MailAddress = msgspec.field(name="from")
    recipients: tuple[MailRecipient, ...]
    type: str
    priority: str
    subject: str | None = None
    body: str | None = None
    payload: Raw = NO_PAYLOAD
    project_id: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    pty_id: str | None = None
    dispatch_id: str | None = None
    created_at: Instant
    warnings: tuple[str, ...] = ()


class SendMailRequest(Record, frozen=True, kw_only=True):
    """Addresses may be objects or `kind:id` text. `to` may hold selectors. With `strict`, an unknown recipient is
    refused. A second request of one sender with one `idempotency_key` stores nothing and gets the first message."""

    from_: MailAddress | str = msgspec.field(name="from")
    to: list[MailAddress | str] | None
    type: str
    priority: str | None = None
    subject: str | None = None
    body: str | None = None
    payload: Raw = NO_PAYLOAD
    thread_id: str | None = None
    reply_to_id: str | None = None
    project_id: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    pty_id: str | None = None
    dispatch_id: str | None = None
    idempotency_key: str | None = None
    strict: bool = False


class Draft(Record, frozen=True):
    """A message that keeps all the rules, not yet expanded, numbered or stored. `to` may hold selectors."""

    from_: MailAddress
    to: tuple[MailAddress, ...]
    type: MailType
    priority: Priority
    subject: str | None
    body: str | None
    payload: str | None
    thread_id: str | None
    reply_to_id: str | None
    project_id: str | None
    work_item_id: str | None
    run_id: str | None
    session_id: str | None
    pty_id: str | None
    dispatch_id: str | None
    idempotency_key: str | None = None
    strict: bool = False

    def digest(self) -> str:
        """Equal for two drafts that say the same to the same recipients; the key and strictness do not count."""
        return hashlib.sha256(encode(msgspec.structs.replace(self, idempotency_key=None, strict=False))).hexdigest()


def compose(request: SendMailRequest) -> Draft:
    """Check a request and bring it into its normal form. Raises `InvalidError` or `TooLargeError`, naming the field."""
    type_ = parse_type(request.type)
    sender = _sender(request.from_)
    recipients = unique(check_address(address) for address in request.to or ())
    if not recipients:
        raise InvalidError("mail recipient required", field="to")
    if len(recipients) > RECIPIENT_LIMIT:
        raise TooLargeError(f"mail has more than {RECIPIENT_LIMIT} recipients", field="to", limit=RECIPIENT_LIMIT)
    if request.subject is not None:
        check_text(request.subject, "mail subject", limit=SUBJECT_LIMIT)
    if type_ != "heartbeat" and not (request.subject or "").strip():
        raise InvalidError("mail subject required", field="subject")
    if request.body is not None:
        check_text(request.body, "mail body", limit=BODY_LIMIT)
    return Draft(
        from_=sender,
        to=recipients,
        type=type_,
        priority=parse_priority(request.priority),
        subject=request.subject or None,
        body=request.body or None,
        payload=check_payload(request.payload),
        thread_id=_reference(request.thread_id, "threadId"),
        reply_to_id=_reference(request.reply_to_id, "replyToId"),
        project_id=_reference(request.project_id, "projectId"),
        work_item_id=_reference(request.work_item_id, "workItemId"),
        run_id=_reference(request.run_id, "runId"),
        session_id=_reference(request.session_id, "sessionId"),
        pty_id=_reference(request.pty_id, "ptyId"),
        dispatch_id=_reference(request.dispatch_id, "dispatchId"),
        idempotency_key=_reference(request.idempotency_key, "idempotencyKey"),
        strict=request.strict,
    )


def parse_type(text: str) -> MailType:
    """Case and surrounding space do not count, and `worker-done` is `worker_done`."""
    name = text.strip().lower().replace("-", "_")
    if not name:
        raise InvalidError("mail type required", types=list(MAIL_TYPES))
    for known in MAIL_TYPES:
        if name == known:
            return known
    raise InvalidError(f'unsupported mail type "{text.strip()[:60]}"', types=list(MAIL_TYPES))


def parse_priority(text: str | None) -> Priority:
    name = (text or "").strip().lower() or "normal"
    for known in PRIORITIES:
        if name == known:
            return known
    raise InvalidError(f'unsupported mail priority "{name[:60]}"', priorities=list(PRIORITIES))


def check_payload(payload: Raw) -> str | None:
    """The payload's own text, kept as it was sent; None for none and for `null`."""
    data = bytes(payload)
    if not data or data == b"null":
        return None
    if len(data) > PAYLOAD_LIMIT:
        raise TooLargeError(
            f"mail payload exceeds {PAYLOAD_LIMIT} bytes", field="payload", limit=PAYLOAD_LIMIT, size=len(data)
        )
    try:
        # The request's decoder has only skipped over it: text inside may still be what UTF-8 cannot hold.
        msgspec.json.decode(data)
        return data.decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidError(f"mail payload must be valid JSON: {error}", field="payload") from error


def _sender(address: MailAddress | str) -> MailAddress:
    try:
        return concrete(check_address(address))
    except InvalidError as error:
        raise InvalidError(f"from: {error.message}", **{**error.details, "field": "from"}) from error


def _reference(text: str | None, field: str) -> str | None:
    """Ids of other things are the sender's own words: not looked up, only kept short and storable."""
    if text is None or not text.strip():
        return None
    return check_text(text.strip(), field, limit=REFERENCE_LIMIT)
