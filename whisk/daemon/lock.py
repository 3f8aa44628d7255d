"""One daemon per state folder: a lock that the kernel lets go when its holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from whisk.errors import ConflictError, UnavailableError


class DaemonLock:
    """Held from `acquire` to `release` or the end of the process. The file stays: removing it would let a third
    process lock a new file of the same name while a second still waits on the old one."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def acquire(cls, path: Path) -> Self:
        """Take the lock at once or raise `ConflictError`; `details["pid"]` is the holder's when it is known."""
        try:
            # Not inheritable: a child that kept it would keep the next daemon out.
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnavailableError(f"cannot open {path}: {error.strerror}", path=str(path)) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = _written_pid(fd)
            os.close(fd)
            if not isinstance(error, BlockingIOError):
                raise UnavailableError(f"cannot lock {path}: {error.strerror}", path=str(path)) from error
            raise ConflictError(f"already running{f' pid {pid}' if pid else ''}", pid=pid) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return cls(fd)

    def release(self) -> None:
        os.close(self._fd)


def _written_pid(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None
