"""A daemon that is killed, as far as one process can play it."""

from __future__ import annotations

import gevent

from whisk.actors.system import ActorSystem
from whisk.storage.database import Store


def crash(system: ActorSystem, store: Store) -> None:
    """Like kill -9: nothing is drained, nothing is said; what is committed is there."""
    for name in system.names():
        system.kill(name)
    with gevent.Timeout(10):
        gevent.sleep(0)
        # The thread that writes cannot be killed: its group is committed, or was not begun.
        while store.writer.in_transaction():
            gevent.sleep(0.001)  # why: nothing tells the end of a thread whose actor is gone
    store.close()
