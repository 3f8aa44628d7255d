"""Life and death of actors: incarnations, restarts, graceful stops, kills and the death watch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import gevent
import pykka
from gevent import get_hub
from greenlet import GreenletExit

from whisk.actors.actor import _STOP, Actor
from whisk.actors.cell import Cell, Down
from whisk.actors.future import Future
from whisk.actors.handle import Handle
from whisk.actors.inbox import Call
from whisk.errors import ActorDeadError, NoSuchActorError

if TYPE_CHECKING:
    from whisk.actors.dead_letter import DeadLetters
    from whisk.actors.system import ActorSystem
    from whisk.clock import Clock

_now = time.monotonic


class Lifecycle:
    """The half of `ActorSystem` that begins, ends and begins again; it does not know how messages are sent."""

    clock: Clock
    dead_letters: DeadLetters
    log: Any

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self._roots: dict[str, None] = {}
        self._helpers: set[gevent.Greenlet] = set()

    def _cell(self, name: str) -> Cell:
        try:
            return self._cells[name]
        except KeyError:
            raise NoSuchActorError(f"no actor named {name}", actor=name) from None

    def _siblings(self, cell: Cell) -> dict[str, None]:
        parent = self._cells.get(cell.parent) if cell.parent is not None else None
        if parent is None:
            return self._roots
        if parent.children is None:
            parent.children = {}
        return parent.children

    def _bury(self, name: str, call: Call, reason: str) -> None:
        letter = self.dead_letters.add(name, call, reason, self.clock.now())
        self.log.info("dead letter", to=name, message=call.method, reason=reason, letter=letter.id)

    def _begin(self, cell: Cell, actor: Actor | None = None) -> None:
        """Start an incarnation; what fails here is a crash like any other."""
        cell.halted = None
        try:
            if actor is None:
                actor = cell.spec.cls(*cell.spec.args, **cell.spec.kwargs)
        except Exception as error:  # noqa: BLE001  a constructor that fails on a restart counts as one more crash
            self._crashed(cell, error)
            return
        actor._cell = cell
        actor.system = cast("ActorSystem", self)
        actor.actor_inbox = cell.inbox
        actor._actor_ref = pykka.ActorRef(actor)
        cell.actor = actor
        cell.incarnation += 1
        cell.state = "starting"
        cell.started_at = int(self.clock.now())
        cell.last_active = _now()
        pykka.ActorRegistry.register(actor.actor_ref)
        actor._start_actor_loop()

    def exited(self, cell: Cell, actor: Actor, reason: BaseException | None) -> None:
        """Called by the actor's loop as its last act."""
        pykka.ActorRegistry.unregister(actor.actor_ref)
        cell.actor = cell.greenlet = None
        if cell.halted is not None:
            cell.state = "restarting"
            cell.halted.set()
        elif isinstance(reason, GreenletExit):
            self._finish(cell, "killed")
        elif cell.stopping and cell.spec.idle_after is not None and not cell.stop_waiters and not cell.inbox.empty():
            # A message slipped in behind the stop of an idle actor: it is wanted after all.
            cell.stopping = False
            self._begin(cell)
        elif cell.stopping or (reason is None and cell.spec.policy.kind != "permanent"):
            if reason is not None:
                cell.last_error = _say(reason)
            self._finish(cell, "stopped" if reason is None else f"crashed while stopping: {_say(reason)}")
        else:
            self._crashed(cell, reason or RuntimeError("ended by itself"))

    def _crashed(self, cell: Cell, reason: BaseException) -> None:
        now = _now()
        cell.last_error = _say(reason)
        crashes = cell.spec.policy.remembered([*(cell.crashes or ()), now], now)
        cell.crashes = crashes
        delay = cell.spec.policy.after_crash(crashes, now)
        if delay is None:
            cell.state = "failed"
            self.log.error("actor given up", actor=cell.name, crashes=len(crashes), error=cell.last_error)
            self._reject_queued(cell, f"failed: {cell.last_error}")
            self._notify(cell, f"failed: {cell.last_error}", restarting=False)
            parent = self._cells.get(cell.parent) if cell.parent else None
            if parent is not None:
                self._tell_down(parent, cell, f"failed: {cell.last_error}")
            if cell.spec.policy.kind == "temporary":
                self._finish(cell, f"crashed: {cell.last_error}", notify=False)
            return
        cell.state = "restarting"
        cell.restarts += 1
        self._notify(cell, f"crashed: {cell.last_error}", restarting=True)
        parent = self._cells.get(cell.parent) if cell.parent else None
        if parent is not None and parent.spec.strategy == "rest_for_one":
            self._helper(self._restart_rest, cell, delay)
        else:
            self._helper(self._begin_later, cell, delay)

    def _begin_later(self, cell: Cell, delay: float) -> None:
        gevent.sleep(delay)
        self._begin_again(cell)

    def _begin_again(self, cell: Cell) -> None:
        if self._cells.get(cell.name) is cell and cell.state == "restarting" and cell.actor is None:
            self._begin(cell)

    def _restart_rest(self, cell: Cell, delay: float) -> None:
        """Rest-for-one: siblings started after `cell` end youngest first, and start again after it in order."""
        siblings = list(self._siblings(cell))
        younger = [self._cells[name] for name in siblings[siblings.index(cell.name) + 1 :]]
        for sibling in reversed(younger):
            self._halt(sibling).get()
        gevent.sleep(delay)
        for each in (cell, *younger):
            self._begin_again(each)

    def _halt(self, cell: Cell) -> Future[None]:
        """End this incarnation after its present message, keep what is queued, and wait to be begun again."""
        ended: Future[None] = Future()
        if cell.actor is None:
            if cell.state == "failed":
                cell.state = "restarting"
            ended.set()
            return ended
        if cell.halted is not None:
            cell.halted.copy_to(ended)
            return ended
        cell.halted = ended
        cell.inbox.put_control(Call(_STOP, (), None, None, None, None, _now()))
        return ended

    def restart(self, name: str) -> Future[None]:
        """End the incarnation and start another with the queued messages; revives a failed actor too."""
        cell = self._cell(name)
        done: Future[None] = Future()

        def run() -> None:
            self._halt(cell).get()
            cell.crashes = None
            cell.restarts += 1
            self._begin_again(cell)
            done.set()

        self._helper(run)
        return done

    def stop(self, name: str) -> Future[None]:
        """End gracefully: children first, youngest first, then whatever is queued, then the actor."""
        cell = self._cell(name)
        done: Future[None] = Future()
        if cell.stop_waiters is None:
            cell.stop_waiters = []
        cell.stop_waiters.append(done)
        if cell.stopping:
            return done
        cell.stopping = True
        if cell.state == "alive":
            cell.state = "draining"
        if cell.children:
            self._helper(self._stop_below, cell)
        else:
            self._stop_queued(cell)
        return done

    def _stop_below(self, cell: Cell) -> None:
        while cell.children:
            youngest = next(reversed(cell.children))
            self.stop(youngest).get()
        self._stop_queued(cell)

    def _stop_queued(self, cell: Cell) -> None:
        if cell.actor is None:
            self._finish(cell, "stopped")
        else:
            cell.inbox.put_last(Call(_STOP, (), None, None, None, None, _now()))

    def kill(self, name: str) -> None:
        """End it at once, in the middle of a message if need be; queued messages become dead letters."""
        cell = self._cell(name)
        cell.stopping = True
        greenlet = cell.greenlet
        if greenlet is None:
            if cell.actor is None:
                self._finish(cell, "killed")
            else:
                # At rest: it needs a greenlet once more, to end as the others do.
                cell.actor.post(_exit)
            return
        greenlet.kill(block=False)
        if greenlet.ready() and cell.actor is not None:
            # It had not begun to run, so its loop will never say that it has ended.
            self.exited(cell, cell.actor, GreenletExit())

    def _finish(self, cell: Cell, reason: str, *, notify: bool = True) -> None:
        if self._cells.get(cell.name) is not cell:
            return
        cell.state = "stopped"
        for child in reversed(list(cell.children or ())):
            # Only after a kill: a graceful stop has ended them before.
            self.stop(child)
        del self._cells[cell.name]
        self._siblings(cell).pop(cell.name, None)
        for orphan in cell.children or ():
            self._cells[orphan].parent = None
            self._roots[orphan] = None
        self._reject_queued(cell, reason)
        for waiter in cell.stop_waiters or ():
            waiter.set()
        if notify:
            self._notify(cell, reason, restarting=False)

    def _reject_queued(self, cell: Cell, reason: str) -> None:
        for call in cell.inbox.take_all():
            if call.reply_to is not None:
                call.reply_to.set_error(ActorDeadError(f"{cell.name} {reason} before it answered", actor=cell.name))
            elif isinstance(call, Call) and call.method not in (_STOP, "on_down") and call.message is None:
                self._bury(cell.name, call, reason)

    # -- death watch -----------------------------------------------------------------------------------------------

    def watch(self, name: str, watcher: Handle | Callable[[Down], None]) -> Callable[[], None]:
        """Tell `watcher` (its `on_down`, or the function, which must not block) when `name` ends or crashes.

        A name that does not exist is reported at once. Returns the undo.
        """
        cell = self._cells.get(name)
        if cell is None:
            self._send_down(watcher, Down(name=name, incarnation=0, reason="no such actor"))
            return lambda: None
        if cell.watchers is None:
            cell.watchers = {}
        token = object()
        cell.watchers[token] = watcher

        def undo() -> None:
            if cell.watchers is not None:
                cell.watchers.pop(token, None)

        return undo

    def _notify(self, cell: Cell, reason: str, *, restarting: bool) -> None:
        down = Down(name=cell.name, incarnation=cell.incarnation, reason=reason, restarting=restarting)
        for watcher in list((cell.watchers or {}).values()):
            self._send_down(watcher, down)

    def _send_down(self, watcher: Handle | Callable[[Down], None], down: Down) -> None:
        if not isinstance(watcher, Handle):
            get_hub().loop.run_callback(watcher, down)
        elif (cell := self._cells.get(watcher.name)) is not None:
            cell.inbox.put_control(Call("on_down", (down,), None, None, None, None, _now()))

    def _tell_down(self, parent: Cell, cell: Cell, reason: str) -> None:
        down = Down(name=cell.name, incarnation=cell.incarnation, reason=reason)
        parent.inbox.put_control(Call("on_down", (down,), None, None, None, None, _now()))

    # -- helpers ----------------------------------------------------------------------------------------------------

    def _helper(self, function: Callable[..., None], *args: Any) -> None:
        """A short-lived greenlet of the kernel."""
        greenlet = gevent.Greenlet(function, *args)
        greenlet.name = f"kernel/{function.__name__}"
        self._helpers.add(greenlet)
        greenlet.link(self._helper_ended)
        greenlet.start()

    def _helper_ended(self, greenlet: gevent.Greenlet) -> None:
        self._helpers.discard(greenlet)
        if greenlet.exception is not None:
            self.log.error("kernel greenlet died", greenlet=greenlet.name, exc_info=greenlet.exception)


def _exit() -> None:
    raise GreenletExit


def _say(reason: BaseException) -> str:
    return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__
