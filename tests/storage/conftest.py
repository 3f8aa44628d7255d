"""A real database file per test, in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whisk.storage.database import Store
from whisk.storage.migration import Migration


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
