"""Telling whoever started the daemon how it went: one line of JSON on a pipe it gave us, then the pipe is closed."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from whisk.errors import WhiskError
from whisk.values import encode


class Ready:
    """`fd` is the writing end of the starter's pipe, or None when nobody waits for word."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        if fd is not None:
            # A child that inherited it would keep the starter waiting for as long as it lives.
            os.set_inheritable(fd, False)

    def up(self, url: str, pid: int) -> None:
        self._say({"url": url, "pid": pid})

    def failed(self, error: WhiskError, *, logged: bool = False) -> None:
        """Say why on the pipe, and on stderr for a person unless the log has said it there."""
        self._say({"error": error.message, "code": error.code, **error.details})
        if not logged:
            print(f"whiskd: {error.message}", file=sys.stderr, flush=True)  # noqa: T201 (nobody has a logger yet)

    def _say(self, word: dict[str, Any]) -> None:
        if self._fd is None:
            return
        # The starter may have given up; that is no reason to stop.
        with contextlib.suppress(OSError):
            os.write(self._fd, encode(word) + b"\n")
            os.close(self._fd)
        self._fd = None
