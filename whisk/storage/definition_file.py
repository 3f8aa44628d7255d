"""Workflow definitions as files. Every function blocks on the disk, so it is called on a thread.

Paths come from clients. What is read must be a plain file of a definition's size; what is written is a new file, or
takes the place of a file that holds a definition of the same id, whole or not at all.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from whisk.errors import InvalidError, RefusedError, TooLargeError
from whisk.values import check_text, encode_pretty
from whisk.work.definition import Definition
from whisk.work.definition_exchange import FOLDER, PATH_LIMIT
from whisk.work.validation import SIZE_LIMIT, check_definition

# A folder with more is not one of definitions.
FILE_LIMIT = 200


def check_path(path: str) -> Path:
    """An absolute path; raises `InvalidError`, because the daemon's folder is not the client's."""
    check_text(path, "path", empty=False, limit=PATH_LIMIT)
    if not path.startswith("/"):
        raise InvalidError(f"the path must be absolute: {path}", field="path")
    return Path(path)


def read(path: Path) -> bytes:
    """The bytes of a plain file; symbolic links to one are followed.

    Raises `InvalidError` for anything else, `TooLargeError` for a file that no definition is as large as.
    """
    try:
        # Opening a pipe would wait for somebody to write to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise _failed("read", path, error) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidError(f"{path} is not a plain file", field="path")
        if status.st_size > SIZE_LIMIT:
            size = status.st_size
            raise TooLargeError(f"{path} has {size} bytes; a definition has at most {SIZE_LIMIT}", limit=SIZE_LIMIT)
        with open(descriptor, "rb", closefd=False) as file:
            # One byte more shows a file that grows meanwhile; the check of the definition refuses it.
            return file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise _failed("read", path, error) from error
    finally:
        os.close(descriptor)


def write(path: Path, definition: Definition) -> None:
    """Readable for its owner only; there whole, and synced, or not at all.

    The folder must exist, but for a project's `.whisk/workflows`, which is made. Raises `RefusedError` when something
    else than a definition of this id is in the way, `InvalidError` when the file cannot be written.
    """
    replacing = _may_replace(path, definition.id)
    try:
        if path.parent.parts[-2:] == FOLDER and path.parents[2].is_dir() and not path.parent.exists():
            path.parent.mkdir(parents=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".whisk-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(encode_pretty(definition) + "\n")
                file.flush()
                os.fsync(descriptor)
            if replacing:
                os.replace(temporary, path)
            else:
                # Unlike a rename, a link never takes the place of a file that has come into being meanwhile.
                os.link(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
    except OSError as error:
        raise _failed("write", path, error) from error


def find(root: str) -> list[Path]:
    """The definition files of the project with this root, by name; none when it has no such folder.

    A link that leads out of the root is left out: what a project brings along is its own.
    """
    folder = Path(root, *FOLDER)
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".json"))
    except OSError:
        return []
    home = os.path.realpath(root)
    paths = [folder / name for name in names[:FILE_LIMIT] if not name.startswith(".")]
    return [path for path in paths if os.path.commonpath([home, os.path.realpath(path)]) == home]


def _may_replace(path: Path, id: str) -> bool:
    """Whether a file is there and may be replaced. Raises `RefusedError` when it may not."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _failed("write", path, error) from error
    known = check_definition(read(path)).definition if stat.S_ISREG(mode) else None
    if known is None or known.id != id:
        what = f"the definition {known.id}" if known else "something else than a workflow definition"
        raise RefusedError(f"{path} is {what}, and is left as it is; choose another path", path=str(path))
    return True


def _failed(what: str, path: Path, error: OSError) -> InvalidError:
    return InvalidError(f"cannot {what} {path}: {error.strerror}", field="path", path=str(path))
