"""`python -m bench [name …]`: all benchmarks, or those that are named, as tables for docs/benchmarks.md."""

from __future__ import annotations

import importlib
import signal
import sys
import time

from bench.report import machine

NAMES = (
    *("relay", "actors", "mail", "waiter", "answer", "pty", "attach", "session"),
    *("event", "surface", "hub", "daemon", "commands"),
)


def main() -> int:
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    # Told to end, it must still end the daemons that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(machine())
    for name in names:
        began = time.perf_counter()
        importlib.import_module(f"bench.{name}").run()
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
