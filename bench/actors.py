"""Ask, tell and memory at 10,000 actors, and at 100, against pykka's own ThreadingActor. Each side runs in a process
of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from bench.report import Row, resident, show

ACTORS = (10_000, 100)
ASKS = 30_000
TELLS = 100_000
# Ten thousand threads take minutes for what ten thousand greenlets do in a second.
STOCK_ASKS = 5_000
STOCK_TELLS = 10_000
# Actors that nobody speaks to give up their greenlets, five hundred in a second.
_REST_SECONDS = 2.0


def ours(count: int) -> dict[str, float]:
    import gevent

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
    gevent.sleep(_REST_SECONDS + count / 500)
    rest = (resident() - before) / count
    return {"ask": asks, "tell": tells, "kib": memory / 1024, "rest": rest / 1024, "spawn": count / spawned}


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
    for i in range(STOCK_ASKS):
        actors[i % count].ask(i)
    asks = STOCK_ASKS / (time.perf_counter() - began)
    began = time.perf_counter()
    for i in range(STOCK_TELLS):
        actors[i % count].tell((1,))
    assert sum(int(str(actor.ask("seen"))) for actor in actors) == STOCK_TELLS
    tells = STOCK_TELLS / (time.perf_counter() - began)
    return {"ask": asks, "tell": tells, "kib": memory / 1024, "spawn": count / spawned}


def run() -> None:
    """Measure both sides, one after the other, and print the tables."""
    for count in ACTORS:
        a, b = _measure("ours", count), _measure("stock", count)
        many = count == ACTORS[0]
        rows = [
            Row(what, f"{a[key]:,.0f} against {b[key]:,.0f}", f"{a[key] / b[key]:.1f}x", aim if many else "")
            for what, key, aim in (
                ("ask, round trips/s", "ask", "≥ 4x"),
                ("tell, handled/s", "tell", "≥ 4x"),
                ("start/s", "spawn", ""),
            )
        ]
        if many:
            rows.append(Row("memory each", f"{a['kib']:.1f} KiB against {b['kib']:.1f} KiB", "", "≤ 12 KiB"))
            rows.append(Row("memory each, idle for a while", f"{a['rest']:.1f} KiB"))
        show(f"Actors, {count:,} alive, against pykka's ThreadingActor", rows)


def _measure(side: str, count: int) -> dict[str, float]:
    # os._exit: 10,000 threads are not worth joining.
    code = f"""
import json, os
from bench import actors
print(json.dumps(actors.{side}({count})), flush=True)
os._exit(0)
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(out.splitlines()[-1])
    return figures


if __name__ == "__main__":
    run()
