"""Status events in a real file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.storage import status
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.status import StatusQuery
from whisk.work.status import StatusEvent

NOW = Instant(1_800_000_000_000_000_000)


class Shelf:
    def __init__(self, path: Path) -> None:
        self.store = Store.open(path, migrations=status.MIGRATIONS)
        self.writer = GroupWriter(self.store)

    def put(self, number: int, keep: int = status.KEPT_EVENTS, **ids: str) -> None:
        event = StatusEvent(
            id=f"stat_{number}",
            scope="session",
            kind="blocked",
            message="no",
            requires_attention=True,
            # The clock was set back between any two of them.
            created_at=NOW.plus(-number),
            notification_key="k",
            notification_severity="warning",
            **ids,  # type: ignore[arg-type]
        )
        self.writer.write(lambda db: status.insert(db, event, keep))

    def listed(self, **wanted: object) -> list[str]:
        return [each.id for each in self.store.read(lambda db: status.select(db, StatusQuery(**wanted)))]  # type: ignore[arg-type]


@pytest.fixture
def shelf(path: Path) -> Iterator[Shelf]:
    shelf = Shelf(path)
    yield shelf
    shelf.store.close()


def test_events_are_listed_in_the_order_in_which_they_came(shelf: Shelf) -> None:
    for number in range(4):
        shelf.put(number)
    assert shelf.listed() == ["stat_0", "stat_1", "stat_2", "stat_3"]
    assert shelf.listed(limit=2) == ["stat_2", "stat_3"]


@pytest.mark.parametrize("name", ["project_id", "work_item_id", "run_id", "session_id", "pty_id"])
def test_each_id_narrows_the_list(shelf: Shelf, name: str) -> None:
    shelf.put(1, **{name: "a"})
    shelf.put(2, **{name: "b"})
    shelf.put(3)
    assert shelf.listed(**{name: "a"}) == ["stat_1"]


def test_an_event_is_read_once_and_leaves_the_unread(shelf: Shelf) -> None:
    shelf.put(1)
    shelf.put(2)
    first = shelf.writer.write(lambda db: status.read(db, "stat_1", NOW))
    again = shelf.writer.write(lambda db: status.read(db, "stat_1", NOW.plus(9)))
    assert (first[0].read_at, first[1]) == (NOW, True)
    assert again == (first[0], False)
    assert shelf.listed(unread_only=True) == ["stat_2"]
    with pytest.raises(NotFoundError, match=r"^status event stat_9 not found$"):
        shelf.writer.write(lambda db: status.read(db, "stat_9", NOW))


def test_only_the_newest_are_kept(shelf: Shelf) -> None:
    for number in range(6):
        shelf.put(number, keep=3)
    assert shelf.listed() == ["stat_3", "stat_4", "stat_5"]
