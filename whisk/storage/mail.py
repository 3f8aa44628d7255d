"""Mail on disk: messages in the order in which they were stored, one row per recipient, and the index of their words.

`seq` is that order; times are for people and may repeat or run backwards. An address is stored as its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from peewee import Database

from whisk.clock import Instant
from whisk.errors import ConflictError, NotFoundError
from whisk.mail.address import MailAddress
from whisk.mail.message import Draft, MailMessage
from whisk.mail.thread import LoopGuard
from whisk.storage.mail_row import SELECT_MAIL, message_of, messages
from whisk.storage.mail_standing import readers
from whisk.storage.migration import Migration
from whisk.storage.statement import insert_seq, marks, run


def _create(db: Database) -> None:
    db.execute_sql(
        "CREATE TABLE mail (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, thread_id TEXT NOT NULL,"
        " reply_to_id TEXT, hops INTEGER NOT NULL, sender TEXT NOT NULL, type TEXT NOT NULL, priority TEXT NOT NULL,"
        " subject TEXT, body TEXT, payload TEXT, project_id TEXT, work_item_id TEXT, run_id TEXT, session_id TEXT,"
        " pty_id TEXT, dispatch_id TEXT, created_at BIGINT NOT NULL, idempotency_key TEXT, digest TEXT, effect TEXT)"
    )
    db.execute_sql("CREATE INDEX mail_sender ON mail (sender)")
    db.execute_sql("CREATE INDEX mail_thread ON mail (thread_id, seq)")
    # Partial: what most messages do not have costs them nothing.
    for column in ("project_id", "work_item_id", "run_id"):
        db.execute_sql(f"CREATE INDEX mail_{column} ON mail ({column}, seq) WHERE {column} IS NOT NULL")
    db.execute_sql("CREATE UNIQUE INDEX mail_key ON mail (sender, idempotency_key) WHERE idempotency_key IS NOT NULL")
    db.execute_sql("CREATE INDEX mail_heartbeat ON mail (sender) WHERE type = 'heartbeat'")
    db.execute_sql("CREATE INDEX mail_effect ON mail (seq) WHERE effect IS NOT NULL")
    db.execute_sql(
        "CREATE TABLE mail_recipient (mail_seq INTEGER NOT NULL REFERENCES mail (seq) ON DELETE CASCADE,"
        " address TEXT NOT NULL, type TEXT NOT NULL, known BOOLEAN NOT NULL, read_at BIGINT, claim TEXT,"
        " claimed_at BIGINT, claim_until BIGINT, PRIMARY KEY (mail_seq, address)) WITHOUT ROWID"
    )
    # The next unread one for an address is one step into this index, and so is everything it ever got.
    db.execute_sql("CREATE INDEX mail_inbox ON mail_recipient (address, read_at, mail_seq, type, claim)")
    db.execute_sql("CREATE INDEX mail_claimed ON mail_recipient (address) WHERE claim IS NOT NULL AND read_at IS NULL")
    db.execute_sql(
        "CREATE VIRTUAL TABLE mail_text USING fts5 (subject, body, content = 'mail', content_rowid = 'seq',"
        f" tokenize = '{TOKENIZER}')"
    )
    db.execute_sql("CREATE TABLE mail_indexed (up_to BIGINT NOT NULL)")
    db.execute_sql("INSERT INTO mail_indexed VALUES (0)")


TOKENIZER = "unicode61 remove_diacritics 2"

MIGRATIONS: list[Migration] = [Migration("mail.create", _create)]

_INSERT_MAIL = (
    "INSERT INTO mail (id, thread_id, reply_to_id, hops, sender, type, priority, subject, body, payload, project_id,"
    " work_item_id, run_id, session_id, pty_id, dispatch_id, created_at, idempotency_key, digest, effect)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_INSERT_RECIPIENT = "INSERT INTO mail_recipient (mail_seq, address, type, known) VALUES (?,?,?,?)"
# The index takes new messages by the batch, in the transaction of the last of them: one by one, it would cost as much
# as all the rest of storing. A search looks through the few that are not in it yet.
INDEX_EVERY = 64
_MINUTE = 60_000_000_000


class Stored(NamedTuple):
    """`repeated`: it had been stored before under the same idempotency key, and nothing was written now."""

    message: MailMessage
    repeated: bool


def insert(
    db: Database,
    draft: Draft,
    to: Sequence[MailAddress],
    *,
    id: str,
    now: Instant,
    guard: LoopGuard,
    heard: Set[MailAddress] = frozenset(),
    effect: str | None = None,
) -> Stored:
    """Store a message for the concrete addresses `to`; for `heard` see `readers`. Its `warnings` are the sender's.

    `effect` marks it until `settle_effect`. A heartbeat replaces the sender's last one to the same addresses. Raises
    `ConflictError` when the sender used the draft's idempotency key for other words, `NotFoundError` when the draft
    is strict and a recipient unknown, `RefusedError` when `guard` sees a loop. Nothing is stored then.
    """
    sender = str(draft.from_)
    digest: str | None = None
    if draft.idempotency_key is not None:
        digest = draft.digest()
        first = _first_with_key(db, sender, draft.idempotency_key, digest)
        if first is not None:
            return Stored(first, True)
    recipients, warnings = readers(db, to, heard=heard, strict=draft.strict)
    thread_id, hops = _place(db, draft, id)
    if draft.type == "heartbeat":
        _forget_heartbeats(db, sender, to)
    elif thread_id != id:
        query = "SELECT count(*) FROM mail WHERE thread_id = ? AND created_at > ? AND created_at <= ?"
        (recent,) = run(db, query, (thread_id, now - _MINUTE, now)).fetchone()
        guard.check(thread_id, hops, recent)
    seq = insert_seq(
        db,
        _INSERT_MAIL,
        (
            *(id, thread_id, draft.reply_to_id, hops, sender, draft.type, draft.priority, draft.subject, draft.body),
            *(draft.payload, draft.project_id, draft.work_item_id, draft.run_id, draft.session_id, draft.pty_id),
            *(draft.dispatch_id, int(now), draft.idempotency_key, digest, effect),
        ),
    )
    for recipient in recipients:
        run(db, _INSERT_RECIPIENT, (seq, str(recipient.address), draft.type, recipient.known))
    if draft.type != "heartbeat" and seq % INDEX_EVERY == 0:
        _index(db, seq)
    return Stored(message_of(draft, recipients, warnings, id, thread_id, now), False)


def get(db: Database, mail_id: str) -> MailMessage:
    """Raises `NotFoundError`."""
    found = messages(db, run(db, f"{SELECT_MAIL} WHERE id = ?", (mail_id,)).fetchall())
    if not found:
        raise NotFoundError(f"mail {mail_id} not found", id=mail_id)
    return found[0]


def seq_of(db: Database, mail_id: str) -> int:
    """Raises `NotFoundError`."""
    row = run(db, "SELECT seq FROM mail WHERE id = ?", (mail_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"mail {mail_id} not found", id=mail_id)
    return int(row[0])


def find_by_key(db: Database, draft: Draft) -> MailMessage | None:
    """The message that the sender stored under the draft's idempotency key; raises `ConflictError` like `insert`."""
    if draft.idempotency_key is None:
        return None
    return _first_with_key(db, str(draft.from_), draft.idempotency_key, draft.digest())


def pending_effects(db: Database) -> list[MailMessage]:
    """Messages whose effect has not been settled, oldest first."""
    return messages(db, run(db, f"{SELECT_MAIL} WHERE effect IS NOT NULL ORDER BY seq").fetchall())


def settle_effect(db: Database, mail_id: str) -> None:
    run(db, "UPDATE mail SET effect = NULL WHERE id = ?", (mail_id,))


def index_rest(db: Database) -> None:
    """Bring into the index what no full batch has brought there yet, so that all of it is measured alike."""
    (last,) = run(db, "SELECT coalesce(max(seq), 0) FROM mail WHERE type <> 'heartbeat'").fetchone()
    _index(db, last)


def unindexed(db: Database) -> bool:
    """Whether there are messages that the index does not hold yet."""
    query = "SELECT 1 FROM mail WHERE seq > (SELECT up_to FROM mail_indexed) AND type <> 'heartbeat' LIMIT 1"
    return run(db, query).fetchone() is not None


def clear(db: Database) -> int:
    """Delete all mail; how many messages there were."""
    (count,) = run(db, "SELECT count(*) FROM mail").fetchone()
    run(db, "INSERT INTO mail_text (mail_text) VALUES ('delete-all')")
    run(db, "UPDATE mail_indexed SET up_to = 0")
    run(db, "DELETE FROM mail_recipient")
    run(db, "DELETE FROM mail")
    return int(count)


def _index(db: Database, last: int) -> None:
    """Bring the words of every message up to `last` into the index. No heartbeat: it would be gone before its words."""
    run(
        db,
        "INSERT INTO mail_text (rowid, subject, body) SELECT seq, subject, body FROM mail"
        " WHERE seq > (SELECT up_to FROM mail_indexed) AND seq <= ? AND type <> 'heartbeat'",
        (last,),
    )
    run(db, "UPDATE mail_indexed SET up_to = ?", (last,))


def _place(db: Database, draft: Draft, id: str) -> tuple[str, int]:
    """The thread that the message belongs to, and how many messages it follows there."""
    original = _thread_of(db, draft.reply_to_id) if draft.reply_to_id else None
    if draft.thread_id is None:
        return (original[0], original[1] + 1) if original else (id, 0)
    # Any message of a thread may be named for the whole of it.
    named = _thread_of(db, draft.thread_id)
    thread_id = named[0] if named else draft.thread_id
    if original is not None and original[0] == thread_id:
        return thread_id, original[1] + 1
    query = "SELECT hops FROM mail WHERE thread_id = ? ORDER BY seq DESC LIMIT 1"
    last = run(db, query, (thread_id,)).fetchone()
    return thread_id, last[0] + 1 if last else 0


def _thread_of(db: Database, mail_id: str) -> tuple[str, int] | None:
    row = run(db, "SELECT thread_id, hops FROM mail WHERE id = ?", (mail_id,)).fetchone()
    return None if row is None else (row[0], row[1])


def _first_with_key(db: Database, sender: str, key: str, digest: str) -> MailMessage | None:
    row = run(db, "SELECT id, digest FROM mail WHERE sender = ? AND idempotency_key = ?", (sender, key)).fetchone()
    if row is None:
        return None
    if row[1] != digest:
        raise ConflictError(
            f"{sender} has used the idempotency key {key!r} for another message, {row[0]}", key=key, mailId=row[0]
        )
    return get(db, row[0])


def _forget_heartbeats(db: Database, sender: str, to: Iterable[MailAddress]) -> None:
    addresses = [str(address) for address in to]
    of_sender = "SELECT seq FROM mail WHERE sender = ? AND type = 'heartbeat'"
    run(
        db,
        f"DELETE FROM mail_recipient WHERE mail_seq IN ({of_sender}) AND address IN ({marks(addresses)})",
        (sender, *addresses),
    )
    run(
        db,
        "DELETE FROM mail WHERE sender = ? AND type = 'heartbeat'"
        " AND NOT EXISTS (SELECT 1 FROM mail_recipient WHERE mail_seq = mail.seq)",
        (sender,),
    )
