"""Ending everything that runs in a terminal: HUP, then TERM, then KILL, and a look at who is left.

A shell's children have process groups of their own, an agent's helper may call setsid, and either may ignore all but
KILL. So it is not one signal to one group: the set is found by counting, and counted again until it is empty.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import gevent
import psutil

from whisk.actors.census import Census, Resident
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
    """Whom to end: the session that `leader` leads, whoever carries the terminal's mark, and the descendants of both.

    `before` (Unix time) is when the leader ended; then its number may be someone else's, and only processes that
    are older count as members of its session. `spared` are numbers that are never signalled.
    """

    mark: str
    leader: int | None
    before: float | None
    spared: frozenset[int]


def end_all(quarry: Quarry, grace: float, census: Census) -> Outcome:
    """Climb the ladder; blocks this greenlet only, for at most `grace` seconds a rung."""
    known: set[psutil.Process] = set()
    signalled: set[int] = set()
    last: Rung = ""
    for rung, number in _SIGNALS:
        ends = time.monotonic() + grace
        delay = _FIRST_LOOK
        told: set[psutil.Process] = set()
        while True:
            alive = find_members(quarry, known, census.take())
            if not alive:
                return Outcome(last, len(signalled), ())
            last = rung
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
    left = find_members(quarry, known, census.take())
    return Outcome(last, len(signalled), tuple(_describe(process) for process in left))


def find_members(quarry: Quarry, known: Iterable[psutil.Process], residents: Sequence[Resident]) -> set[psutil.Process]:
    """Those of `residents` who belong to the quarry, or did when last looked (`known`)."""
    candidates = [resident for resident in residents if resident.process.pid not in quarry.spared]
    members = {each.process for each in candidates if _is_member(each, quarry)}
    members |= {each.process for each in candidates} & set(known)
    while True:
        numbers = {process.pid for process in members}
        descendants = {each.process for each in candidates if each.parent in numbers} - members
        if not descendants:
            return members
        members |= descendants


def _is_member(resident: Resident, quarry: Quarry) -> bool:
    if resident.mark == quarry.mark:
        return True
    if quarry.leader is None or resident.session != quarry.leader:
        return False
    return quarry.before is None or resident.process.create_time() <= quarry.before


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
