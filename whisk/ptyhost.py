"""The pty host: a small process that starts terminals' children, holds their masters and remembers how they ended.

It outlives the daemon, so that agents do. One file, standard library only, run as `python -I -S <this file>`: it must
start fast, hold little memory, and never change under a running child because a package was upgraded. It reads and
writes no terminal; the daemon gets each master over the socket and does that itself.

    ptyhost.py --socket PATH --lock PATH --log PATH [--idle SECONDS] [--linger SECONDS] [--descriptors N]

It listens, leaves a detached process behind, and exits with 0; with 1 and a sentence on stderr when it cannot listen;
with 3 when another host has the lock. By itself it ends only when it holds nothing and nobody has been connected for
`--idle` seconds; an exit that nobody asks for is kept for `--linger` seconds.

Frames are a 32-bit big-endian length and that much JSON. Requests `{"id", "op", …}` are answered by `{"id", "ok"}` or
`{"id", "error": {"code", "message"}}`; `"fd": true` says that one descriptor came with the frame. Everybody connected
is told `{"event": "exit", "key", "code", "signal"}`. Operations: hello, ping, spawn, adopt, list, forget, shutdown.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time
from collections import deque
from typing import Any

PROTOCOL = 1  # raised when a daemon that speaks the older one could no longer use what is held
LOCKED = 3  # exit status
MAX_FRAME = 8 * 1024 * 1024
MAX_QUEUED = 4 * 1024 * 1024
MAX_LOG = 1024 * 1024
MAX_DESCRIPTORS = 65536
IDLE_SECONDS = 10.0
LINGER_SECONDS = 24 * 3600.0
TICK_SECONDS = 2.0

# The shell is the leader of a new session, so the terminal that it opens becomes its controlling one; exec keeps the
# pid. This needs no Python between fork and exec, hence vfork, hence a cost that does not grow with the parent.
_TRAMPOLINE = 'ulimit -S -n "$1" 2>/dev/null; shift; exec "$@" <>"$0" >&0 2>&0'
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


class Refusal(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def make_private(folder: str) -> None:
    """Create `folder` with mode 0700, or check that it is one and ours. Raises `PermissionError` when it is not."""
    with contextlib.suppress(FileExistsError):
        os.makedirs(folder, mode=0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(errno.EACCES, "not a folder of this user's", folder)
    os.chmod(folder, 0o700)


def frame(message: dict[str, Any]) -> bytes:
    data = json.dumps(message, separators=(",", ":")).encode()
    return struct.pack(">I", len(data)) + data


def take_frame(buffer: bytearray) -> dict[str, Any] | None:
    """Take the first whole frame out of `buffer`; None while there is none. Raises `ValueError` on nonsense."""
    if len(buffer) < 4:
        return None
    (size,) = struct.unpack_from(">I", buffer)
    if size > MAX_FRAME:
        raise ValueError(f"a frame of {size} bytes")
    if len(buffer) < 4 + size:
        return None
    message = json.loads(bytes(buffer[4 : 4 + size]))
    del buffer[: 4 + size]
    if not isinstance(message, dict):
        raise ValueError("a frame that is no object")
    return message


class Child:
    """One terminal: the process in it, the master that we hold, and how it ended."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self.master = master
        self.ended_at: float | None = None

    def facts(self) -> dict[str, Any]:
        status = self.process.returncode
        code = status if status is not None and status >= 0 else None
        number = -status if status is not None and status < 0 else None
        return {"pid": self.process.pid, "ended": status is not None, "code": code, "signal": number}


class Peer:
    """A connected daemon. What it is sent waits in `queue`, with its own duplicate of any descriptor."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.received = bytearray()
        self.queue: deque[tuple[bytes, int]] = deque()
        self.queued = 0

    def put(self, message: dict[str, Any], master: int | None = None) -> None:
        held = -1
        if master is not None:
            # The master may be closed, and its number used again, before this leaves.
            held = fcntl.fcntl(master, fcntl.F_DUPFD_CLOEXEC, 3)
            message["fd"] = True
        self.queue.append((frame(message), held))
        self.queued += len(self.queue[-1][0])

    def flush(self) -> None:
        while self.queue:
            data, held = self.queue[0]
            try:
                sent = socket.send_fds(self.sock, [data], [held]) if held >= 0 else self.sock.send(data)
            except BlockingIOError:
                return
            if held >= 0:
                os.close(held)
            self.queued -= sent
            self.queue[0] = (data[sent:], -1)
            if sent == len(data):
                self.queue.popleft()

    def close(self) -> None:
        for held in (held for _, held in self.queue if held >= 0):
            os.close(held)
        self.sock.close()


class Host:
    def __init__(self, path: str, log: str, idle: float, linger: float, descriptors: int) -> None:
        self.path = path
        self.log_path = log
        self.idle = idle
        self.linger = linger
        self.instance = os.urandom(8).hex()
        self.children: dict[str, Child] = {}
        self.peers: dict[int, Peer] = {}
        self.alone_since = time.monotonic()
        self.stopping = False
        self.soft_limit = descriptors  # of children: ours is raised, and so is that of the daemon
        self.listen()

    def listen(self) -> None:
        make_private(os.path.dirname(self.path))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # The folder is ours alone, so nobody comes in between these two.
        self.listener.bind(self.path)
        os.chmod(self.path, 0o600)
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.inode = os.stat(self.path).st_ino

    def answer(self, peer: Peer, message: dict[str, Any]) -> None:
        number, operation = message.get("id"), message.get("op")
        if type(number) is not int or number < 1:
            raise ValueError(f"a request without a number: {number!r:.80}")
        try:
            handler = getattr(self, f"do_{operation}", None) if isinstance(operation, str) else None
            if handler is None:
                raise Refusal("unknown_operation", f"no such operation: {operation!r:.80}")
            result, master = handler(message)
        except Refusal as refusal:
            peer.put({"id": number, "error": {"code": refusal.code, "message": str(refusal)}})
        else:
            peer.put({"id": number, "ok": result}, master)

    def do_hello(self, message: dict[str, Any]) -> tuple[dict[str, Any], None]:
        return {"protocol": PROTOCOL, "pid": os.getpid(), "instance": self.instance}, None

    do_ping = do_hello

    def do_list(self, message: dict[str, Any]) -> tuple[dict[str, Any], None]:
        return {"children": [{"key": key, **child.facts()} for key, child in self.children.items()]}, None

    def do_adopt(self, message: dict[str, Any]) -> tuple[dict[str, Any], int]:
        child = self.find(message)
        return child.facts(), child.master

    def do_forget(self, message: dict[str, Any]) -> tuple[dict[str, Any], None]:
        if self.find(message).ended_at is None:
            raise Refusal("running", "the child is still running")
        os.close(self.children.pop(message["key"]).master)
        return {}, None

    def do_shutdown(self, message: dict[str, Any]) -> tuple[dict[str, Any], None]:
        if self.children and not field(message, "force", bool, False):
            raise Refusal("holding", f"{len(self.children)} terminals are held")
        self.stopping = True
        return {}, None

    def do_spawn(self, message: dict[str, Any]) -> tuple[dict[str, Any], int]:
        key, argv, env = field(message, "key", str), field(message, "argv", list), field(message, "env", dict)
        cwd, cols, rows = field(message, "cwd", str), field(message, "cols", int), field(message, "rows", int)
        for text in (key, cwd, *argv, *env.keys(), *env.values()):
            if not isinstance(text, str) or "\0" in text:
                raise Refusal("invalid", f"not a string that a process can be given: {text!r:.80}")
        if not key or not argv or not (0 < cols < 65536 and 0 < rows < 65536):
            raise Refusal("invalid", "key and argv must not be empty, cols and rows between 1 and 65535")
        if key in self.children:
            raise Refusal("exists", f"{key} has a child already")
        child = self.children[key] = self.spawn(argv, env, cwd, cols, rows)
        return child.facts(), child.master

    def spawn(self, argv: list[str], env: dict[str, str], cwd: str, cols: int, rows: int) -> Child:
        master = slave = -1
        try:
            master, slave = os.openpty()
            fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            command = ["/bin/sh", "-c", _TRAMPOLINE, os.ttyname(slave), str(self.soft_limit), *argv]
            process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
            )
        except (OSError, ValueError) as error:
            if master >= 0:
                os.close(master)
            code = "exhausted" if getattr(error, "errno", None) in _EXHAUSTED else "spawn_failed"
            raise Refusal(code, f"cannot start {argv[0]}: {error}") from error
        finally:
            if slave >= 0:
                os.close(slave)
        os.set_blocking(master, False)
        return Child(process, master)

    def find(self, message: dict[str, Any]) -> Child:
        key = field(message, "key", str)
        if key not in self.children:
            raise Refusal("not_found", f"no child is known as {key!r:.80}")
        return self.children[key]

    def reap(self) -> None:
        """Ask for each child that we know, and for no other: a broad wait would take exits that are not ours."""
        for key, child in self.children.items():
            if child.ended_at is None and child.process.poll() is not None:
                child.ended_at = time.monotonic()
                for peer in self.peers.values():
                    peer.put({"event": "exit", "key": key, **child.facts()})

    def tick(self) -> None:
        now = time.monotonic()
        for key, child in list(self.children.items()):
            if child.ended_at is not None and now - child.ended_at > self.linger:
                self.log(f"nobody asked how {key} ended")
                os.close(self.children.pop(key).master)
        if self.peers or self.children:
            self.alone_since = now
        elif now - self.alone_since >= self.idle:
            self.stopping = True
        with contextlib.suppress(OSError):
            if os.stat(self.path).st_ino == self.inode:
                return
        # Something tidied the socket away; without it the next daemon could not find us.
        self.log("the socket is gone, listening again")
        self.listener.close()
        self.listen()

    def accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            sock, _ = self.listener.accept()
            if hasattr(socket, "SO_PEERCRED"):
                uid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
                if uid not in (os.getuid(), 0):
                    self.log(f"refused user {uid}")
                    return
            sock.setblocking(False)
            self.peers[sock.fileno()] = Peer(sock)

    def receive(self, peer: Peer) -> None:
        """Read and answer. Raises `EOFError` when the peer is gone and `ValueError` on nonsense."""
        with contextlib.suppress(BlockingIOError):
            data = peer.sock.recv(65536)
            if not data:
                raise EOFError
            peer.received += data
        while (message := take_frame(peer.received)) is not None:
            self.answer(peer, message)

    def step(self, fd: int, readable: bool) -> None:
        """Whatever a connection does, it costs at most that connection."""
        peer = self.peers[fd]
        try:
            if readable:
                self.receive(peer)
            peer.flush()
            if peer.queued > MAX_QUEUED:
                raise ValueError("it does not read what it is sent")
        except (EOFError, OSError, ValueError, RecursionError) as error:
            self.log(f"connection closed: {error or 'by the daemon'}")
            del self.peers[fd]
            peer.close()

    def serve(self, wakeup: int) -> None:
        while not self.stopping:
            poll = select.poll()
            poll.register(self.listener, select.POLLIN)
            poll.register(wakeup, select.POLLIN)
            for fd, peer in self.peers.items():
                poll.register(fd, select.POLLIN | (select.POLLOUT if peer.queue else 0))
            for fd, _ in poll.poll(min(TICK_SECONDS, self.idle) * 1000):
                if fd == wakeup:
                    self.stopping |= signal.SIGTERM in os.read(wakeup, 4096)
                elif fd in self.peers:
                    self.step(fd, readable=True)
                else:
                    self.accept()
            self.reap()
            for fd in list(self.peers):
                self.step(fd, readable=False)
            self.tick()

    def log(self, text: str) -> None:
        with contextlib.suppress(OSError), open(self.log_path, "a") as file:
            if file.tell() > MAX_LOG:
                file.truncate(0)
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {text}\n")


def field(message: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    value = message.get(name, default)
    # bool is an int to isinstance, but true is no number of columns.
    if type(value) is not kind:
        raise Refusal("invalid", f"{name} must be {kind.__name__}, not {type(value).__name__}")
    return value


def raise_descriptor_limit() -> int:
    """Each terminal costs a descriptor. Returns the limit that was there: children get that one back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if want > soft != resource.RLIM_INFINITY:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (want, hard))
    return soft


def detach(lock: int) -> None:
    """Leave the process that started us, its session and its descriptors 0, 1, 2; our number goes into the lock."""
    pid = os.fork()  # noqa: TID251 (one thread, nothing imported that minds; init takes over, so nobody must reap us)
    if pid:
        os.ftruncate(lock, 0)
        os.write(lock, f"{pid}\n".encode())
        os._exit(0)
    os.setsid()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def catch_signals() -> int:
    """Turn signals into bytes to read. Handlers, not SIG_IGN: what is ignored here would be ignored by children."""
    for name in ("CHLD", "TERM", "HUP", "INT", "QUIT", "TSTP", "TTIN", "TTOU", "USR1", "USR2"):
        signal.signal(getattr(signal, f"SIG{name}"), lambda *_: None)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def main(arguments: list[str]) -> None:
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    path, log = given["--socket"], given["--log"]
    try:
        lock = os.open(given["--lock"], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        times = float(given.get("--idle", IDLE_SECONDS)), float(given.get("--linger", LINGER_SECONDS))
        host = Host(path, log, *times, int(given.get("--descriptors", raise_descriptor_limit())))
    except BlockingIOError:
        sys.exit(LOCKED)
    except OSError as error:
        sys.exit(f"the pty host cannot listen on {path}: {error}")
    wakeup = catch_signals()
    detach(lock)
    host.log(f"pty host {os.getpid()} listens on {path}")
    try:
        host.serve(wakeup)
    finally:
        host.log("pty host ends")
        with contextlib.suppress(OSError):
            os.unlink(path)


if __name__ == "__main__":
    main(sys.argv[1:])
