"""Other processes, told apart from later ones that were given the same pid."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable


def start_time(pid: int) -> float | None:
    """When process `pid` was started; None when there is none, or only a zombie.

    Seconds since the boot on Linux, where the clock may be set meanwhile; Unix seconds elsewhere. The same process
    always has the same number, to the last digit, and `whisk.daemon.state` writes it down in the same way.
    """
    if os.path.exists("/proc/self/stat"):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                # The second field is the program's name in brackets, and may hold anything.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return None
        return None if fields[0] in (b"Z", b"X") else int(fields[19]) / os.sysconf("SC_CLK_TCK")
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def is_alive(pid: int, started: float) -> bool:
    """Whether the process that was started at `started` still runs."""
    return start_time(pid) == started


def wait_until(done: Callable[[], bool], seconds: float, every: float = 0.02) -> bool:
    """Look again and again until `done` or the time is over; returns what it said last."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= deadline:
            return False
        # A client has no hub to wait on, and lint keeps time.sleep for nobody.
        select.select([], [], [], every)
    return True


def end(pid: int, started: float, *, term: float, kill: float) -> bool:
    """SIGTERM, then SIGKILL after `term` seconds; True when the process is gone within `kill` more."""
    for number, patience in ((signal.SIGTERM, term), (signal.SIGKILL, kill)):
        if not is_alive(pid, started):
            return True
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        if wait_until(lambda: not is_alive(pid, started), patience):
            return True
    return False
