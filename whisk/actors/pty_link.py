"""The daemon's end of the connection to the pty host: starting it, frames, descriptors. The host's end: whisk.ptyhost.

Connecting and starting block and belong on a thread; a `HostLink` is driven by the hub's watchers and never blocks.
"""

from __future__ import annotations

import array
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gevent import get_hub

from whisk import ptyhost
from whisk.errors import UnavailableError, WhiskError

CONNECT_SECONDS = 10.0
LOST = "lost"  # the `details["host"]` of a request that the connection did not outlive
_MAX_DESCRIPTORS = 32
_READ, _WRITE = 1, 2
# The interpreter may need these to start; nothing else of our environment concerns the host, and its children are
# found by a variable that it must not carry.
_KEPT_VARIABLES = ("PATH", "HOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ")


class Descriptor:
    """A file descriptor with one owner. Dropped without an owner (its asker died meanwhile), it is closed."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def take(self) -> int:
        """The number; from now on the caller closes it. Raises `ValueError` when it was taken before."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            raise ValueError("this descriptor has an owner already")
        return fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


class HostPaths(NamedTuple):
    """Where a host listens, what it locks, what it logs to."""

    socket: str
    lock: str
    log: str


class Reply(NamedTuple):
    """What the host answered to one request, and the descriptor that came with it."""

    body: dict[str, Any]
    descriptor: Descriptor | None


class HostHello(NamedTuple):
    """Who answered: `instance` is different after each start of a host."""

    protocol: int
    pid: int
    instance: str


def host_paths(state: Path, runtime: Path) -> HostPaths:
    """Lock and log are in the state folder; `runtime` is one whose sockets have paths that are short enough."""
    return HostPaths(str(runtime / "pty-host.sock"), str(state / "pty-host.lock"), str(state / "pty-host.log"))


def start_host(paths: HostPaths, options: Sequence[str] = ()) -> None:
    """Start a host unless one has the lock. Blocks until it listens. Raises `UnavailableError` saying why it cannot."""
    command = [sys.executable, "-I", "-S", ptyhost.__file__, "--socket", paths.socket, "--lock", paths.lock]
    command += ["--log", paths.log, *options]
    env = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        ended = subprocess.run(
            command,
            env=env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            timeout=CONNECT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"the pty host could not be started: {error}") from error
    if ended.returncode not in (0, ptyhost.LOCKED):
        why = ended.stderr.decode(errors="replace").strip() or f"exit status {ended.returncode}"
        raise UnavailableError(f"the pty host could not be started: {why}", log=paths.log)


def connect(paths: HostPaths, *, start: bool, options: Sequence[str] = ()) -> tuple[socket.socket, HostHello] | None:
    """A connection to the host, which is started when `start` says so; None when none runs and none should. Blocks.

    Raises `UnavailableError` when it cannot be started, does not answer, or is not this user's.
    """
    if start:
        start_host(paths, options)
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(CONNECT_SECONDS)
            sock.connect(paths.socket)
            hello = _greet(sock, paths)
            if hello.protocol == ptyhost.PROTOCOL:
                return sock, hello
            _dismiss(sock, hello)
            sock.close()
        except (FileNotFoundError, ConnectionError):
            sock.close()
        except (OSError, ValueError, KeyError, TypeError) as error:
            sock.close()
            raise UnavailableError(f"the pty host does not answer: {error}", socket=paths.socket) from error
        except BaseException:
            sock.close()
            raise
        if not start:
            return None
        # The one that has the lock may be about to listen, or about to end; then ours must start.
        if time.monotonic() > deadline:
            raise UnavailableError(f"a pty host holds {paths.lock} but does not answer", socket=paths.socket)
        start_host(paths, options)


def _dismiss(sock: socket.socket, hello: HostHello) -> None:
    """A host of another whisk: it must go, unless it holds terminals, which are worth more than our wish to start."""
    sock.sendall(ptyhost.frame({"id": 2, "op": "shutdown"}))
    if "error" in _read_message(sock):
        raise UnavailableError(
            f"another whisk's pty host (process {hello.pid}, protocol {hello.protocol}, ours is {ptyhost.PROTOCOL}) "
            "holds terminals; end them with that whisk first",
            pid=hello.pid,
        )


def _greet(sock: socket.socket, paths: HostPaths) -> HostHello:
    owner = os.stat(paths.socket).st_uid
    if owner != os.getuid():
        raise UnavailableError(f"{paths.socket} belongs to user {owner}", socket=paths.socket)
    sock.sendall(ptyhost.frame({"id": 1, "op": "hello"}))
    body = _read_message(sock)["ok"]
    return HostHello(int(body["protocol"]), int(body["pid"]), str(body["instance"]))


def _read_message(sock: socket.socket) -> dict[str, Any]:
    """The next reply; notices that come before it are not for us."""
    buffer = bytearray()
    while True:
        # One byte too many would be taken from the link that reads on from here.
        while (message := ptyhost.take_frame(buffer)) is None:
            data = sock.recv(1 if len(buffer) < 4 else int.from_bytes(buffer[:4], "big") + 4 - len(buffer))
            if not data:
                raise ConnectionResetError("it closed the connection")
            buffer += data
        if "id" in message:
            return message


class HostLink:
    """An open connection. `on_event` gets each notice; `on_lost` is called once, after every request that was open
    has been told. Both run in the hub: they must neither block nor raise.
    """

    def __init__(
        self,
        sock: socket.socket,
        on_event: Callable[[dict[str, Any]], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._sock = sock
        self._sock.setblocking(False)
        self._on_event = on_event
        self._on_lost = on_lost
        self._received = bytearray()
        self._descriptors: deque[Descriptor] = deque()
        self._unsent = bytearray()
        self._open: dict[int, Callable[[Reply | WhiskError], None]] = {}
        self._number = 1
        loop = get_hub().loop
        self._reader = loop.io(sock.fileno(), _READ)
        self._writer = loop.io(sock.fileno(), _WRITE)
        self._reader.start(self._receive)
        self.closed = False

    def request(self, message: dict[str, Any], answer: Callable[[Reply | WhiskError], None]) -> None:
        """Send `message`; `answer` is called in the hub with the reply or with why there is none."""
        if self.closed:
            answer(UnavailableError("the connection to the pty host is closed", host=LOST))
            return
        self._number += 1
        self._open[self._number] = answer
        self._unsent += ptyhost.frame({"id": self._number, **message})
        self._send()

    def close(self) -> None:
        """Close without telling `on_lost`; requests that are open are told."""
        if self.closed:
            return
        self.closed = True
        for watcher in (self._reader, self._writer):
            watcher.stop()
            watcher.close()
        self._sock.close()
        self._descriptors.clear()
        waiting, self._open = self._open, {}
        for answer in waiting.values():
            answer(UnavailableError("the pty host did not answer: the connection was closed", host=LOST))

    def _lose(self, why: str) -> None:
        if not self.closed:
            self.close()
            self._on_lost(why)

    def _send(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            if not self._writer.active:
                self._writer.start(self._send)
            return
        except OSError as error:
            # Not from inside `request`: its caller has not returned yet.
            get_hub().loop.run_callback(self._lose, str(error))
        self._writer.stop()

    def _receive(self) -> None:
        try:
            data, descriptors = _receive(self._sock)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(str(error))
            return
        self._descriptors.extend(map(Descriptor, descriptors))
        if not data:
            self._lose("the pty host closed the connection")
            return
        self._received += data
        try:
            while not self.closed and (message := ptyhost.take_frame(self._received)) is not None:
                self._dispatch(message)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            self._lose(f"the pty host sent nonsense: {error!r}")

    def _dispatch(self, message: dict[str, Any]) -> None:
        descriptor = self._descriptors.popleft() if message.get("fd") else None
        if "event" in message:
            self._on_event(message)
            return
        answer = self._open.pop(message["id"])
        if "error" in message:
            error = message["error"]
            answer(UnavailableError(error["message"], host=error["code"]))
        else:
            answer(Reply(message["ok"], descriptor))


def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """Like `socket.recv_fds`, but what arrives is not inherited by children that start in the next instant."""
    descriptors: array.array[int] = array.array("i")
    room = socket.CMSG_LEN(_MAX_DESCRIPTORS * descriptors.itemsize)
    data, ancillary, _, _ = sock.recvmsg(65536, room, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
    for fd in descriptors:
        os.set_inheritable(fd, False)
    return data, list(descriptors)
