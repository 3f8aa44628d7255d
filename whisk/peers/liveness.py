"""Which process an agent is, told by the hook that it started: its pid, and when that process began. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from whisk.values import Record

# What stands between an agent and its hook: agents run hooks through a shell, people wrap agents in others.
_BETWEEN = frozenset(
    ("sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "tcsh", "csh", "env", "timeout", "nice", "nohup", "setsid")
)
_LONGEST = 16


class Process(Record, frozen=True):
    """A pid is used again and again; with `start`, the kernel's own mark of when it began, it names one process."""

    wire_name: ClassVar[str] = "PeerProcess"

    pid: int
    start: str


class Ancestry(Record, frozen=True):
    """`agent` is the nearest process above a hook that is no shell; `above` are those above it, nearest first."""

    agent: Process | None = None
    above: tuple[Process, ...] = ()


def read_ancestry(text: str) -> Ancestry:
    """`pid:start:name,…`, from the hook's parent upwards, as the relay writes it; what is not so is left out."""
    found = list(_entries(text))
    at = next((number for number, (_, name) in enumerate(found) if name not in _BETWEEN), None)
    if at is None:
        return Ancestry()
    return Ancestry(agent=found[at][0], above=tuple(process for process, _ in found[at + 1 :]))


def _entries(text: str) -> Iterator[tuple[Process, str]]:
    for entry in text.split(",")[:_LONGEST]:
        pid, _, rest = entry.partition(":")
        start, _, name = rest.partition(":")
        # Longer numbers are none that a kernel gives, and would not fit the database.
        if pid.isascii() and pid.isdecimal() and start.isascii() and start.isdecimal() and len(entry) < 100:
            yield Process(pid=int(pid[:9]), start=start), name
