"""Ask, tell and memory at 10,000 actors, against pykka's own ThreadingActor. Each side runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from bench.report import Row, resident, show

ACTORS = 10_000
ASKS = 30_000
TELLS = 100_000


def ours(count: int) -> dict[str, float]:
    from whisk.actors.actor import Actor
    from whisk.actors.future import get
    from whisk.actors.system import ActorSystem

    class EchoActor(Actor):
        def __init__(self) -> None:
            super().__init__()
            self._seen = 0

        def echo(self, value: int) -> int:
            return value

        def hear(self, value: int) -> None:
            self._seen += value

        def seen(self) -> int:
            return self._seen

    system = ActorSystem(slow_after=60)
    before = resident()
    began = time.perf_counter()
    handles = [system.spawn(EchoActor, name=f"echo:{i}", mailbox=0) for i in range(count)]
    get([handle.echo.remote(1) for handle in handles], timeout=60)
    spawned = time.perf_counter() - began
    memory = (resident() - before) / count
    began = time.perf_counter()
    for i in range(ASKS):
        get(handles[i % count].echo.remote(i))
    asks = ASKS / (time.perf_counter() - began)
    began = time.perf_counter()
    for i in range(TELLS):
        handles[i % count].hear.tell(1)
    seen: list[int] = get([handle.seen.remote() for handle in handles], timeout=120)
    assert sum(seen) == TELLS
    tells = TELLS / (time.perf_counter() - began)
    system.close(timeout=60)
    return {"ask": asks, "tell": tells, "kib": memory / 1024, "spawn": count / spawned}


def stock(count: int) -> dict[str, float]:
    import pykka

    class EchoActor(pykka.ThreadingActor):
        use_daemon_thread = True

        def __init__(self) -> None:
            super().__init__()
            self._seen = 0

        def on_receive(self, message: object) -> object:
            if message == "seen":
                return self._seen
            if isinstance(message, tuple):
                self._seen += 1
                return None
            return message

    before = resident()
    began = time.perf_counter()
    actors = [EchoActor.start() for _ in range(count)]
    pykka.get_all([actor.ask(1, block=False) for actor in actors])
    spawned = time.perf_counter() - began
    memory = (resident() - before) / count
    began = time.perf_counter()
    for i in range(ASKS):
        actors[i % count].ask(i)
    asks = ASKS / (time.perf_counter() - began)
    began = time.perf_counter()
    for i in range(TELLS):
        actors[i % count].tell((1,))
    assert sum(int(str(actor.ask("seen"))) for actor in actors) == TELLS
    tells = TELLS / (time.perf_counter() - began)
    return {"ask": asks, "tell": tells, "kib": memory / 1024, "spawn": count / spawned}


def run() -> None:
    """Measure both sides, one after the other, and print the table."""
    a, b = _measure("ours"), _measure("stock")
    rows = [
        Row(what, f"{a[key]:,.0f} against {b[key]:,.0f}", f"{a[key] / b[key]:.1f}x", aim)
        for what, key, aim in (
            ("ask, round trips/s", "ask", "≥ 4x"),
            ("tell, handled/s", "tell", "≥ 4x"),
            ("start/s", "spawn", ""),
        )
    ]
    rows.append(Row("memory each", f"{a['kib']:.1f} KiB against {b['kib']:.1f} KiB", "", "≤ 12 KiB"))
    show(f"Actors, {ACTORS:,} alive", rows)


def _measure(side: str) -> dict[str, float]:
    # os._exit: 10,000 threads are not worth joining.
    code = f"""
import json, os
from bench import actors
print(json.dumps(actors.{side}({ACTORS})), flush=True)
os._exit(0)
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(out.splitlines()[-1])
    return figures


if __name__ == "__main__":
    run()
