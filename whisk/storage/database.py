"""The database: one file, one writing connection, a few reading ones, each used by one real thread at a time.

`Store` opens and migrates it. Reads go through `Store.read`; writes through `whisk.storage.journal`, whose transaction
is the only one that ever writes. The connections are SQLite in WAL mode with `synchronous=FULL`: what has been
committed is on disk, and readers never wait for the writer.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gevent.threadpool import ThreadPool
from peewee import Database, SqliteDatabase

from whisk.clock import Clock, SystemClock
from whisk.errors import InvalidError, ReadOnlyError, StorageError, UnavailableError
from whisk.storage.failure import sqlite_code, storage_error
from whisk.storage.migration import Migration, all_migrations, migrate

T = TypeVar("T")

BUSY_SECONDS = 5.0
READERS = 4
READ_SECONDS = 30.0
# The WAL is cut back to this after a checkpoint; a busy moment may make it larger for a while.
WAL_BYTES = 16 * 1024 * 1024

_WRITER_PRAGMAS = (
    ("synchronous", "full"),
    ("foreign_keys", "on"),
    ("temp_store", "memory"),
    ("journal_size_limit", WAL_BYTES),
    # In pages of 4 KiB: the same pages are written again and again, and a checkpoint writes each of them once.
    ("wal_autocheckpoint", WAL_BYTES // 4096),
)
_CONNECT: dict[str, Any] = {"timeout": BUSY_SECONDS, "thread_safe": False, "check_same_thread": False}
_READER_PRAGMAS = (("query_only", "on"), ("temp_store", "memory"))


class _Reader(SqliteDatabase):
    """A connection that cannot write, and gives up a statement that is still running after `limit` seconds."""

    def __init__(self, path: str, limit: float) -> None:
        super().__init__(path, pragmas=_READER_PRAGMAS, **_CONNECT)
        self._limit = limit
        self._deadline = 0.0

    def _add_conn_hooks(self, conn: sqlite3.Connection) -> None:
        super()._add_conn_hooks(conn)  # type: ignore[misc] # peewee's stub leaves the hook out
        # A read without end would keep the checkpoint back, and the WAL would grow without bound.
        conn.set_progress_handler(self._is_late, 50_000)

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def run(self, fn: Callable[[Database], T]) -> T:
        self._deadline = time.monotonic() + self._limit
        self.begin()
        value = fn(self)
        self.rollback()
        return value


class Store:
    """An open database. `path` is its file; `writer` belongs to the journal alone."""

    def __init__(self, path: str, writer: Database, *, readers: int, read_seconds: float) -> None:
        self.path = path
        self.writer = writer
        self._readers = readers
        self._read_seconds = read_seconds
        self._idle: list[_Reader] = []
        self._pool: ThreadPool | None = None
        self._pool_thread = 0
        self._closed = False

    @classmethod
    def open(
        cls,
        target: str | Path,
        *,
        migrations: Sequence[Migration] | None = None,
        clock: Clock | None = None,
        readers: int = READERS,
        read_seconds: float = READ_SECONDS,
    ) -> Store:
        """Open `target`, a file's path or a `sqlite:///` URL, creating and migrating it as needed.

        A new file gets mode 0600, and folders made for it 0700. Blocks; call it before the hub serves anything.
        Raises `NotADatabaseError`, `NewerSchemaError`, `ReadOnlyError`, `DiskFullError`, `StorageError`, `BusyError`
        (another process holds it) or `InvalidError` (an address of another kind).
        """
        path = _file_of(target)
        _make_private(path)
        writer = SqliteDatabase(path, pragmas=_WRITER_PRAGMAS, **_CONNECT)
        try:
            writer.connect()
            _enter_wal(writer)
            migrate(writer, all_migrations() if migrations is None else migrations, clock or SystemClock())
        except BaseException as error:
            writer.close()
            raised = storage_error(error, path)
            if raised is error:
                raise
            raise raised from error
        return cls(path, writer, readers=readers, read_seconds=read_seconds)

    def read(self, fn: Callable[[Database], T]) -> T:
        """Run `fn(db)` on a reading thread and return what it returns; blocks only the calling greenlet.

        `fn` sees one consistent state, all of it committed. It must return plain values: a query that it has not run
        to the end is of no use afterwards. Called from another thread than the hub's, it runs right there. Raises
        what `fn` raises; `DeadlineError` when a statement takes longer than the store allows.
        """
        if self._closed:
            raise UnavailableError("the database is closed")
        if self._pool is None:
            self._pool = ThreadPool(self._readers)
            self._pool_thread = threading.get_ident()
        if threading.get_ident() != self._pool_thread:
            value, error = self._read_here(fn)
        else:
            # The outcome travels as a value: gevent prints the traceback of whatever a pool's function raises.
            value, error = self._pool.spawn(self._read_here, fn).get()
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    def _read_here(self, fn: Callable[[Database], Any]) -> tuple[Any, BaseException | None]:
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = _Reader(self.path, self._read_seconds)
        try:
            value = reader.run(fn)
        except BaseException as error:  # noqa: BLE001 (it is raised in the calling greenlet instead)
            # Its state is unknown now; a new connection costs less than finding out.
            reader.close()
            return None, storage_error(error, self.path)
        if self._closed:
            reader.close()
        else:
            self._idle.append(reader)
        return value, None

    def close(self) -> None:
        """End the reading threads and close every connection; later reads are refused. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._pool is not None:
            self._pool.join()
            self._pool.kill()
        while self._idle:
            self._idle.pop().close()
        self.writer.close()


def _file_of(target: str | Path) -> str:
    text = os.fspath(target)
    scheme, found, rest = text.partition("://")
    if found and scheme == "sqlite" and rest.startswith("/"):
        text = rest[1:]
    elif found:
        raise InvalidError(f"unsupported database address {text!r}", expected="a path, or sqlite:///path")
    if not text or text == ":memory:":
        raise InvalidError("the database needs a file", expected="a path, or sqlite:///path")
    return os.path.abspath(text)


def _make_private(path: str) -> None:
    """Mail and hook payloads are nobody else's business; SQLite gives its side files the mode of the main one."""
    try:
        missing = [folder for folder in Path(path).parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            # Never opened and closed here: closing any descriptor of it would drop SQLite's locks in this process.
            if os.stat(path).st_mode & 0o077:
                os.chmod(path, 0o600)
    except PermissionError as error:
        raise ReadOnlyError(f"the database cannot be written: {path} ({error.strerror})", path=path) from error
    except OSError as error:
        raise StorageError(f"the database cannot be opened: {path} ({error.strerror})", path=path) from error


def _enter_wal(db: SqliteDatabase) -> None:
    """Switch to WAL. SQLite does not wait for a second opener here as it does elsewhere, so this does."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            if db.pragma("journal_mode", "wal") != "wal":
                raise StorageError(f"the file system cannot hold a database that is shared: {db.database}")
            return
        except Exception as error:
            if sqlite_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        threading.Event().wait(0.01)
