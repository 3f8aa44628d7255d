"""Rows of figures with the machine and the day they were taken."""

from __future__ import annotations

import datetime
import os
import platform
import resource
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line: what was measured, the figures, the ratio to the thing beside it, and what was hoped for."""

    what: str
    figures: str
    ratio: str = ""
    aim: str = ""


def show(title: str, rows: list[Row]) -> None:
    """Print a table that can be pasted into docs/benchmarks.md."""
    print(f"\n### {title}\n")
    print("| what | measured | ratio | aim |")
    print("|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.figures} | {row.ratio} | {row.aim} |")


def machine() -> str:
    """The machine in one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.date.today()}: {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def resident() -> int:
    """This process's resident memory in bytes."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:  # macOS: the peak is all that the standard library knows
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def percentile(values: list[float], share: float) -> float:
    """The value that `share` (0..1) of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
