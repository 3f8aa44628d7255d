"""The daemon as it is, started with something about it changed or watched. For benchmarks only.

    python -m bench.variant [--unstored] [--lag=FILE] [--sample=FILE] <options of whiskd>

`--unstored`: a message is answered as soon as the journal sees it, and nothing of it reaches the database. What is left
is the route: HTTP, JSON, the post office, the reply.
`--lag`: how late the hub's timers ran: a JSON list of pairs (monotonic time, seconds late), written at the end.
`--sample`: where the hub's thread was, a thousand times a second of its own time; the places are counted at the end.
"""

from __future__ import annotations

import atexit
import json
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

LAG_SECONDS = 0.005
_DEPTH = 40


def unstore() -> None:
    from whisk.actors import post_office
    from whisk.actors.journal import JournalActor
    from whisk.mail.message import MailRecipient
    from whisk.storage import mail
    from whisk.storage.mail import Stored
    from whisk.storage.mail_row import message_of

    def insert(_: Any, draft: Any, to: Any, *, id: str, now: Any, **_more: Any) -> Stored:
        recipients = [MailRecipient(address=address) for address in to]
        return Stored(message_of(draft, recipients, (), id, draft.thread_id or id, now), False)

    stored = JournalActor.write

    def write(self: JournalActor, operation: Any) -> Any:
        of_mail = operation.__module__ == post_office.__name__
        return operation(None) if of_mail else stored(self, operation)

    mail.insert = insert  # type: ignore[assignment]
    JournalActor.write = write  # type: ignore[method-assign, assignment]


def watch_lag(path: Path) -> None:
    from gevent import get_hub

    late: list[tuple[float, float]] = []
    timer = get_hub().loop.timer(LAG_SECONDS, LAG_SECONDS, ref=False)
    last = time.monotonic()

    def tick() -> None:
        nonlocal last
        now = time.monotonic()
        late.append((now, max(now - last - LAG_SECONDS, 0.0)))
        last = now

    timer.start(tick)
    atexit.register(lambda: path.write_text(json.dumps(late)))


def sample(path: Path) -> None:
    places: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        stack: list[str] = []
        while frame is not None and len(stack) < _DEPTH:
            code = frame.f_code
            stack.append(f"{Path(code.co_filename).parent.name}/{Path(code.co_filename).name}:{code.co_qualname}")
            frame = frame.f_back
        places[";".join(reversed(stack))] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)

    def tell() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        path.write_text("\n".join(f"{stack} {count}" for stack, count in places.most_common()))

    atexit.register(tell)


def main() -> int:
    given = sys.argv[1:]
    rest = []
    for word in given:
        name, _, value = word.partition("=")
        if name == "--unstored":
            unstore()
        elif name == "--lag":
            watch_lag(Path(value))
        elif name == "--sample":
            sample(Path(value))
        else:
            rest.append(word)
    from whisk.daemon.main import main as daemon

    return daemon(rest)


if __name__ == "__main__":
    sys.exit(main())
