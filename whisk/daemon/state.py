"""What the running daemon writes down about itself, for clients that must find or end it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil

from whisk.clock import Instant
from whisk.daemon.token import write_private
from whisk.errors import InvalidError
from whisk.values import Record, decode, encode_pretty


class DaemonState(Record, frozen=True):
    """`process_start_time` tells this process from a later one that was given the same pid."""

    pid: int
    process_start_time: float
    addr: str
    url: str
    version: str
    protocol_version: int
    started_at: Instant
    log: str


def process_start_time(pid: int) -> float | None:
    """When process `pid` was started, or None when there is none, or only a zombie.

    Seconds since the boot on Linux: psutil's Unix time is made with the boot time, which the kernel re-estimates when
    the clock is set. Unix seconds elsewhere.
    """
    if os.path.exists("/proc/self/stat"):
        try:
            # The second field is the program's name in brackets, and may hold anything.
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return None
        return None if fields[0] in (b"Z", b"X") else int(fields[19]) / os.sysconf("SC_CLK_TCK")
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def write_state(path: Path, state: DaemonState) -> None:
    write_private(path, encode_pretty(state) + "\n")


def read_state(path: Path) -> DaemonState | None:
    """What stands in the file, whoever wrote it; None when it is absent or not a state."""
    try:
        return decode(path.read_bytes(), DaemonState)
    except (OSError, InvalidError):
        return None


def is_alive(state: DaemonState) -> bool:
    """Whether the process that wrote `state` still runs; another one with its pid does not count."""
    return process_start_time(state.pid) == state.process_start_time


def remove_state(path: Path) -> None:
    """Remove our own file; one that a successor has written stays."""
    state = read_state(path)
    if state is not None and state.pid == os.getpid():
        with contextlib.suppress(OSError):
            path.unlink()
