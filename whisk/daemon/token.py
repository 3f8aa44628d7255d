"""The control token: who can read this file may command the daemon."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from whisk.errors import UnavailableError
from whisk.ids import secret_token

_FORM = re.compile(r"[A-Za-z0-9_-]{32,}")


def ensure_token(path: Path) -> str:
    """The token of this state folder, made when there is none; its file is readable by the owner alone.

    A new file appears whole or not at all: a client that reads beside us never sees half a token. Call it with the
    daemon's lock held.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
            if _FORM.fullmatch(token := path.read_text("ascii", "replace").strip()):
                return token
        token = secret_token()
        write_private(path, token + "\n")
    except OSError as error:
        raise UnavailableError(f"cannot keep the control token in {path}: {error.strerror}", path=str(path)) from error
    return token


def write_private(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step, mode 0600. Raises `UnavailableError` that names it, for instance on a full
    disk; what was there before is then still there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UnavailableError(f"cannot write {path}: {error.strerror}", path=str(path)) from error
