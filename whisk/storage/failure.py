"""What the database says when it fails, as whisk's own errors."""

from __future__ import annotations

import sqlite3
from typing import Final

from whisk.errors import (
    BusyError,
    DeadlineError,
    DiskFullError,
    NotADatabaseError,
    ReadOnlyError,
    StorageError,
    WhiskError,
)

# SQLite's primary result codes; the sqlite3 module exports no class per code, only these numbers.
_KNOWN: Final[dict[int, tuple[type[WhiskError], str]]] = {
    sqlite3.SQLITE_BUSY: (BusyError, "the database is locked by another process"),
    sqlite3.SQLITE_INTERRUPT: (DeadlineError, "the read took too long and was ended"),
    sqlite3.SQLITE_FULL: (DiskFullError, "the disk that holds the database is full"),
    sqlite3.SQLITE_READONLY: (ReadOnlyError, "the database cannot be written"),
    sqlite3.SQLITE_NOTADB: (NotADatabaseError, "the file is not a database"),
    sqlite3.SQLITE_CORRUPT: (NotADatabaseError, "the database is damaged"),
    sqlite3.SQLITE_CANTOPEN: (StorageError, "the database cannot be opened"),
    sqlite3.SQLITE_PERM: (ReadOnlyError, "the database cannot be accessed"),
    sqlite3.SQLITE_IOERR: (StorageError, "the disk failed under the database"),
}


def sqlite_code(error: BaseException) -> int:
    """SQLite's primary result code, 0 when the error is not SQLite's."""
    return int(getattr(_cause(error), "sqlite_errorcode", 0)) & 0xFF


def storage_error(error: BaseException, path: str) -> BaseException:
    """The typed refusal for an error of the database's surroundings; any other error comes back as it is.

    A violated constraint or faulty SQL stays what it is: that is a bug of the caller, not a state of the disk.
    """
    source = _cause(error)
    known = _KNOWN.get(sqlite_code(error))
    if known is None:
        return error
    kind, sentence = known
    return kind(f"{sentence}: {path} ({source})", path=path, sqlite=getattr(source, "sqlite_errorname", ""))


def _cause(error: BaseException) -> BaseException:
    """The sqlite3 error that peewee's own is wrapped around."""
    cause = getattr(error, "orig", None)
    return cause if isinstance(cause, BaseException) else error
