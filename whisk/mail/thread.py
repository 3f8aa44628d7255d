"""Threads: how a reply hangs on its original, and when a conversation between programs is stopped."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from whisk.errors import RefusedError
from whisk.mail.address import MailAddress
from whisk.mail.message import NO_PAYLOAD, SUBJECT_LIMIT, MailMessage, SendMailRequest
from whisk.values import Record


class ReplyMailRequest(Record, frozen=True):
    """An answer to the sender of another message; `from` may be an object or `kind:id` text."""

    from_: MailAddress | str = msgspec.field(name="from")
    type: str | None = None
    priority: str | None = None
    subject: str | None = None
    body: str | None = None
    payload: Raw = NO_PAYLOAD
    idempotency_key: str | None = None
    strict: bool = False


class LoopGuard(Record, frozen=True):
    """When agents that answer each other automatically are stopped.

    `max_hops` is how many messages may follow each other in one thread, `max_per_minute` how many may join one thread
    within a minute. Zero switches a limit off. A message that begins a new thread is always let through.
    """

    max_hops: int = 64
    max_per_minute: int = 60

    def check(self, thread_id: str, hops: int, within_minute: int) -> None:
        """Refuse the message that would be number `hops` of its thread, with `within_minute` just before it."""
        if self.max_hops and hops > self.max_hops:
            raise RefusedError(
                f"mail thread {thread_id} is {hops} messages deep, the limit is {self.max_hops}: if no loop of "
                "automatic replies is at work, begin a new thread with `whisk mail send`",
                threadId=thread_id,
                limit=self.max_hops,
            )
        if self.max_per_minute and within_minute >= self.max_per_minute:
            raise RefusedError(
                f"mail thread {thread_id} has had {within_minute} messages within a minute, the limit is "
                f"{self.max_per_minute}: this looks like a loop of automatic replies; wait, or begin a new thread",
                threadId=thread_id,
                limit=self.max_per_minute,
                retryAfter=60,
            )


def reply_request(original: MailMessage, reply: ReplyMailRequest) -> SendMailRequest:
    """The message that `reply` stands for: to the original's sender, in its thread and its context.

    The subject is the original's with one `Re: `, cut to the limit where the prefix would make it too long.
    """
    return SendMailRequest(
        from_=reply.from_,
        to=[original.from_],
        type=reply.type or "status",
        priority=reply.priority,
        subject=reply.subject if (reply.subject or "").strip() else _reply_subject(original),
        body=reply.body,
        payload=reply.payload,
        thread_id=original.thread_id,
        reply_to_id=original.id,
        project_id=original.project_id,
        work_item_id=original.work_item_id,
        run_id=original.run_id,
        session_id=original.session_id,
        pty_id=original.pty_id,
        dispatch_id=original.dispatch_id,
        idempotency_key=reply.idempotency_key,
        strict=reply.strict,
    )


def _reply_subject(original: MailMessage) -> str:
    subject = original.subject or original.id
    if subject.lower().startswith("re: "):
        return subject
    whole = f"Re: {subject}"
    if len(whole.encode()) <= SUBJECT_LIMIT:
        return whole
    return whole.encode()[: SUBJECT_LIMIT - len("…".encode())].decode(errors="ignore") + "…"
