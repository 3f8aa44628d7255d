"""A signal that an execution is not wanted any more."""

from __future__ import annotations

import threading
from collections.abc import Callable

from whisk.commands.failure import PromptCancelledError

Disposer = Callable[[], None]


class Cancellation:
    """Set once, by whoever started the execution; read by the handler, from any thread or greenlet.

    `on_cancel` calls back at once when it is set already. Callbacks run in the caller of `cancel` and must not block.
    """

    __slots__ = ("_callbacks", "_cancelled", "_lock", "reason")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._cancelled = False
        self.reason = ""

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def cancel(self, reason: str = "") -> None:
        """Idempotent: the first reason stays."""
        with self._lock:
            if self._cancelled:
                return
            self._cancelled, self.reason = True, reason
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Disposer:
        """Returns what takes the callback back."""
        key = object()
        with self._lock:
            if not self._cancelled:
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def check(self) -> None:
        """Raise `PromptCancelledError` when it is set: for handlers that work in steps."""
        if self._cancelled:
            raise PromptCancelledError(self.reason or "the execution was cancelled")

    def _forget(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)
