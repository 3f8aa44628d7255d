"""The actor system: names, the tree, supervision, death watch, dead letters and the drain.

All of it runs on the hub's thread. Other OS threads reach actors only through `offload` returning to a greenlet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar, overload

import gevent
import pykka
import structlog
from gevent import get_hub, getcurrent
from greenlet import GreenletExit

from whisk.actors.actor import _STOP, BASE_NAMES, Actor, is_control
from whisk.actors.cell import ActorInfo, ActorNode, Cell, Down, Spec
from whisk.actors.dead_letter import DeadLetter, DeadLetters
from whisk.actors.future import Future, get, wait
from whisk.actors.handle import Handle, attach_node, detach_node
from whisk.actors.inbox import Call
from whisk.actors.registry import install_registry
from whisk.actors.restart import RestartKind, RestartPolicy, Strategy
from whisk.clock import Clock, SystemClock
from whisk.errors import ActorDeadError, BusyError, ConflictError, InvalidError, NoSuchActorError
from whisk.values import Record

H = TypeVar("H", bound=Handle)

_now = time.monotonic
_MESSAGES: dict[type[Actor], dict[str, bool]] = {}

install_registry()


def messages_of(cls: type[Actor]) -> dict[str, bool]:
    """The public methods of an actor class that are its messages; the value says whether it is a control message."""
    known = _MESSAGES.get(cls)
    if known is None:
        names = [n for n in dir(cls) if not n.startswith("_") and n not in BASE_NAMES and callable(getattr(cls, n))]
        known = _MESSAGES[cls] = {name: is_control(cls, name) for name in names}
    return known


class DrainReport(Record, frozen=True):
    """What a drain ended, and what it had to kill because it did not end in time."""

    stopped: int
    left: tuple[ActorInfo, ...] = ()


class ActorSystem:
    """One local node of actors. `slow_after` is in seconds: a message that takes longer is logged and counted."""

    def __init__(
        self,
        node: str = "local",
        clock: Clock | None = None,
        *,
        slow_after: float = 0.25,
        dead_letters: int = 1000,
        sweep_every: float = 1.0,
    ) -> None:
        self.node = node
        self.clock: Clock = clock or SystemClock()
        self.slow_after = slow_after
        self.dead_letters = DeadLetters(dead_letters)
        self.log = structlog.get_logger("whisk.actors")
        self._cells: dict[str, Cell] = {}
        self._roots: dict[str, None] = {}
        self._sweep_every = sweep_every
        self._sweeper: Any = None
        self._helpers: set[gevent.Greenlet] = set()
        attach_node(self)

    # -- spawning and finding --------------------------------------------------------------------------------------

    @overload
    def spawn(self, cls: type[Actor], *args: Any, name: str, handle: type[H], **options: Any) -> H: ...
    @overload
    def spawn(self, cls: type[Actor], *args: Any, name: str, **options: Any) -> Handle: ...
    def spawn(
        self,
        cls: type[Actor],
        *args: Any,
        name: str,
        handle: type[Handle] = Handle,
        parent: str | Handle | None = None,
        labels: dict[str, str] | None = None,
        restart: RestartKind = "transient",
        max_restarts: int = 5,
        within: float = 10.0,
        backoff: float = 0.05,
        strategy: Strategy = "one_for_one",
        mailbox: int = 1000,
        idle_after: float | None = None,
        get_if_exists: bool = False,
        **kwargs: Any,
    ) -> Handle:
        """Start `cls(*args, **kwargs)` under `name` and return its handle at once; `on_start` runs in its greenlet.

        `mailbox` bounds the queue (0 = no bound); `idle_after` ends it after so many idle seconds; `strategy` is for
        its children. Raises `ConflictError` when the name is taken, unless `get_if_exists`.
        """
        if name in self._cells:
            if get_if_exists:
                return handle(name, self.node, self)
            raise ConflictError(f"an actor named {name} exists", actor=name)
        above = parent.name if isinstance(parent, Handle) else parent
        policy = RestartPolicy(restart, max_restarts, within, backoff)
        cell = Cell(name, Spec(cls, args, kwargs, policy, strategy, idle_after), above, labels, mailbox)
        actor = cls(*args, **kwargs)
        self._cells[name] = cell
        siblings = self._siblings(cell)
        siblings[name] = None
        self._begin(cell, actor)
        if self._sweeper is None:
            self._sweeper = get_hub().loop.timer(self._sweep_every, self._sweep_every, ref=False)
            self._sweeper.start(self._sweep)
        return handle(name, self.node, self)

    @overload
    def get(self, name: str) -> Handle: ...
    @overload
    def get(self, name: str, handle: type[H]) -> H: ...
    def get(self, name: str, handle: type[Handle] = Handle) -> Handle:
        """The handle of an existing actor; `NoSuchActorError` otherwise."""
        self._cell(name)
        return handle(name, self.node, self)

    @overload
    def find(self, name: str) -> Handle | None: ...
    @overload
    def find(self, name: str, handle: type[H]) -> H | None: ...
    def find(self, name: str, handle: type[Handle] = Handle) -> Handle | None:
        return handle(name, self.node, self) if name in self._cells else None

    def list(self, **labels: str) -> tuple[ActorInfo, ...]:
        """All actors that carry `labels`, by name."""
        return tuple(
            self._info(cell)
            for name, cell in sorted(self._cells.items())
            if all((cell.labels or {}).get(key) == value for key, value in labels.items())
        )

    def names(self) -> tuple[str, ...]:
        return tuple(self._cells)

    def describe(self, name: str) -> ActorInfo:
        return self._info(self._cell(name))

    def tree(self) -> tuple[ActorNode, ...]:
        """The roots with everything below them, each level in the order of starting."""
        return tuple(self._node(name) for name in self._roots)

    def _node(self, name: str) -> ActorNode:
        cell = self._cells[name]
        return ActorNode(actor=self._info(cell), children=tuple(self._node(child) for child in cell.children or ()))

    def _info(self, cell: Cell) -> ActorInfo:
        facts: dict[str, Any] = {}
        if cell.actor is not None and cell.state != "starting":
            try:
                facts = cell.actor.describe()
            except Exception as error:  # noqa: BLE001  a listing must not fail for one actor's broken description
                facts = {"describeError": repr(error)}
        return cell.info(self.node, facts)

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

    # -- messages --------------------------------------------------------------------------------------------------

    def submit(
        self, name: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], timeout: float | None
    ) -> Future[Any]:
        """Queue a call that wants a reply. Refusals come through the future. `Handle` is the friendly way in."""
        reply: Future[Any] = Future()
        cell = self._cells.get(name)
        if cell is None:
            reply.set_error(NoSuchActorError(f"no actor named {name}", actor=name))
            return reply
        if cell.state == "failed":
            reply.set_error(ActorDeadError(f"{name} has failed: {cell.last_error}", actor=name))
            return reply
        known = messages_of(cell.spec.cls)
        if method not in known:
            reply.set_error(_unknown(cell, method))
            return reply
        now = _now()
        deadline = None if timeout is None else now + timeout
        cause = None
        caller: Cell | None = getattr(getcurrent(), "whisk_cell", None)
        if caller is not None:
            cause = caller.name
            if deadline is not None and caller.deadline is not None:
                deadline = min(deadline, caller.deadline)
        reply.target = cell
        call = Call(method, args, kwargs or None, reply, deadline, cause, now)
        if known[method]:
            cell.inbox.put_control(call)
            return reply
        try:
            cell.inbox.put(call)
        except BusyError as error:
            reply.set_error(error)
        return reply

    def tell(self, name: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Queue a call without a reply; a missing actor makes it a dead letter, a full inbox is `BusyError`."""
        caller: Cell | None = getattr(getcurrent(), "whisk_cell", None)
        call = Call(method, args, kwargs or None, None, None, caller.name if caller is not None else None, _now())
        self._deliver(name, call)

    def _deliver(self, name: str, call: Call) -> None:
        cell = self._cells.get(name)
        if cell is None or cell.state == "failed":
            self._bury(name, call, "no such actor" if cell is None else "the actor has failed")
            return
        known = messages_of(cell.spec.cls)
        if call.method not in known:
            raise _unknown(cell, call.method)
        if known[call.method]:
            cell.inbox.put_control(call)
        else:
            cell.inbox.put(call)

    def _bury(self, name: str, call: Call, reason: str) -> None:
        letter = self.dead_letters.add(name, call, reason, self.clock.now())
        self.log.info("dead letter", to=name, message=call.method, reason=reason, letter=letter.id)

    def replay(self, letter_id: str) -> DeadLetter:
        """Send a dead letter again; raises `NotFoundError`, or `NoSuchActorError` when there is still nobody."""

        def send(to: str, call: Call) -> None:
            self._cell(to)
            self._deliver(to, call)

        return self.dead_letters.replay(letter_id, send)

    # -- life and death --------------------------------------------------------------------------------------------

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
        actor.system = self
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
        if cell.greenlet is None:
            self._finish(cell, "killed")
        else:
            cell.greenlet.kill(block=False)

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

    # -- housekeeping ----------------------------------------------------------------------------------------------

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

    def _sweep(self) -> None:
        """Once a second: message rates, and the end of actors that were idle for long enough."""
        now = _now()
        for cell in list(self._cells.values()):
            cell.rate = (cell.received - cell.rate_mark) / self._sweep_every
            cell.rate_mark = cell.received
            idle_after = cell.spec.idle_after
            if (
                idle_after is not None
                and cell.state == "alive"
                and cell.busy is None
                and not cell.children
                and cell.inbox.empty()
                and now - cell.last_active >= idle_after
                and cell.actor is not None
                and cell.actor.may_passivate()
            ):
                cell.stopping = True
                cell.state = "draining"
                cell.inbox.put_last(Call(_STOP, (), None, None, None, None, now))

    # -- the end ---------------------------------------------------------------------------------------------------

    def drain(self, phases: Iterable[Sequence[str]] = (), timeout: float = 10.0) -> DrainReport:
        """End everything in order: each phase is a list of names or patterns (`session:*`), then all that is left.

        Waits at most `timeout` seconds in all, then kills what has not ended and reports it. Blocks the greenlet.
        """
        ends = _now() + timeout
        before = len(self._cells)
        steps = [*phases, ("*",)]
        for number, patterns in enumerate(steps):
            # An early phase must not eat the time of the later ones, which flush to the disk.
            share = (ends - _now()) / (len(steps) - number)
            waiting = [self.stop(name) for name in self._matching(patterns)]
            wait(waiting, num_returns=len(waiting), timeout=max(share, 0.0))
        left = self.list()
        for info in left:
            if info.name in self._cells:
                self.kill(info.name)
        if left:
            self.log.warning("drain had to kill actors", actors=[info.name for info in left])
        gevent.sleep(0)
        return DrainReport(stopped=before - len(left), left=left)

    def _matching(self, patterns: Sequence[str]) -> Iterator[str]:
        for name in reversed(list(self._cells)):
            cell = self._cells.get(name)
            # A parent ends its children itself, so only the topmost of each match is asked.
            if cell is not None and any(fnmatchcase(name, p) for p in patterns):
                above = cell.parent
                if above is None or above not in self._cells or not any(fnmatchcase(above, p) for p in patterns):
                    yield name

    def close(self, timeout: float = 10.0) -> DrainReport:
        """Drain, and let go of the node name and the sweeper."""
        report = self.drain(timeout=timeout)
        if self._sweeper is not None:
            self._sweeper.stop()
            self._sweeper.close()
            self._sweeper = None
        for greenlet in list(self._helpers):
            greenlet.kill(block=False)
        detach_node(self)
        return report


def _unknown(cell: Cell, method: str) -> InvalidError:
    kind = cell.spec.cls.__name__
    return InvalidError(f"{kind} has no message {method!r}", actor=cell.name, known=sorted(messages_of(cell.spec.cls)))


def _say(reason: BaseException) -> str:
    return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__


__all__ = ["ActorSystem", "DrainReport", "get", "messages_of"]
