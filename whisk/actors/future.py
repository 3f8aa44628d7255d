"""Futures: the reply to a call, and Ray-style `get`, `wait` and `cancel`.

A future belongs to the hub's thread. The first outcome stays; later ones are ignored, so a reply and a time-out may
race without harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import pykka
from gevent import get_hub, getcurrent
from gevent.hub import Waiter
from pykka._future import _Unset

from whisk.errors import CancelledError, DeadlineError, WouldDeadlockError

if TYPE_CHECKING:
    from whisk.actors.cell import Cell

T = TypeVar("T")

ASK_TIMEOUT = 5.0
"""Seconds that a call lives when nobody says otherwise."""


class Future(pykka.Future[T]):
    """A value that is there now or later. `target` is the cell of the actor that owes it, when one does."""

    __slots__ = ("_callbacks", "_done", "_error", "_on_cancel", "_value", "target")

    # pykka's map/filter/join set a get hook on an instance; as class attributes the common case costs no memory.
    _get_hook: Any = None
    _get_hook_result: Any = _Unset()

    def __init__(self) -> None:
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] | None = None
        self._on_cancel: Callable[[], object] | None = None
        self.target: Cell | None = None

    def __repr__(self) -> str:
        state = "pending" if not self._done else f"failed {self._error!r}" if self._error else "ready"
        return f"<Future {state}>"

    def done(self) -> bool:
        return self._done

    def error(self) -> BaseException | None:
        """The exception it ended with, or None (also while it is pending)."""
        return self._error

    def set(self, value: Any = None) -> bool:  # type: ignore[override]  # pykka returns nothing and raises on a second call
        """Give the value; False when an outcome was there already."""
        return self._finish(value, None)

    def set_error(self, error: BaseException) -> bool:
        return self._finish(None, error)

    def set_exception(self, exc_info: Any = None) -> None:
        """pykka's form of `set_error`."""
        import sys

        error = (exc_info or sys.exc_info())[1]
        self._finish(None, error if error is not None else RuntimeError("set_exception without an exception"))

    def cancel(self) -> bool:
        """Give up: `CancelledError` for whoever waits, and whoever works on it is told. False when it was done."""
        if not self._finish(None, CancelledError("the call was cancelled")):
            return False
        notify, self._on_cancel = self._on_cancel, None
        if notify is not None:
            notify()
        return True

    def on_cancel(self, notify: Callable[[], object]) -> None:
        """Call `notify()` once if the future is cancelled; it must not block."""
        if self._done:
            if isinstance(self._error, CancelledError):
                notify()
        else:
            self._on_cancel = notify

    def then(self, callback: Callable[[Future[T]], object]) -> None:
        """Call `callback(self)` from the hub once there is an outcome. It must not block; use `Actor.pipe` to get
        the outcome as a message of your own instead."""
        if self._done:
            get_hub().loop.run_callback(callback, self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def forget(self, callback: Callable[[Future[T]], object]) -> None:
        """Take back a `then` that has not run."""
        if self._callbacks is not None and callback in self._callbacks:
            self._callbacks.remove(callback)

    def copy_to(self, other: Future[T]) -> None:
        """Give this outcome to `other` as soon as there is one, and a cancellation of `other` to this one."""
        if self._done:
            other._finish(self._value, self._error)
            return
        other.on_cancel(self.cancel)
        self.then(lambda done: other._finish(done._value, done._error))

    def get(self, *, timeout: float | None = None) -> T:
        """Wait for the outcome and return or raise it.

        Blocks the calling greenlet only. Raises `DeadlineError` after `timeout` seconds (None = no limit), and
        `WouldDeadlockError` at once when the actor that owes the reply is itself waiting for the caller.
        """
        if self._get_hook is not None:
            return super().get(timeout=timeout)
        if not self._done:
            self._wait(timeout)
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def _wait(self, timeout: float | None) -> None:
        hub = get_hub()
        current = getcurrent()
        if current is hub:
            raise RuntimeError("a hub callback must not block; use then() or a greenlet")
        caller: Cell | None = getattr(current, "whisk_cell", None)
        if caller is not None:
            timeout = caller.remaining(timeout)
            if self.target is not None:
                _check_cycle(caller, self.target)
                caller.waiting_on = self.target
        waiter = Waiter(hub)
        wake = waiter.switch
        self.then(wake)
        timer = None
        try:
            if timeout is not None:
                timer = hub.loop.timer(max(timeout, 0.0))
                timer.start(waiter.switch, None)
            waiter.get()
        finally:
            if timer is not None:
                timer.stop()
                timer.close()
            if caller is not None:
                caller.waiting_on = None
            if not self._done:
                self.forget(wake)
        if not self._done:
            owed_by = self.target.name if self.target is not None else "the future"
            raise DeadlineError(f"no reply from {owed_by} within {timeout:g} s", timeout=timeout, actor=owed_by)

    def _finish(self, value: Any, error: BaseException | None) -> bool:
        if self._done:
            return False
        self._done = True
        self._value = value
        self._error = error
        self.target = None
        callbacks, self._callbacks = self._callbacks, None
        if callbacks:
            run_callback = get_hub().loop.run_callback
            for callback in callbacks:
                run_callback(callback, self)
        return True


def _check_cycle(caller: Cell, target: Cell) -> None:
    """Follow who waits for whom from `target`; raise when it leads back to `caller`."""
    path = [caller.name, target.name]
    cell: Cell | None = target
    while cell is not None:
        if cell is caller:
            raise WouldDeadlockError(f"waiting would never end: {' -> '.join(path)}", path=path)
        cell = cell.waiting_on
        if cell is not None:
            path.append(cell.name)


@overload
def get(ref: Future[T], timeout: float | None = ASK_TIMEOUT) -> T: ...
@overload
def get(ref: Sequence[Future[T]], timeout: float | None = ASK_TIMEOUT) -> list[T]: ...
def get(ref: Future[Any] | Sequence[Future[Any]], timeout: float | None = ASK_TIMEOUT) -> Any:
    """The outcome of one future, or of many in order; `timeout` (seconds) is for all of them together."""
    if isinstance(ref, Future):
        return ref.get(timeout=timeout)
    wait(ref, num_returns=len(ref), timeout=timeout)
    # What is not done by now is out of time; a done one answers at once.
    return [future.get(timeout=0) for future in ref]


def wait(
    refs: Iterable[Future[Any]], *, num_returns: int = 1, timeout: float | None = None
) -> tuple[list[Future[Any]], list[Future[Any]]]:
    """Wait until `num_returns` of `refs` have an outcome or `timeout` seconds went by: (ready, pending), in order."""
    futures = list(refs)
    missing = num_returns - sum(future.done() for future in futures)
    if missing > 0:
        gate: Future[None] = Future()
        left = missing

        def count(_: Future[Any]) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                gate.set()

        pending = [future for future in futures if not future.done()]
        for future in pending:
            future.then(count)
        try:
            gate.get(timeout=timeout)
        except DeadlineError:
            pass
        finally:
            for future in pending:
                future.forget(count)
    return [f for f in futures if f.done()], [f for f in futures if not f.done()]


def cancel(ref: Future[Any]) -> bool:
    """Give up a call: a queued message is not handled any more, a running one is told; False when it was done."""
    return ref.cancel()
