"""Looking through stored mail: lists, threads, and search for any words a person may type."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from peewee import SQL, Database, fn

from whisk.errors import InvalidError
from whisk.mail.address import MailAddress
from whisk.mail.message import MailMessage, MailType
from whisk.search.query import Term, ascii_lower, limited, match_of, split
from whisk.storage.mail import TOKENIZER, get, seq_of
from whisk.storage.mail_row import COLUMNS, SELECT_MAIL, MailRow, RecipientRow, messages
from whisk.storage.statement import run
from whisk.values import Record


class MailFilter(Record, frozen=True):
    """Which messages to list. `to` and `types`: any of them. `before` and `after` are ids of messages: what was stored
    earlier or later. `limit` 0 means all. Heartbeats are listed only when `types` names them."""

    to: tuple[MailAddress, ...] = ()
    unread: bool = False
    types: tuple[MailType, ...] = ()
    project_id: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    thread_id: str | None = None
    before: str | None = None
    after: str | None = None
    limit: int = 0


def select(db: Database, chosen: MailFilter) -> list[MailMessage]:
    """Newest first, in the order in which they were stored. Raises `NotFoundError` for an unknown `before`/`after`."""
    return _newest(db, chosen, _conditions(db, chosen))


def thread(db: Database, mail_id: str) -> list[MailMessage]:
    """The whole conversation around any of its messages, its root first. Raises `NotFoundError`."""
    thread_id = get(db, mail_id).thread_id
    return messages(db, run(db, f"{SELECT_MAIL} WHERE thread_id = ? ORDER BY seq", (thread_id,)).fetchall())


def search(db: Database, text: str, chosen: MailFilter) -> list[MailMessage]:
    """Messages whose subject or body holds every word of `text`, or one that begins with it; newest first.

    There is no query syntax: any text will do. Text without a word is a plain list. Raises `TooLargeError` beyond
    `WORDS` different words.
    """
    terms = limited((Term(text=word, prefix=True) for word in text.split()), "mail search")
    return _newest(db, chosen, [*_conditions(db, chosen), *_word_conditions(db, terms)])


def _newest(db: Database, chosen: MailFilter, conditions: Iterator[Any] | list[Any]) -> list[MailMessage]:
    if chosen.limit < 0:
        raise InvalidError("invalid limit: it is a number of messages, 0 for all", field="limit")
    query = MailRow.select(*(getattr(MailRow, name) for name in COLUMNS)).order_by(MailRow.seq.desc())
    for condition in conditions:
        query = query.where(condition)
    if chosen.limit:
        query = query.limit(chosen.limit)
    return messages(db, list(query.tuples().execute(db)))


def _conditions(db: Database, chosen: MailFilter) -> Iterator[Any]:
    readers = RecipientRow.select(RecipientRow.mail_seq)
    if chosen.to:
        readers = readers.where(RecipientRow.address.in_([str(address) for address in chosen.to]))
    if chosen.unread:
        readers = readers.where(RecipientRow.read_at.is_null())
    if chosen.to or chosen.unread:
        yield MailRow.seq.in_(readers)
    yield MailRow.type.in_(chosen.types) if chosen.types else MailRow.type != "heartbeat"
    for column in ("project_id", "work_item_id", "run_id"):
        if (value := getattr(chosen, column)) is not None:
            yield getattr(MailRow, column) == value
    if chosen.thread_id is not None:
        # Any message of a thread may be named for the whole of it.
        named = run(db, "SELECT thread_id FROM mail WHERE id = ?", (chosen.thread_id,)).fetchone()
        yield MailRow.thread_id == (named[0] if named else chosen.thread_id)
    if chosen.before is not None:
        yield MailRow.seq < seq_of(db, chosen.before)
    if chosen.after is not None:
        yield MailRow.seq > seq_of(db, chosen.after)


def _word_conditions(db: Database, terms: Iterable[Term]) -> Iterator[Any]:
    indexed, others = split(terms)
    if indexed:
        match = match_of(indexed)
        found = MailRow.seq.in_(SQL("(SELECT rowid FROM mail_text WHERE mail_text MATCH ?)", (match,)))
        yield found | MailRow.seq.in_(_match_newest(db, match))
    text = fn.lower(fn.COALESCE(MailRow.subject, "").concat("\n").concat(fn.COALESCE(MailRow.body, "")))
    for word in others:
        yield fn.instr(text, ascii_lower(word)) > 0


def _match_newest(db: Database, match: str) -> list[int]:
    """Those of the messages that the index does not hold yet; the same query against an index made of just them."""
    newest = run(db, "SELECT seq, subject, body FROM mail WHERE seq > (SELECT up_to FROM mail_indexed)").fetchall()
    if not newest:
        return []
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"CREATE VIRTUAL TABLE mail_text USING fts5 (subject, body, tokenize = '{TOKENIZER}')")
        memory.executemany("INSERT INTO mail_text (rowid, subject, body) VALUES (?, ?, ?)", newest)
        return [seq for (seq,) in memory.execute("SELECT rowid FROM mail_text WHERE mail_text MATCH ?", (match,))]
