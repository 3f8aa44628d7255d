"""Git as a program that is run: a list of words, a clean environment, a time limit, and never a shell.

Everything here blocks; call it through `whisk.actors.offload`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import IO, NoReturn

from whisk.errors import GitError

READ_SECONDS = 20.0
# Checking out a large repository.
WRITE_SECONDS = 120.0
_GRACE = 5.0
# A hook or a filter of the repository may print without end; a message needs its last words only.
_SAID_LIMIT = 2000
_FIXED = (
    # Its daemon would outlive the call, and be started by us in a repository of somebody else.
    *("-c", "core.fsmonitor=false"),
    *("-c", "advice.detachedHead=false"),
)
_SIGNS = {
    "not a git repository": "not_a_repository",
    "cannot change to": "not_a_repository",
    "must be run in a work tree": "not_a_repository",
    "dubious ownership": "foreign_owner",
}


def find_git(environ: Mapping[str, str]) -> str | None:
    return shutil.which("git", path=environ.get("PATH", os.defpath))


def run_git(environ: Mapping[str, str], folder: str, *words: str, seconds: float = READ_SECONDS) -> str:
    """What `git <words>` prints when run in `folder`; bytes that are not UTF-8 become U+FFFD.

    Raises `GitError` with the `reason` that a program may act on: `git_missing`, `not_a_repository`, `foreign_owner`,
    `timed_out`, `failed`.
    """
    git = find_git(environ)
    if git is None:
        raise GitError("git is not installed, or not on whiskd's PATH", reason="git_missing")
    argv = [git, *_FIXED, "-C", folder, *words]
    # Not pipes: what a hook leaves running in the background would hold their ends, and us until it ends.
    with TemporaryFile() as out, TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=said,
                env=_clean(environ),
                # Its hooks and helpers are ended with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise GitError(f"git could not be started: {error}", reason="failed") from error
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            raise GitError(
                f"git {words[0]} took longer than {seconds:g} s in {folder}", reason="timed_out", folder=folder
            ) from None
        if code:
            _raise(words, folder, _read(said), code)
        return _read(out)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Without the variables by which git would look at another repository than the one that was named."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    # A person may be working in the folder: looking must not take their index lock.
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Politely first: told to end, git takes back a checkout that it has begun."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(_GRACE)
            return
        except subprocess.TimeoutExpired:
            continue


def _raise(words: tuple[str, ...], folder: str, said: str, code: int) -> NoReturn:
    told = said.strip()[-_SAID_LIMIT:]
    lines = [line for line in told.splitlines() if line.startswith(("fatal: ", "error: "))]
    sentence = (lines or told.splitlines() or [f"exit code {code}"])[-1]
    sentence = sentence.removeprefix("fatal: ").removeprefix("error: ")
    reason = next((reason for sign, reason in _SIGNS.items() if sign in told), "failed")
    raise GitError(f"git {words[0]}: {sentence}", reason=reason, folder=folder, exitCode=code, said=told)
