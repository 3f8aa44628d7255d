"""The base of every actor: a pykka actor on a greenlet whose failures stay its own.

Public methods are messages. A `WhiskError` is a reply; any other exception, even a `BaseException`, ends this
incarnation and nothing else: pykka's own loop would stop every actor there is
(`pykka.Actor._actor_loop_running`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import gevent
import pykka
import structlog
from greenlet import GreenletExit
from pykka._envelope import Envelope
from pykka.messages import _ActorStop

from whisk.actors.future import Future
from whisk.actors.handle import Handle
from whisk.actors.inbox import Call, Inbox
from whisk.actors.timer import Timers
from whisk.clock import Clock
from whisk.errors import ActorCrashedError, ActorDeadError, DeadlineError, WhiskError

if TYPE_CHECKING:
    from whisk.actors.cell import Cell, Down
    from whisk.actors.system import ActorSystem

F = TypeVar("F", bound=Callable[..., Any])

TURN = 0.005
"""Seconds an actor may go on with queued messages before it lets the hub poll for input and timers."""

_CONTROL = "__whisk_control__"
_STOP = "_stop_requested"


def control(method: F) -> F:
    """Mark a message that is read before all ordinary ones and is never refused for a full inbox."""
    setattr(method, _CONTROL, True)
    return method


def is_control(cls: type[Actor], method: str) -> bool:
    return getattr(getattr(cls, method, None), _CONTROL, False)


class _Flag:
    """pykka wants a threading.Event here, of which it uses two methods; a real one costs a kilobyte an actor."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True


class Actor(pykka.Actor):
    """Subclass it, call `super().__init__()`, write public methods; `name`, `system`, `me` exist from `on_start` on."""

    _cell: Cell
    system: ActorSystem

    def __init__(self) -> None:
        # Not pykka's __init__: it makes a uuid and a threading.Event for each actor.
        self.actor_urn = f"urn:whisk:{id(self):x}"
        self.actor_inbox = None  # type: ignore[assignment]  # the cell's, given before the start
        self.actor_stopped = _Flag()  # type: ignore[assignment]
        self._actor_ref = pykka.ActorRef(self)
        self._greenlets: set[Any] | None = None
        self._owed: list[Future[Any]] | None = None
        self._timers: Timers | None = None
        self._log: Any = None

    # -- what an actor may use ----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._cell.name

    @property
    def me(self) -> Handle:
        return Handle(self._cell.name, self.system.node, self.system)

    @property
    def clock(self) -> Clock:
        return self.system.clock

    @property
    def log(self) -> Any:
        """A structured logger that names this actor."""
        if self._log is None:
            self._log = structlog.get_logger("whisk.actor").bind(actor=self._cell.name)
        return self._log

    @property
    def timers(self) -> Timers:
        """Keyed timers that arrive as messages and die with this incarnation."""
        if self._timers is None:
            self._timers = Timers(self.post)
        return self._timers

    def post(self, function: Callable[..., Any], *args: Any) -> None:
        """Run `function(*args)` as a message of this actor, before ordinary ones; callable from hub callbacks."""
        if not self.actor_stopped.is_set():
            label = getattr(function, "__name__", "post")
            call = Call(label, (function, *args), None, None, None, self.name, _now(), _POSTED)
            self._cell.inbox.put_control(call)

    def pipe(self, future: Future[Any], function: Callable[..., Any], *args: Any) -> None:
        """When `future` has an outcome, run `function(future, *args)` as a message of this actor."""
        future.then(lambda done: self.post(function, done, *args))

    def spawn_greenlet(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> gevent.Greenlet:
        """A greenlet that this actor owns: killed with it, and its failure is a crash of the actor."""
        greenlet = gevent.Greenlet(function, *args, **kwargs)
        greenlet.name = f"{self.name}/{getattr(function, '__name__', 'greenlet')}"
        if self._greenlets is None:
            self._greenlets = set()
        self._greenlets.add(greenlet)
        greenlet.link(self._greenlet_ended)
        greenlet.start()
        return greenlet

    def stop(self) -> None:
        """End normally after the messages that are queued now."""
        self.system.stop(self.name)

    def end(self) -> None:
        """End normally after the message in hand; whoever is queued is told that the actor ended before it answered.

        Its children must have ended before.
        """
        self.system.stop(self.name)
        self.actor_stopped.set()

    # -- hooks ---------------------------------------------------------------------------------------------------

    def on_down(self, down: Down) -> None:
        """A watched actor ended. Override to act; the default notes it in the log."""
        self.log.info("watched actor down", watched=down.name, reason=down.reason)

    def describe(self) -> dict[str, Any]:
        """More facts for `whisk actor show`. Called between messages of others, so it must be quick and not block."""
        return {}

    def may_passivate(self) -> bool:
        """Whether an idle actor that was given `idle_after` may end now."""
        return True

    # -- pykka's hooks -------------------------------------------------------------------------------------------

    @staticmethod
    def _create_actor_inbox() -> Any:
        return Inbox()

    @staticmethod
    def _create_future() -> Future[Any]:
        return Future()

    def _start_actor_loop(self, resumed: bool = False) -> None:
        greenlet = gevent.Greenlet(self._actor_loop, resumed)
        greenlet.whisk_cell = self._cell
        self._cell.greenlet = greenlet
        greenlet.start()

    def _actor_loop(self, resumed: bool = False) -> None:
        cell = self._cell
        reason: BaseException | None = None
        try:
            if not resumed:
                cell.busy, cell.busy_since = "on_start", _now()
                self.on_start()
                cell.busy = None
                cell.state = "draining" if cell.stopping else "alive"
            if self._serve(cell):
                # Two thirds of what an idle actor weighs are its greenlet; the next message gives it a new one.
                cell.greenlet = None
                cell.inbox.wake = partial(self._start_actor_loop, True)
                return
        except BaseException as error:  # noqa: BLE001  whatever it is ends this incarnation and no other actor
            reason = error
        cell.busy = None
        cell.deadline = None
        self.actor_stopped.set()
        if reason is None:
            reason = self._end(self.on_stop)
        else:
            failure = reason
            self._end(lambda: self.on_failure(type(failure), failure, failure.__traceback__))
        self._default(reason)
        self._release()
        self.system.exited(cell, self, reason)

    def _serve(self, cell: Cell) -> bool:
        """Handle messages until the actor is to end, or, if that is true, to rest."""
        inbox = cell.inbox
        now = _now()
        turn_ends = now + TURN
        while not self.actor_stopped.is_set():
            if inbox.empty():
                call = inbox.get()
                if call is None:
                    return True
                now = _now()
                turn_ends = now + TURN
            else:
                if now > turn_ends:
                    # sleep(0) would only run callbacks that are ready; this lets the loop poll. No message is in
                    # hand meanwhile, so a kill here loses none.
                    gevent.sleep(0.00001)
                    turn_ends = _now() + TURN
                call = inbox.get()
                now = _now()
            self._handle(cell, call, now)
        return False

    def _handle(self, cell: Cell, envelope: Envelope[Any], now: float) -> None:
        call = envelope if type(envelope) is Call else self._from_pykka(envelope)
        reply: Any = call.reply_to
        if call.method == _STOP:
            self.actor_stopped.set()
            return
        if reply is not None:
            if reply.done():
                return  # cancelled, or the caller's time ran out
            if call.deadline is not None and now > call.deadline:
                reply.set_error(DeadlineError(f"{cell.name} was too busy for {call.method} in time", actor=cell.name))
                return
        cell.received += 1
        cell.busy, cell.busy_since, cell.deadline = call.method, now, call.deadline
        try:
            if call.message is _POSTED:
                result = call.args[0](*call.args[1:])
            else:
                result = getattr(self, call.method)(*call.args, **(call.kwargs or {}))
        except WhiskError as refusal:
            cell.refused += 1
            if reply is not None:
                reply.set_error(refusal)
            else:
                self.log.info("message refused", message=call.method, sender=call.cause, refusal=refusal.message)
        except BaseException as error:
            cell.failed += 1
            if reply is not None:
                crash = ActorCrashedError(
                    f"{cell.name} failed in {call.method}: {type(error).__name__}: {error}", actor=cell.name
                )
                crash.__cause__ = error
                reply.set_error(crash)
            if not isinstance(error, GreenletExit):
                self.log.error("actor crashed", message=call.method, sender=call.cause, exc_info=error)
            raise
        else:
            if reply is not None:
                if isinstance(result, Future):
                    result.copy_to(reply)
                    # One that another actor owes has an outcome without us.
                    if not result.done() and result.target is None:
                        self._owe(result)
                else:
                    reply.set(result)
        finally:
            took = _now() - now
            cell.busy = cell.deadline = None
            cell.last_active = now + took
            if took > self.system.slow_after:
                cell.slow += 1
                self.log.warning("slow message", message=call.method, sender=call.cause, ms=round(took * 1000, 1))

    def _owe(self, promise: Future[Any]) -> None:
        """Remember what a reply was deferred to; promises that have been kept are dropped now and then."""
        owed = self._owed
        if owed is None:
            owed = self._owed = []
        elif len(owed) >= _OWED and len(owed) & (len(owed) - 1) == 0:
            owed[:] = [each for each in owed if not each.done()]
        owed.append(promise)

    def _from_pykka(self, envelope: Envelope[Any]) -> Call:
        """What came through a plain `pykka.ActorRef`: a stop, or a message for `on_receive`."""
        if isinstance(envelope.message, _ActorStop):
            stopped = self.system.stop(self.name)
            if isinstance(envelope.reply_to, Future):
                stopped.copy_to(envelope.reply_to)
            return Call("pykka_stop", (lambda: None,), None, None, None, None, _now(), _POSTED)
        return Call(
            "on_receive", (self.on_receive, envelope.message), None, envelope.reply_to, None, None, _now(), _POSTED
        )

    # -- the end -------------------------------------------------------------------------------------------------

    def _end(self, hook: Callable[[], None]) -> BaseException | None:
        try:
            hook()
        except BaseException as error:  # a failing last hook must not keep the actor registered
            self.log.error("actor failed while ending", exc_info=error)
            return error
        return None

    def _default(self, reason: BaseException | None) -> None:
        """Nobody will keep the promises that are still open, and no caller may wait for ever."""
        for promise in self._owed or ():
            if not promise.done():
                promise.set_error(
                    ActorDeadError(f"{self.name} ended before it answered", actor=self.name)
                    if reason is None or isinstance(reason, GreenletExit)
                    else ActorCrashedError(f"{self.name} failed before it answered: {reason!r}", actor=self.name)
                )
        self._owed = None

    def _release(self) -> None:
        if self._timers is not None:
            self._timers.cancel_all()
        for greenlet in list(self._greenlets or ()):
            greenlet.unlink(self._greenlet_ended)
            greenlet.kill(block=False)

    def _greenlet_ended(self, greenlet: gevent.Greenlet) -> None:
        if self._greenlets is not None:
            self._greenlets.discard(greenlet)
        error = greenlet.exception
        if error is not None:
            self.log.error("owned greenlet died", greenlet=greenlet.name, exc_info=error)
            self.post(self._crash, error)

    def _crash(self, error: BaseException) -> None:
        # Not the error itself: a refusal raised in a greenlet has nobody to be a reply to.
        raise RuntimeError(f"an owned greenlet died: {type(error).__name__}: {error}") from error


_OWED = 32
_POSTED = object()
_now = time.monotonic

BASE_NAMES = frozenset(name for name in dir(Actor) if not name.startswith("_"))
"""Names of the base class, which are not messages."""
