"""The daemon's own files: the state folder, the token, the database, and what they lie on."""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from whisk.daemon import config
from whisk.daemon.paths import Paths
from whisk.daemon.state import is_alive, read_state
from whisk.daemon.survey.finding import Finding
from whisk.errors import WhiskError

SECTION = "state"
_SQLITE = b"SQLite format 3\0"
_LOW_BYTES = 1024**3
_FULL_BYTES = 100 * 1024**2
_FEW_DESCRIPTORS = 4096
# Where SQLite's write-ahead log does not work or only seems to: its index is memory shared by processes.
_REMOTE = (
    "nfs", "cifs", "smb", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone",
    "afpfs", "webdav", "vboxsf", "prl_fs", "fuse.vmhgfs-fuse", "drvfs", "virtiofs", "ncpfs", "gfs",
)  # fmt: skip


def look_at_place(paths: Paths) -> Iterator[Finding]:
    """Everything about the state folder; what is not there yet is no fault."""
    yield _settings(paths)
    if not paths.state.exists():
        yield _finding("folder", "off", f"{paths.state} is made by the first start", "whisk daemon start")
    else:
        yield _folder(paths.state)
        yield _token(paths.token)
        yield _database(paths.database)
        yield from _left_over(paths)
    yield _file_system(paths.state)
    yield _room(paths.state)
    yield _descriptors(paths)


def file_system_of(path: Path, mounts: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """The mount point and the type of what `path` lies on; `mounts` are such pairs, later ones over earlier ones."""
    best: tuple[str, str] | None = None
    for point, kind in mounts:
        below = point == "/" or path == Path(point) or Path(point) in path.parents
        if below and (best is None or len(point) >= len(best[0])):
            best = (point, kind)
    return best


def is_remote(kind: str) -> bool:
    return kind.lower().startswith(_REMOTE)


def _settings(paths: Paths) -> Finding:
    try:
        config.load(paths.config)
    except WhiskError as error:
        return _finding("settings", "broken", error.message, f"edit {shlex.quote(str(paths.config))}")
    there = paths.config.exists()
    return _finding("settings", "ok", str(paths.config) if there else f"none, so the defaults ({paths.config})")


def _folder(folder: Path) -> Finding:
    found = folder.stat()
    where = shlex.quote(str(folder))
    if not stat.S_ISDIR(found.st_mode):
        return _finding("folder", "broken", f"{folder} is no folder", f"rm {where}")
    if found.st_uid != os.geteuid():
        return _finding("folder", "broken", f"{folder} belongs to another user", f"sudo chown -R $USER {where}")
    if not os.access(folder, os.W_OK | os.X_OK):
        return _finding("folder", "broken", f"{folder} cannot be written", f"chmod 700 {where}")
    if found.st_mode & 0o077:
        return _finding("folder", "look", f"{folder} is open to other users", f"chmod 700 {where}")
    return _finding("folder", "ok", str(folder))


def _token(path: Path) -> Finding:
    where = shlex.quote(str(path))
    try:
        mode = path.stat().st_mode
        text = path.read_text("ascii", "replace").strip()
    except FileNotFoundError:
        return _finding("token", "off", "no control token yet", "whisk daemon start")
    except OSError as error:
        return _finding("token", "broken", f"cannot read {path}: {error.strerror}", f"chmod 600 {where}")
    if mode & 0o077:
        return _finding("token", "broken", "other users can read it, and so command the daemon", f"chmod 600 {where}")
    if not text:
        return _finding("token", "broken", f"{path} is empty", f"rm {where} && whisk daemon stop && whisk daemon start")
    return _finding("token", "ok", "readable by you alone")


def _database(path: Path) -> Finding:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
    except FileNotFoundError:
        return _finding("database", "off", "none yet", "whisk daemon start")
    except OSError as error:
        return _finding("database", "broken", f"cannot read {path}: {error.strerror}", f"chmod 600 {path}")
    if head not in (b"", _SQLITE):
        return _finding("database", "broken", f"{path} is no SQLite database", f"move {path} away, or restore it")
    if not os.access(path, os.W_OK):
        return _finding("database", "broken", f"{path} is read-only", f"chmod 600 {shlex.quote(str(path))}")
    return _finding("database", "ok", f"{path}, {_size(size)}")


def _left_over(paths: Paths) -> Iterator[Finding]:
    state = read_state(paths.state_file)
    if state is not None and not is_alive(state):
        said = f"daemon.json is of process {state.pid}, which has ended; the next start replaces it"
        yield _finding("last daemon", "off", said, "whisk daemon start")


def _file_system(folder: Path) -> Finding:
    place = folder
    while not place.exists():
        place = place.parent
    mounts = [(each.mountpoint, each.fstype) for each in psutil.disk_partitions(all=True)]
    found = file_system_of(place.resolve(), mounts)
    if found is None:
        return _finding("file system", "look", f"nothing is known of what {place} lies on")
    point, kind = found
    if is_remote(kind):
        said = f"{point} is {kind}: SQLite may lose data on a network file system"
        return _finding("file system", "look", said, "set WHISK_STATE_DIR to a folder on a local disk")
    return _finding("file system", "ok", f"{kind} at {point}")


def _room(folder: Path) -> Finding:
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    said = f"{_size(free)} free"
    if free < _FULL_BYTES:
        return _finding("disk", "broken", said, f"make room on the disk of {place}")
    return _finding("disk", "look" if free < _LOW_BYTES else "ok", said)


def _descriptors(paths: Paths) -> Finding:
    state = read_state(paths.state_file)
    if state is not None and is_alive(state):
        try:
            process = psutil.Process(state.pid)
            used, limit = process.num_fds(), resource.prlimit(state.pid, resource.RLIMIT_NOFILE)[0]
        except (psutil.Error, OSError, AttributeError):
            return _finding("descriptors", "off", "the daemon's cannot be counted here")
        if used > limit * 0.8:
            said = f"{used} of {limit} in use by the daemon"
            return _finding("descriptors", "look", said, "whisk session list, and close what is not needed")
        return _finding("descriptors", "ok", f"{used} of {limit} in use by the daemon")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard not in (resource.RLIM_INFINITY, -1) and hard < _FEW_DESCRIPTORS:
        return _finding("descriptors", "look", f"at most {hard} for one process", "raise the hard limit (ulimit -Hn)")
    return _finding("descriptors", "ok", "as many as the daemon asks for" if hard < 0 else f"up to {hard}")


def _size(count: int) -> str:
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _finding(name: str, grade: str, detail: str, mend: str = "") -> Finding:
    return Finding(section=SECTION, name=name, grade=grade, detail=detail, mend=mend)  # type: ignore[arg-type]
