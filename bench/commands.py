"""The command runtime at different sizes: contribute, update, snapshot, execute, and how each grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bench.report import Row, show
from whisk.commands import (
    AVAILABLE,
    AgentProjection,
    Command,
    CommandRuntime,
    ExecutionInput,
    HelpProjection,
    Lease,
    PaletteProjection,
    Projections,
    SlashProjection,
)

SIZES = (100, 1_000, 20_000)
_EACH = 20
_SECONDS = 0.5


def run() -> None:
    figures = {size: _measure(size) for size in SIZES}
    rows = []
    for what in figures[SIZES[0]]:
        rates = [figures[size][what] for size in SIZES]
        shown = " / ".join(f"{rate:,.0f}" for rate in rates)
        rows.append(Row(what, f"{shown} a second", f"{rates[-1] / rates[0]:.3f}x from 100 to 20,000"))
    show(f"commands: {', '.join(f'{size:,}' for size in SIZES)} of them, {_EACH} a contribution", rows)


def _measure(size: int) -> dict[str, float]:
    runtime = CommandRuntime()
    count = size // _EACH
    began = time.perf_counter()
    leases = [runtime.contribute("bench", f"n{n}", _batch(n)) for n in range(count)]
    contribute = count / (time.perf_counter() - began)
    middle = count // 2
    return {
        "contribute (20 commands)": contribute,
        "update (20 commands)": _rate(lambda: leases[middle].update(_batch(middle))),
        "snapshot, unchanged": _rate(runtime.snapshot),
        "update, then snapshot": _rate(lambda: _change(runtime, leases[middle], middle)),
        "execute": _rate(lambda: runtime.execute(f"n{middle}.3", ExecutionInput("palette", {"n": 1}))),
        "execute, availability read": _rate(lambda: runtime.execute(f"n{middle}.0", ExecutionInput("palette"))),
    }


def _batch(n: int) -> list[Command[Any, Any]]:
    return [
        Command(
            id=f"n{n}.{each}",
            title=f"Command {each}",
            category="Bench",
            handler=lambda input: input.arguments,
            projections=Projections(
                palette=PaletteProjection(),
                slash=(SlashProjection(alias=f"n{n} {each}"),),
                help=HelpProjection(),
                agent=AgentProjection(),
            ),
            # One in twenty has facts that change.
            availability=(lambda: AVAILABLE) if each == 0 else None,
        )
        for each in range(_EACH)
    ]


def _change(runtime: CommandRuntime, lease: Lease, n: int) -> None:
    lease.update(_batch(n))
    runtime.snapshot()


def _rate(act: Callable[[], object]) -> float:
    """Calls a second, over half a second at least."""
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < _SECONDS or count < 3:
        act()
        count += 1
    return count / spent
