"""The actor system: names, the tree, supervision, death watch, dead letters and the drain.

All of it runs on the hub's thread. Other OS threads reach actors only through `offload` returning to a greenlet.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar, overload

import gevent
import structlog
from gevent import get_hub, getcurrent

from whisk.actors.actor import _STOP, BASE_NAMES, Actor, is_control
from whisk.actors.cell import ActorInfo, ActorNode, Cell, Spec
from whisk.actors.dead_letter import DeadLetter, DeadLetters
from whisk.actors.future import Future, wait
from whisk.actors.handle import Handle, attach_node, detach_node
from whisk.actors.inbox import Call
from whisk.actors.lifecycle import Lifecycle
from whisk.actors.registry import install_registry
from whisk.actors.restart import RestartKind, RestartPolicy, Strategy
from whisk.clock import Clock, SystemClock
from whisk.errors import ActorDeadError, BusyError, ConflictError, InvalidError, NoSuchActorError
from whisk.values import Record

H = TypeVar("H", bound=Handle)

# Each costs the hub some microseconds, and a thousand fall idle at once when nobody speaks any more.
RESTS_AT_ONCE = 500

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


class ActorSystem(Lifecycle):
    """One local node of actors.

    Times are in seconds: a message that takes longer than `slow_after` is logged and counted; an actor to which nobody
    has spoken for `rest_after` gives up its greenlet until somebody does.
    """

    def __init__(
        self,
        node: str = "local",
        clock: Clock | None = None,
        *,
        slow_after: float = 0.25,
        rest_after: float = 1.0,
        dead_letters: int = 1000,
        sweep_every: float = 1.0,
    ) -> None:
        super().__init__()
        self.node = node
        self.clock: Clock = clock or SystemClock()
        self.slow_after = slow_after
        self.rest_after = rest_after
        self.dead_letters = DeadLetters(dead_letters)
        self.log = structlog.get_logger("whisk.actors")
        self._sweep_every = sweep_every
        self._sweeper: Any = None
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

    def replay(self, letter_id: str) -> DeadLetter:
        """Send a dead letter again; raises `NotFoundError`, or `NoSuchActorError` when there is still nobody."""

        def send(to: str, call: Call) -> None:
            self._cell(to)
            self._deliver(to, call)

        return self.dead_letters.replay(letter_id, send)

    # -- housekeeping --------------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Once a second: message rates, and the rest or the end of actors that were idle for long enough."""
        now = _now()
        may_rest = RESTS_AT_ONCE
        for cell in list(self._cells.values()):
            cell.rate = (cell.received - cell.rate_mark) / self._sweep_every
            cell.rate_mark = cell.received
            if cell.state != "alive" or cell.busy is not None or not cell.inbox.empty():
                continue
            idle, idle_after = now - cell.last_active, cell.spec.idle_after
            if (
                idle_after is not None
                and idle >= idle_after
                and not cell.children
                and cell.actor is not None
                and cell.actor.may_passivate()
            ):
                cell.stopping = True
                cell.state = "draining"
                cell.inbox.put_last(Call(_STOP, (), None, None, None, None, now))
            elif idle >= self.rest_after and cell.greenlet is not None and may_rest:
                may_rest -= 1
                cell.inbox.send_to_rest()

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


__all__ = ["ActorSystem", "DrainReport", "messages_of"]
