"""Ending everything that runs in a terminal: HUP, then TERM, then KILL, and a look at who is left.

A shell's children have process groups of their own, an agent's helper may call setsid, and either may ignore all but
KILL. So it is not one signal to one group: the set is found by scanning, and found again until it is empty.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from typing import Literal, NamedTuple

import gevent
import psutil

from whisk.actors.offload import offload
from whisk.terminal.pty import Process

Rung = Literal["", "HUP", "TERM", "KILL"]

_SIGNALS: tuple[tuple[Rung, signal.Signals], ...] = (
    ("HUP", signal.SIGHUP),
    ("TERM", signal.SIGTERM),
    ("KILL", signal.SIGKILL),
)
_FIRST_LOOK, _LOOK = 0.01, 0.1


class Outcome(NamedTuple):
    last_signal: Rung
    signalled: int
    left: tuple[Process, ...]


class Quarry(NamedTuple):
    """Whom to end: the session that `leader` leads, their descendants, and whoever carries the terminal's mark.

    `before` (Unix time) is when the leader ended; then its number may be someone else's, and only processes that
    are older count as members of its session. `spared` are numbers that are never signalled.
    """

    mark: str
    leader: int | None
    before: float | None
    spared: frozenset[int]


def end_all(quarry: Quarry, grace: float) -> Outcome:
    """Climb the ladder; blocks this greenlet only, for at most `grace` seconds a rung."""
    known: set[psutil.Process] = set()
    signalled: set[int] = set()
    last: Rung = ""
    for rung, number in _SIGNALS:
        ends = time.monotonic() + grace
        delay = _FIRST_LOOK
        told: set[psutil.Process] = set()
        while True:
            alive, quiet = offload(_scan, quarry, known)
            if quiet:
                return Outcome(last, len(signalled), ())
            last = rung if alive else last
            known |= alive
            # Those who were started since get the signal too; KILL is repeated until nobody is left.
            fresh = alive if rung == "KILL" else alive - told
            told |= fresh
            signalled |= {process.pid for process in fresh}
            offload(_send, fresh, number)
            if time.monotonic() > ends:
                break
            gevent.sleep(delay)
            delay = min(delay * 2, _LOOK)
    left, _ = offload(_scan, quarry, known)
    return Outcome(last, len(signalled), tuple(_describe(process) for process in left))


def _scan(quarry: Quarry, known: Iterable[psutil.Process]) -> tuple[set[psutil.Process], bool]:
    """Everybody of the quarry who is alive, and whether it is quiet: not even one was seen who has ended meanwhile,
    and who may have started a successor that was not there yet when we looked. In a thread: some ten milliseconds.
    """
    members = {process for process in known if _is_alive(process)}
    parents: dict[psutil.Process, int] = {}
    looked_at = set(quarry.spared)
    while new := set(psutil.pids()) - looked_at:
        looked_at |= new
        for pid in new:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                parents[process] = process.ppid()
                if _is_member(process, quarry) and _is_alive(process):
                    members.add(process)
    numbers = {process.pid for process in members}
    while descendants := {p for p, parent in parents.items() if parent in numbers and p.pid not in numbers}:
        members |= {process for process in descendants if _is_alive(process)}
        numbers |= {process.pid for process in descendants}
    return {process for process in members if _is_alive(process)}, not members


def _is_member(process: psutil.Process, quarry: Quarry) -> bool:
    with contextlib.suppress(OSError):
        if quarry.leader is not None and os.getsid(process.pid) == quarry.leader:
            return quarry.before is None or process.create_time() <= quarry.before
    with contextlib.suppress(psutil.Error, OSError):
        return bool(process.environ().get("WHISK_PTY_ID") == quarry.mark)
    return False


def _is_alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    return False


def _send(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
            if number != signal.SIGKILL:
                # One that was stopped by job control would see the signal only when somebody resumes it.
                process.send_signal(signal.SIGCONT)


def _describe(process: psutil.Process) -> Process:
    command, started = "", 0.0
    with contextlib.suppress(psutil.Error):
        started = process.create_time()
        command = " ".join(process.cmdline())[:200] or process.name()
    return Process(pid=process.pid, started=started, command=command)
