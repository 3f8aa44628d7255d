"""The link to the process that holds the terminals (whisk.ptyhost): starts it when first needed, and finds it again.

The host outlives the daemon. While it is there, every terminal's descriptor and exit can be had from it; when it dies,
the terminals that the daemon has open go on, but how their children end is not known any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gevent.lock import BoundedSemaphore

from whisk.actors.actor import Actor
from whisk.actors.executable import find_executable
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.offload import offload
from whisk.actors.pty_link import LOST, Descriptor, HostHello, HostLink, HostPaths, Reply, connect
from whisk.errors import ConflictError, NotFoundError, SpawnError, UnavailableError, WhiskError
from whisk.storage import terminal as storage
from whisk.storage.database import Store
from whisk.terminal.pty import PtySpec

_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_GOODBYE_SECONDS = 1.0
_ANSWER_SECONDS = 5.0


class Spawned(NamedTuple):
    """A started child, and the master of its terminal: take it, or it is closed again."""

    pid: int
    descriptor: Descriptor


class Adopted(NamedTuple):
    """A child that the host holds. Once it has ended, `code` or `signal` says how."""

    pid: int
    ended: bool
    code: int | None
    signal: int | None
    descriptor: Descriptor


class HostChild(NamedTuple):
    key: str
    pid: int
    ended: bool
    code: int | None
    signal: int | None


class PtyHostActor(Actor):
    """Named `pty-host`. Exits are told to `pty:<key>` as `exited`, the host's death to every `pty:…` as `host_lost`."""

    def __init__(self, paths: HostPaths, idle: float | None = None, descriptors: int | None = None) -> None:
        """`idle` (seconds) and `descriptors` are options of a host that is started; see `whisk.ptyhost`."""
        super().__init__()
        self._paths = paths
        given = {"--idle": idle, "--descriptors": descriptors}
        self._options = [word for name, value in given.items() if value is not None for word in (name, str(value))]
        self._link: HostLink | None = None
        self._hello: HostHello | None = None
        self._opening = BoundedSemaphore(1)
        self._exits = 0
        self._losses = 0

    def on_start(self) -> None:
        self._catch_up()

    def on_stop(self) -> None:
        """Leave; a host that holds nothing is asked to end at once instead of a little later."""
        if self._link is not None:
            try:
                self._ask({"op": "shutdown"}, lambda reply: None).get(timeout=_GOODBYE_SECONDS)
            except WhiskError as error:
                self.log.info("the pty host stays", why=error.message)
            self._close()

    def on_failure(self, *_: object) -> None:
        self._close()

    def spawn(self, key: str, spec: PtySpec) -> Future[Spawned]:
        """Start the child of `spec` and call it `key`. Refusals: `SpawnError`, `ConflictError` (the key is in use),
        `UnavailableError` (no host, and none could be started).
        """
        future: Future[Spawned] = Future()
        self.spawn_greenlet(self._spawn, key, spec, future)
        return future

    def adopt(self, key: str) -> Future[Adopted]:
        """The terminal that an earlier life of the daemon started. Refusals: `NotFoundError`, `UnavailableError`."""
        if self._open(start=False) is None:
            raise NotFoundError(f"no pty host is running, so nobody holds {key}", pty=key)
        return self._ask_adopt(key)

    def forget(self, key: str) -> None:
        """Let the host close a terminal whose child has ended and whose end is stored."""
        if self._link is not None:
            self._ask({"op": "forget", "key": key}, lambda reply: None).then(self._note_refusal)

    def children(self) -> Future[tuple[HostChild, ...]]:
        """All that the host holds; empty when there is no host."""
        if self._open(start=False) is None:
            nothing: Future[tuple[HostChild, ...]] = Future()
            nothing.set(())
            return nothing
        return self._ask({"op": "list"}, lambda reply: tuple(_child(each) for each in reply.body["children"]))

    def end_host(self, force: bool = False) -> Future[None]:
        """End the host. Refusal `ConflictError`: it holds terminals (with `force` they are hung up)."""
        done: Future[None] = Future()
        if self._open(start=False) is None:
            done.set(None)
            return done
        # It closes the connection next. That we do so first makes it an end and not a loss.
        return self._ask({"op": "shutdown", "force": force}, lambda reply: self._close())

    def describe(self) -> dict[str, object]:
        return {
            "host": None if self._hello is None or self._link is None else self._hello.pid,
            "connected": self._link is not None,
            "socket": self._paths.socket,
            "exits": self._exits,
            "losses": self._losses,
        }

    def _spawn(self, key: str, spec: PtySpec, future: Future[Spawned]) -> None:
        try:
            # Not the host's work: a file system that hangs must not keep it from others.
            executable = offload(find_executable, spec.argv, spec.env.get("PATH", _DEFAULT_PATH), spec.working_dir)
            self._open(start=True)
            try:
                spawned = self._ask_spawn(key, executable, spec).get()
            except UnavailableError as error:
                if error.details.get("host") != LOST:
                    raise
                spawned = self._spawn_again(key, executable, spec)
            future.set(spawned)
        except WhiskError as refusal:
            future.set_error(refusal)

    def _spawn_again(self, key: str, executable: str, spec: PtySpec) -> Spawned:
        """The connection broke over it. If only that, the child may have been started and is waiting for us."""
        self._open(start=True)
        try:
            child: Adopted = self._ask_adopt(key).get()
            return Spawned(child.pid, child.descriptor)
        except NotFoundError:
            return self._ask_spawn(key, executable, spec).get()

    def _ask_spawn(self, key: str, executable: str, spec: PtySpec) -> Future[Spawned]:
        message = {
            "op": "spawn",
            "key": key,
            "argv": [executable, *spec.argv[1:]],
            "env": spec.env,
            "cwd": spec.working_dir,
            "cols": spec.cols,
            "rows": spec.rows,
        }
        return self._ask(message, lambda reply: Spawned(int(reply.body["pid"]), _descriptor(reply)))

    def _ask_adopt(self, key: str) -> Future[Adopted]:
        return self._ask(
            {"op": "adopt", "key": key},
            lambda reply: Adopted(
                int(reply.body["pid"]),
                bool(reply.body["ended"]),
                reply.body["code"],
                reply.body["signal"],
                _descriptor(reply),
            ),
        )

    def _open(self, *, start: bool) -> HostLink | None:
        """The open link, opened if need be; blocks this greenlet only. None when no host runs and none should."""
        with self._opening:
            if self._link is None:
                found = offload(connect, self._paths, start=start, options=self._options)
                if found is not None:
                    sock, self._hello = found
                    self._link = HostLink(sock, self._notice, self._lost)
                    self.log.info("connected to the pty host", pid=self._hello.pid)
            return self._link

    def _ask(self, message: dict[str, Any], read: Callable[[Reply], Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def answer(outcome: Reply | WhiskError) -> None:
            if isinstance(outcome, WhiskError):
                future.set_error(_refusal(outcome))
            else:
                future.set(read(outcome))

        if self._link is None:
            future.set_error(UnavailableError("the pty host is not connected", host=LOST))
        else:
            self._link.request(message, answer)
        return future

    def _notice(self, message: dict[str, Any]) -> None:
        """In the hub: pass an exit on. A terminal that has no actor now asks when it has one again."""
        self._exits += 1
        self._tell_exit(_child(message))

    def _tell_exit(self, child: HostChild) -> None:
        pty = self.system.find(f"pty:{child.key}")
        if pty is not None:
            pty.exited.tell(child.code, child.signal)

    def _lost(self, why: str) -> None:
        """In the hub. Perhaps only the connection broke: then the same host is still there, and may have news."""
        self._link = None
        self._losses += 1
        self.log.warning("the connection to the pty host broke", why=why)
        self.post(self._catch_up)

    def _catch_up(self) -> None:
        """Connect, if there is a host, and tell each terminal what it has missed."""
        held: dict[str, HostChild] = {}
        try:
            if self._open(start=False) is not None:
                held = {child.key: child for child in self.children().get(timeout=_ANSWER_SECONDS)}
        except WhiskError as error:
            self.log.error("the pty host cannot be reached", error=error.message)
        for name in self.system.names():
            if name.startswith("pty:"):
                child = held.get(name.removeprefix("pty:"))
                if child is None:
                    self.system.get(name).host_lost.tell()
                elif child.ended:
                    self._tell_exit(child)

    def _note_refusal(self, future: Future[Any]) -> None:
        if (error := future.error()) is not None:
            self.log.warning("the pty host refused", error=str(error))

    def _close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


class PtyHostHandle(Handle):
    spawn: Method[[str, PtySpec], Spawned]
    adopt: Method[[str], Adopted]
    forget: Method[[str], None]
    children: Method[[], tuple[HostChild, ...]]
    end_host: Method[..., None]


def tidy_host(host: PtyHostHandle, store: Store) -> list[str]:
    """Let the host forget children whose end is stored, or that nobody knows; blocks this greenlet.

    Returns the keys of children that run without a terminal of ours. They are left alone: only a direct request ends
    an agent.
    """
    strays = []
    for child in host.children.remote().get(timeout=_ANSWER_SECONDS):
        record = store.read(lambda db, key=child.key: storage.find(db, key))  # type: ignore[misc]
        if record is None or record.ended:
            if child.ended:
                host.forget.tell(child.key)
            else:
                strays.append(child.key)
    return strays


def _child(body: dict[str, Any]) -> HostChild:
    return HostChild(str(body["key"]), int(body["pid"]), bool(body["ended"]), body["code"], body["signal"])


def _descriptor(reply: Reply) -> Descriptor:
    if reply.descriptor is None:
        raise ValueError("the pty host sent no descriptor")
    return reply.descriptor


def _refusal(error: WhiskError) -> WhiskError:
    code = error.details.get("host")
    if code == "not_found":
        return NotFoundError(error.message)
    if code in ("exists", "running", "holding"):
        return ConflictError(error.message)
    if code in ("spawn_failed", "invalid"):
        return SpawnError(error.message, reason=code)
    return error
