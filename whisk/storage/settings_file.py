"""Changing a file that belongs to another program: whole or not at all, through links, and never over a change of
somebody else's.

The new text is written beside the file, synced, and renamed over it after a last look that the file is still the one
that was read. Mode and owner stay. What was there before is kept as `<file>.whisk-backup`, three generations of it.
Everything here blocks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from whisk.errors import ConflictError, InvalidError, RefusedError, TooLargeError, UnavailableError, WhiskError

MAX_BYTES = 8 * 1024 * 1024
BACKUPS = 3
_TRIES = 8
_LOCK_SECONDS = 15.0


class Found(NamedTuple):
    """A file as it was read. `target` is where the links lead; `text` is None when there is no file."""

    path: Path
    target: Path
    text: str | None
    data: bytes | None
    mode: int
    owner: tuple[int, int] | None


class Change(NamedTuple):
    """What an `edit` did; `backup` is the copy of what was there before."""

    before: str | None
    after: str | None
    backup: Path | None

    @property
    def changed(self) -> bool:
        return self.before != self.after


def read_settings(path: Path) -> Found:
    """Read `path`; raises a `WhiskError` that names it for what is no readable UTF-8 file of reasonable size."""
    target = Path(os.path.realpath(path))
    try:
        # A FIFO would block, and none of these is a settings file.
        found = os.stat(target)
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError(f"{path} is no regular file", path=str(path))
        if found.st_size > MAX_BYTES:
            raise TooLargeError(f"{path} has {found.st_size} bytes, more than whisk reads", path=str(path))
        data = target.read_bytes()
        return Found(path, target, data.decode(), data, stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid))
    except FileNotFoundError:
        return Found(path, target, None, None, 0o600, None)
    except UnicodeDecodeError as error:
        raise InvalidError(f"{path} is not UTF-8 text: byte {error.start}", path=str(path)) from None
    except OSError as error:
        raise UnavailableError(f"cannot read {path}: {error.strerror}", path=str(path)) from error


def edit(path: Path, change: Callable[[str | None], str | None], *, backup: bool = True) -> Change:
    """Make the file what `change(text)` returns: None takes it away. `change` runs again when somebody else was first.

    Raises what `change` raises, `RefusedError` for a file or folder that is read-only, `ConflictError` when the file
    does not hold still, `UnavailableError` for what the disk refuses. Whatever is raised, the file is as it was.
    """
    for _ in range(_TRIES):
        found = read_settings(path)
        after = change(found.text)
        if after == found.text:
            return Change(found.text, after, None)
        check_writable(found)
        try:
            kept = _keep_backup(found) if backup and found.data is not None else None
            if _put(found, after):
                return Change(found.text, after, kept)
        except OSError as error:
            raise UnavailableError(f"cannot write {path}: {error.strerror}", path=str(path)) from error
    raise ConflictError(f"another program keeps changing {path}; try again", path=str(path))


def check_writable(found: Found) -> None:
    """Raises `RefusedError` when the file or its folder is not meant to be changed.

    The bits count and not only what the kernel would allow: a rename succeeds over a read-only file too.
    """
    folder = found.target.parent
    where = str(found.path) if found.target == found.path else f"{found.path} (which is {found.target})"
    if found.data is not None and not found.mode & 0o222:
        raise RefusedError(f"{where} is read-only", path=str(found.path))
    with contextlib.suppress(FileNotFoundError):
        known = os.stat(folder)
        if not known.st_mode & 0o222 or not os.access(folder, os.W_OK):
            raise RefusedError(f"the folder of {where} is read-only", path=str(found.path))
    if found.owner is not None and os.geteuid() not in (0, found.owner[0]):
        raise RefusedError(f"{where} belongs to another user", path=str(found.path))


def write_own(path: Path, text: str, mode: int = 0o600) -> bool:
    """Replace a file of whisk's own in one step; returns whether it was different. Raises `UnavailableError`."""
    try:
        found = read_settings(path)
    except WhiskError:
        # A broken file of ours is written anew.
        found = Found(path, Path(os.path.realpath(path)), None, None, mode, None)
    if found.text == text and found.mode == mode:
        return False
    try:
        _swap(found.target, text.encode(), mode, found.owner)
    except OSError as error:
        raise UnavailableError(f"cannot write {path}: {error.strerror}", path=str(path)) from error
    return True


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """One whisk at a time, also over processes. Raises `ConflictError` when another one does not let go."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UnavailableError(f"cannot open {path}: {error.strerror}", path=str(path)) from error
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not _locked(fd):
            if time.monotonic() > deadline:
                raise ConflictError(f"another whisk is changing settings (it holds {path})", path=str(path))
            time.sleep(0.02)  # noqa: TID251 - this runs on a thread of its own, never on the hub
        yield
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _put(found: Found, after: str | None) -> bool:
    """Whether it is done; False when the file is no longer what was read."""
    if after is not None:
        return _swap(found.target, after.encode(), found.mode, found.owner, lambda: _is_same(found))
    if not _is_same(found):
        return False
    found.target.unlink(missing_ok=True)
    return True


def _is_same(found: Found) -> bool:
    try:
        return Path(os.path.realpath(found.path)) == found.target and found.target.read_bytes() == found.data
    except FileNotFoundError:
        return found.data is None


def _swap(
    target: Path, data: bytes, mode: int, owner: tuple[int, int] | None, still: Callable[[], bool] = lambda: True
) -> bool:
    """Write beside, sync, and rename when `still()` says so."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sweep(target)
    temporary = target.with_name(f".{target.name}.whisk-{os.getpid()}-{secrets.token_hex(4)}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if still():
            os.replace(temporary, target)
            _sync_folder(target.parent)
            return True
        return False
    finally:
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Some network file systems cannot; the rename itself has been done.
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)


def _sweep(target: Path) -> None:
    """Take away what a whisk that was killed has left beside the file."""
    for left in target.parent.glob(f".{target.name}.whisk-*-*"):
        pid = left.name.rpartition(".whisk-")[2].partition("-")[0]
        if pid.isdigit() and not _runs(int(pid)):
            left.unlink(missing_ok=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _keep_backup(found: Found) -> Path:
    """The text as it was, as the newest of `BACKUPS` copies."""
    newest = found.target.with_name(f"{found.target.name}.whisk-backup")
    assert found.data is not None
    with contextlib.suppress(FileNotFoundError):
        # Tried again after a conflict, or installed, removed and installed: the same text is kept once.
        if newest.read_bytes() == found.data:
            return newest
    for number in range(BACKUPS - 1, 0, -1):
        older = newest if number == 1 else newest.with_name(f"{newest.name}.{number - 1}")
        if older.exists():
            older.replace(newest.with_name(f"{newest.name}.{number}"))
    _swap(newest, found.data, found.mode, found.owner)
    return newest
