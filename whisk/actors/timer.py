"""Keyed timers of one actor: starting a key again replaces it, and firing arrives as a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gevent import get_hub


class Timers:
    """Made by `Actor.timers`; `post` puts a call into the owner's inbox."""

    __slots__ = ("_post", "_running")

    def __init__(self, post: Callable[..., None]) -> None:
        self._post = post
        self._running: dict[str, Any] = {}

    def start(self, key: str, seconds: float, function: Callable[..., Any], *args: Any) -> None:
        """Run `function(*args)` as a message after `seconds`; a running timer of the same key is replaced."""
        self.cancel(key)
        timer = get_hub().loop.timer(max(seconds, 0.0))
        self._running[key] = timer
        timer.start(self._fire, key, timer, function, args)

    def cancel(self, key: str) -> bool:
        """Stop one; False when none of that key was running."""
        timer = self._running.pop(key, None)
        if timer is None:
            return False
        timer.stop()
        timer.close()
        return True

    def cancel_all(self) -> None:
        for key in list(self._running):
            self.cancel(key)

    def __contains__(self, key: str) -> bool:
        return key in self._running

    def _fire(self, key: str, timer: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        timer.close()
        if self._running.get(key) is timer:
            del self._running[key]
        self._post(function, *args)
