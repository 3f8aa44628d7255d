"""Handles: how anyone speaks to an actor. A handle is a name and a node; it finds the living actor at each use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from whisk.actors.future import ASK_TIMEOUT, Future
from whisk.errors import UnavailableError

if TYPE_CHECKING:
    from whisk.actors.system import ActorSystem

P = ParamSpec("P")
T = TypeVar("T")

_NODES: dict[str, ActorSystem] = {}


def attach_node(system: ActorSystem) -> None:
    """Let handles that name `system.node` reach it; a later system of the same name takes its place."""
    _NODES[system.node] = system


def detach_node(system: ActorSystem) -> None:
    if _NODES.get(system.node) is system:
        del _NODES[system.node]


class Method(Generic[P, T]):
    """One message of one actor: `handle.method.remote(…)` for a reply, `handle.method.tell(…)` for none."""

    __slots__ = ("_handle", "_name", "_timeout")

    def __init__(self, handle: Handle, name: str, timeout: float | None = ASK_TIMEOUT) -> None:
        self._handle = handle
        self._name = name
        self._timeout = timeout

    def remote(self, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send it and return the future reply; never blocks, and a full inbox is `BusyError` in the future."""
        return self._handle._system().submit(self._handle.name, self._name, args, kwargs, self._timeout)

    def tell(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Send it without a reply. Raises `BusyError` when the inbox is full; what finds no actor is a dead letter."""
        self._handle._system().tell(self._handle.name, self._name, args, kwargs)

    def options(self, *, timeout: float | None) -> Method[P, T]:
        """The same message with another life time (seconds; None = no limit)."""
        return Method(self._handle, self._name, timeout)


class Handle:
    """`(name, node)`: picklable, comparable, location-transparent. Subclass it with `Method` annotations to type it."""

    __slots__ = ("_local", "name", "node")

    def __init__(self, name: str, node: str = "local", system: ActorSystem | None = None) -> None:
        self.name = name
        self.node = node
        self._local = system

    def __getattr__(self, method: str) -> Method[..., Any]:
        if method.startswith("_"):
            raise AttributeError(method)
        return Method(self, method)

    def _system(self) -> ActorSystem:
        system = self._local if self._local is not None else _NODES.get(self.node)
        if system is None:
            raise UnavailableError(f"no node {self.node!r} is running here", node=self.node, actor=self.name)
        return system

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name, self.node))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and (self.name, self.node) == (other.name, other.node)

    def __hash__(self) -> int:
        return hash((self.name, self.node))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.node}:{self.name}>"
