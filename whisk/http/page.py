"""The two fields of a query by which a long list is read in parts."""

from __future__ import annotations

from typing import Annotated

import msgspec

from whisk.storage.page import Page
from whisk.values import Record


class Paged(Record, frozen=True):
    """`limit`: at most so many, else all. `after`: only what follows the one of this id in the list."""

    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    after: str | None = None

    @property
    def page(self) -> Page:
        return Page(self.after, self.limit)
