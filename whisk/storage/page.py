"""A part of a long list: so many, from behind the one that was seen last. No list is counted through to get there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from peewee import Database, Tuple

from whisk.errors import NotFoundError
from whisk.storage.migration import Migration


class Page(NamedTuple):
    """`after` is the id of the last one seen, `limit` how many at most; without either it is all of them."""

    after: str | None = None
    limit: int | None = None


WHOLE = Page()


def _create_indexes(db: Database) -> None:
    for table in ("question", "gate", "artifact", "workflow_event", "session"):
        db.execute_sql(f"CREATE INDEX {table}_made ON {table} (created_at, id)")


MIGRATIONS: list[Migration] = [Migration("page.create_indexes", _create_indexes)]


def cut(db: Database, query: Any, model: Any, order: Sequence[Any], page: Page) -> Any:
    """The query in this order, cut to the page. The order must tell any two rows apart.

    Raises `NotFoundError` when the one to go on behind is not there any more.
    """
    query = query.order_by(*order)
    if page.after is not None:
        marks = list(model.select(*order).where(model.id == page.after).tuples().execute(db))
        if not marks:
            raise NotFoundError(f"{page.after} is not there (any more), so the list cannot go on behind it")
        query = query.where(Tuple(*order) > Tuple(*marks[0]))
    return query.limit(page.limit)
