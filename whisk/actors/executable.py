"""Whether a program could be started, found out before it is: after the fork a failure looks like a dead child."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from whisk.errors import SpawnError


def find_executable(argv: Sequence[str], path: str, working_dir: str) -> str:
    """The absolute path of `argv[0]`, as a shell in `working_dir` with that PATH would find it.

    Blocks on the file system, so call it in a thread. Raises `SpawnError` whose `details["reason"]` is one of
    `bad_working_dir`, `executable_not_found`, `not_executable`, `bad_interpreter`.
    """
    _check_folder(working_dir)
    name = argv[0]
    refused = None
    for folder in [""] if "/" in name else path.split(os.pathsep):
        candidate = os.path.join(working_dir, folder, name)
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                _check_interpreter(candidate)
                return candidate
            refused = refused or candidate
        elif "/" in name and os.path.exists(candidate):
            refused = candidate
    if refused is not None:
        raise SpawnError(f"not an executable file: {refused}", reason="not_executable", path=refused)
    where = "" if "/" in name else " on the PATH"
    raise SpawnError(f"no such program{where}: {name}", reason="executable_not_found", name=name, path=path)


def _check_folder(path: str) -> None:
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(path, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise SpawnError(
            f"the working directory cannot be used: {path} ({error.strerror})",
            reason="bad_working_dir",
            path=path,
            errno=errno.errorcode.get(error.errno or 0, ""),
        ) from error


def _check_interpreter(path: str) -> None:
    """Refuse a script whose `#!` line names what is not there; the kernel's own error would name the script."""
    try:
        with open(path, "rb") as file:
            line = file.read(256).split(b"\n", 1)[0]
    except OSError:
        return  # a program that may be run but not read
    words = line[2:].split()
    if line.startswith(b"#!") and words and words[0].startswith(b"/") and not os.access(words[0], os.X_OK):
        interpreter = os.fsdecode(words[0])
        raise SpawnError(f"{path} needs {interpreter}, which cannot be run", reason="bad_interpreter", path=path)
