"""What outlives one incarnation of an actor: its name, place in the tree, inbox, counters and restart history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from whisk.actors.inbox import Inbox
from whisk.actors.restart import RestartPolicy, Strategy
from whisk.clock import Instant
from whisk.values import Record

if TYPE_CHECKING:
    from whisk.actors.actor import Actor
    from whisk.actors.handle import Handle

State = Literal["starting", "alive", "restarting", "draining", "stopped", "failed"]


class Down(Record, frozen=True):
    """A watched actor ended (or crashed and is being restarted, then `restarting` is true)."""

    name: str
    incarnation: int
    reason: str
    restarting: bool = False


class ActorInfo(Record, frozen=True):
    """One actor as it is listed. Times in the names are milliseconds; `rate` is messages per second of late."""

    name: str
    kind: str
    node: str
    state: State
    incarnation: int
    queue: int
    queue_high: int
    received: int
    refused: int
    failed: int
    restarts: int
    rate: float
    started_at: Instant
    parent: str | None = None
    labels: dict[str, str] = {}
    oldest_ms: float | None = None
    busy: str | None = None
    busy_ms: float | None = None
    slow: int = 0
    last_error: str | None = None
    facts: dict[str, Any] = {}


class ActorNode(Record, frozen=True):
    """An actor with those below it, in the order in which they were started."""

    actor: ActorInfo
    children: tuple[ActorNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Spec:
    """How to make an incarnation, and the rules for it."""

    cls: type[Actor]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    policy: RestartPolicy
    strategy: Strategy
    idle_after: float | None


class Cell:
    """The kernel's own record of an actor; only the kernel and the actor base class touch it."""

    __slots__ = (
        "actor",
        "busy",
        "busy_since",
        "children",
        "crashes",
        "deadline",
        "failed",
        "greenlet",
        "halted",
        "inbox",
        "incarnation",
        "labels",
        "last_active",
        "last_error",
        "name",
        "parent",
        "rate",
        "rate_mark",
        "received",
        "refused",
        "restarts",
        "slow",
        "spec",
        "started_at",
        "state",
        "stop_waiters",
        "stopping",
        "waiting_on",
        "watchers",
    )

    def __init__(self, name: str, spec: Spec, parent: str | None, labels: dict[str, str] | None, bound: int) -> None:
        self.name = name
        self.spec = spec
        self.parent = parent
        self.labels = labels
        self.inbox = Inbox(name, bound)
        self.actor: Actor | None = None
        self.greenlet: Any = None
        self.state: State = "starting"
        self.incarnation = 0
        self.children: dict[str, None] | None = None
        self.watchers: dict[Any, Handle | Callable[[Down], None]] | None = None
        self.stop_waiters: list[Any] | None = None
        self.stopping = False
        self.halted: Any = None  # the future of whoever waits for this incarnation to end and wants another
        self.waiting_on: Cell | None = None
        self.deadline: float | None = None
        self.busy: str | None = None
        self.busy_since = 0.0
        self.last_active = time.monotonic()
        self.received = 0
        self.refused = 0
        self.failed = 0
        self.restarts = 0
        self.slow = 0
        self.crashes: list[float] | None = None
        self.last_error: str | None = None
        self.started_at = 0
        self.rate = 0.0
        self.rate_mark = 0

    def remaining(self, timeout: float | None) -> float | None:
        """`timeout` cut down to what is left of the call that this actor is handling now."""
        if self.deadline is None:
            return timeout
        left = max(self.deadline - time.monotonic(), 0.0)
        return left if timeout is None else min(timeout, left)

    def info(self, node: str, facts: dict[str, Any]) -> ActorInfo:
        now = time.monotonic()
        oldest = self.inbox.oldest()
        return ActorInfo(
            name=self.name,
            kind=self.spec.cls.__name__,
            node=node,
            state=self.state,
            incarnation=self.incarnation,
            parent=self.parent,
            labels=dict(self.labels or {}),
            queue=self.inbox.qsize(),
            queue_high=self.inbox.high,
            oldest_ms=None if oldest is None else round((now - oldest) * 1000, 3),
            received=self.received,
            refused=self.refused,
            failed=self.failed,
            restarts=self.restarts,
            rate=round(self.rate, 1),
            busy=self.busy,
            busy_ms=None if self.busy is None else round((now - self.busy_since) * 1000, 3),
            slow=self.slow,
            last_error=self.last_error,
            started_at=Instant(self.started_at),
            facts=facts,
        )
