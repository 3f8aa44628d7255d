"""The librarian: reads transcripts into an index that may be lost, and never reads anything twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.captured import NOW
from tests.mail_desk import until
from whisk.actors.future import get
from whisk.actors.librarian import LibrarianActor, LibrarianHandle, open_index
from whisk.actors.system import ActorSystem
from whisk.search.query import parse
from whisk.storage import terminal as terminal_storage
from whisk.storage import transcript_text
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.storage.search import SearchFilter
from whisk.storage.statement import run
from whisk.storage.transcript import Transcript
from whisk.terminal.pty import PtyRecord


class Archive:
    """Terminals on disk, and a librarian over them."""

    def __init__(self, system: ActorSystem, path: Path) -> None:
        self.system, self.path = system, path
        self.store = Store.open(path / "whisk.sqlite")
        self.open()

    def open(self) -> None:
        self.index = open_index(self.path / "search.sqlite")
        self.librarian = self.system.spawn(
            LibrarianActor, self.store, self.index, self.path / "transcripts", name="librarian", handle=LibrarianHandle
        )

    def close(self) -> None:
        get(self.system.stop("librarian"), timeout=10.0)
        self.index.close()

    def terminal(self, name: str, data: bytes, limit: int = 16 * 1024 * 1024) -> None:
        record = PtyRecord(
            id=name, status="exited", argv=("sh",), working_dir="/", cols=80, rows=24, created_at=NOW
        )  # fmt: skip
        GroupWriter(self.store).write(lambda db: terminal_storage.insert(db, record, NOW))
        self.print(name, data, limit)

    def print(self, name: str, data: bytes, limit: int = 16 * 1024 * 1024) -> None:
        transcript = Transcript(self.path / "transcripts" / name, limit)
        transcript.append(transcript.end, data)
        transcript.close()

    def find(self, text: str) -> list[str]:
        terminals = self.store.read(transcript_text.terminals)
        chosen = SearchFilter(kinds=("transcript",))
        found = self.index.read(lambda db: transcript_text.search(db, parse(text), terminals, chosen))
        return sorted(each.hit.id for each in found)

    def stretches(self) -> int:
        return self.index.read(lambda db: int(run(db, "SELECT count(*) FROM stretch").fetchone()[0]))


@pytest.fixture
def archive(system: ActorSystem, tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(system, tmp_path)
    yield archive
    archive.close()
    archive.store.close()


def test_what_is_there_is_read_without_being_asked(archive: Archive) -> None:
    archive.close()
    archive.terminal("pty_1", b"needle\r\n")
    archive.open()
    until(lambda: archive.find("needle") == ["pty_1"])


def test_nothing_is_read_twice(archive: Archive) -> None:
    archive.terminal("pty_1", b"first\r\n" * 10_000)
    assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
    before = archive.stretches()
    assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
    archive.close()
    archive.open()
    assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
    assert archive.stretches() == before


def test_an_index_that_is_damaged_or_deleted_is_made_again(archive: Archive) -> None:
    archive.terminal("pty_1", b"needle\r\n")
    damage: list[Callable[[Path], object]] = [lambda file: file.write_bytes(b"no database" * 999), Path.unlink]
    for spoil in damage:
        assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
        assert archive.find("needle") == ["pty_1"]
        archive.close()
        spoil(archive.path / "search.sqlite")
        archive.open()
    assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
    assert archive.find("needle") == ["pty_1"]


def test_what_a_transcript_has_dropped_is_forgotten(archive: Archive) -> None:
    limit = 256 * 1024
    archive.terminal("pty_1", b"ancient\r\n" + b"filler\r\n" * 2048, limit)
    assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
    assert archive.find("ancient") == ["pty_1"]
    archive.print("pty_1", b"younger\r\n" * 60_000, limit)
    archive.close()
    archive.open()
    assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
    assert archive.find("ancient") == []
    assert archive.find("younger") == ["pty_1"]


def test_a_search_does_not_wait_for_a_mountain(archive: Archive) -> None:
    # The librarian has looked around, and comes back by itself in a minute.
    assert get(archive.librarian.catch_up.remote(20.0), timeout=20.0) == 0
    for number in range(20):
        archive.terminal(f"pty_{number}", b"word after word\r\n" * 6_000)
    assert get(archive.librarian.catch_up.remote(0.0), timeout=20.0) > 0
    until(lambda: len(archive.find("word")) == 20)
