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

# psutil derives the start time from the boot time, which the kernel re-estimates when the clock is set.
_SAME_START = 2.0


class DaemonState(Record, frozen=True):
    """`process_start_time` (Unix seconds) tells this process from a later one that was given the same pid."""

    pid: int
    process_start_time: float
    addr: str
    url: str
    version: str
    protocol_version: int
    started_at: Instant
    log: str


def process_start_time(pid: int) -> float | None:
    """When process `pid` was started, or None when there is none."""
    try:
        return psutil.Process(pid).create_time()
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
    started = process_start_time(state.pid)
    return started is not None and abs(started - state.process_start_time) < _SAME_START


def remove_state(path: Path) -> None:
    """Remove our own file; one that a successor has written stays."""
    state = read_state(path)
    if state is not None and state.pid == os.getpid():
        with contextlib.suppress(OSError):
            path.unlink()
