"""Other processes, told apart from later ones that were given the same pid."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

# psutil derives the start time from the boot time, which the kernel re-estimates when the clock is set.
_SAME_START = 2.0


def is_alive(pid: int, start_time: float) -> bool:
    """Whether the process that was started at `start_time` (Unix seconds) still runs; a zombie does not."""
    import psutil

    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - start_time) < _SAME_START and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def wait_until(done: Callable[[], bool], seconds: float, every: float = 0.02) -> bool:
    """Look again and again until `done` or the time is over; returns what it said last."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= deadline:
            return False
        # A client has no hub to wait on, and lint keeps time.sleep for nobody.
        select.select([], [], [], every)
    return True


def end(pid: int, start_time: float, *, term: float, kill: float) -> bool:
    """SIGTERM, then SIGKILL after `term` seconds; True when the process is gone within `kill` more."""
    for number, patience in ((signal.SIGTERM, term), (signal.SIGKILL, kill)):
        if not is_alive(pid, start_time):
            return True
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        if wait_until(lambda: not is_alive(pid, start_time), patience):
            return True
    return False
