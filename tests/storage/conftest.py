"""A real database file per test, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from peewee import Database

from whisk.clock import ManualClock
from whisk.ids import new_id
from whisk.mail.address import parse_address
from whisk.mail.delivery import want
from whisk.mail.message import MailMessage, SendMailRequest, compose
from whisk.mail.thread import LoopGuard
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.mail import Stored, insert
from whisk.storage.mail_delivery import Delivery, take_next
from whisk.storage.migration import Migration

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "whisk.sqlite3"


NOTE = Migration(
    "note.create", lambda db: db.execute_sql("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)")
)


@pytest.fixture
def note_store(path: Path) -> Iterator[Store]:
    """A store whose only table is `note(id, text)`."""
    store = Store.open(path, migrations=[NOTE])
    yield store
    store.close()


class Post:
    """Mail without actors: a store, its writer, and a clock that moves only when told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock()
        self.store = Store.open(path)
        self.writer = GroupWriter(self.store)

    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.path)
        self.writer = GroupWriter(self.store)

    def put(self, *, guard: LoopGuard | None = None, effect: str | None = None, **fields: Any) -> Stored:
        whole = {"from_": "run:a", "to": ["run:b"], "type": "status", "subject": "hello", **fields}
        draft = compose(SendMailRequest(**whole))
        id_, now = new_id("mail"), self.clock.now()
        kept = guard or LoopGuard()
        return self.writer.write(
            lambda db: insert(db, draft, draft.to, id=id_, now=now, guard=kept, effect=effect),
        )

    def send(self, **fields: Any) -> MailMessage:
        return self.put(**fields).message

    def read(self, fn: Callable[[Database], T]) -> T:
        return self.store.read(fn)

    def take(self, *addresses: str, **options: Any) -> Delivery | None:
        wanted = want([parse_address(text) for text in addresses], **{"ack": True, **options})
        token, now = new_id("claim"), self.clock.now()
        return self.writer.write(lambda db: take_next(db, wanted, token, now))


@pytest.fixture
def post(path: Path) -> Iterator[Post]:
    post = Post(path)
    yield post
    post.store.close()
