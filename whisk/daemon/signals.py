"""Signals set a flag; the main greenlet acts. No work is ever done inside a handler."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event


class Signals:
    """`stop` is set by the first SIGTERM or SIGINT, `hurry` by the second: the person does not want to wait."""

    def __init__(self, on_hangup: Callable[[], None] | None) -> None:
        self.stop = Event()
        self.hurry = Event()
        self._on_hangup = on_hangup
        self._watchers: list[Any] = []

    def install(self) -> None:
        """Start watching. Without `on_hangup` a hang-up ends the daemon, as the end of its terminal should."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._watchers.append(gevent.signal_handler(number, self.ask_stop))
        self._watchers.append(gevent.signal_handler(signal.SIGHUP, self._on_hangup or self.ask_stop))
        # A client that goes away in the middle of a reply is an error of one write, not the end of the daemon.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def remove(self) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        self._watchers.clear()

    def ask_stop(self) -> None:
        (self.hurry if self.stop.is_set() else self.stop).set()
