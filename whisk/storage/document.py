"""Records kept whole: a few key columns to look them up by, and the record itself as JSON in `doc`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from peewee import Database

from whisk.errors import NotFoundError
from whisk.storage.page import WHOLE, Page, cut
from whisk.values import Record, decode, encode

R = TypeVar("R", bound=Record)


class Documents(Generic[R]):
    """The rows of one model. `keys(record)` gives the key columns, `id` among them; `noun` is what messages call it."""

    def __init__(self, model: Any, kind: type[R], noun: str, keys: Callable[[R], dict[str, Any]]) -> None:
        self._model = model
        self._kind = kind
        self._noun = noun
        self._keys = keys

    def insert(self, db: Database, record: R) -> None:
        self._model.insert(**self._keys(record), doc=encode(record).decode()).execute(db)

    def update(self, db: Database, record: R) -> None:
        """Raises `NotFoundError` when the row is no longer there: a late change must not bring it back."""
        keys = self._keys(record)
        id = keys.pop("id")
        query = self._model.update(**keys, doc=encode(record).decode()).where(self._model.id == id)
        if not query.execute(db):
            raise self.unknown(id)

    def get(self, db: Database, id: str) -> R:
        """Raises `NotFoundError`."""
        found = self.select(db, self._model.id == id)
        if not found:
            raise self.unknown(id)
        return found[0]

    def select(self, db: Database, *where: Any, order: Sequence[Any] = (), page: Page = WHOLE) -> list[R]:
        """Those that fit every condition, in this order, else by the time they were made; cut to the page."""
        query = self._model.select(self._model.doc)
        if where:
            query = query.where(*where)
        query = cut(db, query, self._model, order or (self._model.created_at, self._model.id), page)
        return [decode(doc, self._kind) for (doc,) in query.tuples().execute(db)]

    def clear(self, db: Database) -> int:
        """Delete all of them; returns how many there were."""
        return int(self._model.delete().execute(db))

    def unknown(self, id: str) -> NotFoundError:
        return NotFoundError(f"{self._noun} {id} not found", id=id)
