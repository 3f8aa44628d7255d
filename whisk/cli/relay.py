"""The hook relay: an agent's hook on one side, the daemon on the other, and nothing else in between.

    python -I -S relay.py [-url U] [-bridge ID] [-token T] [-provider P] [-event E] [-hook-protocol N]

It reads stdin to the end whatever happens, posts the bytes as they are, and prints the daemon's answer, at most one
JSON document, or nothing. A daemon that is not there costs a few milliseconds and prints nothing, so the agent goes on
by itself; with WHISK_AGENT_BRIDGE_FAIL=closed a decision is then refused instead, in words that name the bridge and
never a person. The exit code is 0 unless a signal ends it, and there is never a traceback.

This file runs alone, without whisk and without `site`: it may import nothing but what the interpreter has loaded
already and `_socket`, because every module costs an agent milliseconds at every tool call.

The daemon answers with any number of lines `+<seconds left>` (a person is being waited for) and then one netstring,
`<length>:<document>,`. Once such a line has come, the question is in the daemon's database; a connection that breaks is
then taken up again under the same request id, and the answer given meanwhile is not lost.
"""

import _socket
import posix
import sys

BODY_LIMIT = 16 * 1024 * 1024
"""A larger payload is not sent: the hook passes, and the daemon's log says so."""

CONNECT_SECONDS = 0.1
PASSIVE_SECONDS = 1.0
DECISION_SECONDS = 10.0
SILENCE_SECONDS = 50.0
RECONNECT_SECONDS = 60.0
_LARGE = 256 * 1024
_DECISIONS = (b"PreToolUse", b"PermissionRequest", b"Elicitation")
_FLAGS = {
    b"url": b"WHISKD_URL",
    b"bridge": b"WHISK_AGENT_BRIDGE_ID",
    b"token": b"WHISK_AGENT_BRIDGE_TOKEN",
    b"provider": b"WHISK_AGENT_BRIDGE_PROVIDER",
    b"hook-protocol": b"WHISK_AGENT_BRIDGE_HOOK_PROTOCOL",
    b"event": b"",
}
_ANCESTORS = 12
_CONTEXT = (b"SESSION_ID", b"PTY_ID", b"PROJECT_ID", b"PROJECT_ROOT", b"WORK_ITEM_ID", b"RUN_ID", b"ACTOR")
# Set for whatever this process might start: a hook that calls an agent that calls the hook would never end.
_GUARD = b"WHISK_AGENT_BRIDGE_INSIDE"


def main(argv: "list[str] | None" = None) -> int:
    """Relay one hook call; returns 0 whatever happens."""
    try:
        _be_quiet()
        env = posix.environ
        arguments = [arg.encode("utf-8", "surrogateescape") for arg in (sys.argv[1:] if argv is None else argv)]
        if any(arg.lstrip(b"-") in (b"h", b"help") for arg in arguments):
            _print((__doc__ or "").encode())
            return 0
        body, size = _read_stdin()
        if env.get(_GUARD):
            return 0
        posix.putenv(_GUARD, b"1")
        given = _options(arguments)
        options = {name: given.get(name) or env.get(variable, b"") for name, variable in _FLAGS.items()}
        output = _Relay(options, env, body, size).run()
        if output:
            _print(output + b"\n")
    except BaseException:  # noqa: BLE001 - a traceback would be shown to the agent's user, and nothing else could be done
        return 0
    return 0


class _Relay:
    """One hook call: its payload, where it goes, and what is known of the daemon so far."""

    def __init__(self, options: "dict[bytes, bytes]", env: "dict[bytes, bytes]", body: bytes, size: int) -> None:
        self.options = options
        self.env = env
        self.body = body
        self.size = size
        named = options[b"event"]
        self.decides = named in _DECISIONS if named else any(name in body for name in _DECISIONS)
        self.request = posix.urandom(16).hex().encode()
        self.pending = False
        self.ends = 0.0
        self.give_up = 0.0
        self.address = _address(options[b"url"] or _written_url(env) or b"http://127.0.0.1:8787")

    def run(self) -> bytes:
        """The bytes to print; empty to let the agent go on by itself."""
        try:
            output = self._attempt()
            if output is None and self.pending:
                output = self._again()
        except Exception:  # noqa: BLE001 - whatever broke is an unavailable bridge, and a closed one must say so
            output = None
        if output is None and self._fails_closed():
            return _unavailable(self.options, self.body)
        return output or b""

    def _again(self) -> "bytes | None":
        """Come back until there is an answer: the daemon is restarting, or the connection broke."""
        import time

        pause = 0.05
        while self.pending and time.monotonic() < self.give_up:
            time.sleep(pause)  # noqa: TID251 - this process has no hub, and nothing else to do
            pause = min(pause * 2, 1.0)
            output = self._attempt()
            if output is not None:
                return output
        return None

    def _attempt(self) -> "bytes | None":
        """One connection: the document, b"" for a pass, or None when it broke or the daemon is not there."""
        if self.address is None:
            return None
        host, port = self.address
        local = host in (b"127.0.0.1", b"localhost", b"::1")
        for family, kind, proto, place in _places(host, port):
            sock = _socket.socket(family, kind, proto)
            try:
                sock.settimeout(CONNECT_SECONDS if local else 10 * CONNECT_SECONDS)
                sock.connect(place)
                sock.settimeout(self._patience())
                sock.sendall(self._message())
                return self._receive(sock)
            except (OSError, ValueError):
                continue
            finally:
                sock.close()
        return None

    def _patience(self) -> float:
        """Seconds for the daemon to take the payload and say the first word."""
        if self.pending:
            import time

            return max(CONNECT_SECONDS, min(DECISION_SECONDS, self.give_up - time.monotonic()))
        return DECISION_SECONDS if self.decides or self.size > _LARGE else PASSIVE_SECONDS

    def _receive(self, sock: _socket.socket) -> "bytes | None":
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            piece = sock.recv(65536)
            if not piece or len(data) > 65536:
                return None
            data += piece
        if data[9:12] != b"200":
            # A restarting daemon answers 503 for a moment; any other refusal is final.
            self.pending = self.pending and data[9:12] == b"503"
            return None
        pieces = [data[end + 4 :]]
        while (output := self._document(pieces)) is None:
            if self.pending:
                self._listen(sock)
            piece = sock.recv(1 << 18)
            if not piece:
                return None
            pieces.append(piece)
        return output

    def _listen(self, sock: _socket.socket) -> None:
        """Until there is something to read. Ends the process when nobody would read what it prints.

        An agent that is killed, or that got its answer in its own window, does not end its hook; but the pipe closes.
        """
        import select
        import time

        # A daemon that stands still must not keep the hook beyond the prompt's own end: after that the agent kills it.
        ends = time.monotonic() + max(CONNECT_SECONDS, min(SILENCE_SECONDS, self.ends - time.monotonic()))
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        poll.register(1, 0)
        while (left := ends - time.monotonic()) > 0:
            for descriptor, event in poll.poll(left * 1000):
                if descriptor != 1:
                    return
                if event & (select.POLLERR | select.POLLHUP):
                    raise SystemExit
                # A device that cannot be watched here.
                poll.unregister(1)
        raise TimeoutError

    def _document(self, pieces: "list[bytes]") -> "bytes | None":
        """What the netstring holds, or None while it is not complete. A document that was cut short is none at all."""
        if b":" not in pieces[0]:
            pieces[:] = [b"".join(pieces)]
        while pieces[0][:1] == b"+" and b"\n" in pieces[0]:
            line, _, pieces[0] = pieces[0].partition(b"\n")
            self._heard(float(line))
        length, colon, rest = pieces[0].partition(b":")
        if not colon:
            return None
        # Counted before they are joined: a large document arrives in many pieces.
        if len(rest) + sum(map(len, pieces[1:])) <= int(length):
            return None
        found = b"".join([rest, *pieces[1:]])
        return found[: int(length)]

    def _heard(self, left: float) -> None:
        """The question is stored, and worth coming back for, but never beyond its own end."""
        import time

        # The daemon ends it by itself; half a second is for one that is a little late. Never later than it said first:
        # after a restart it goes by a clock that may have been set, and the agent's own limit does not move.
        ends = time.monotonic() + left + 0.5
        self.ends = min(self.ends, ends) if self.pending else ends
        self.give_up = min(self.ends, time.monotonic() + RECONNECT_SECONDS)
        self.pending = True

    def _fails_closed(self) -> bool:
        closed = self.env.get(b"WHISK_AGENT_BRIDGE_FAIL", b"").lower() == b"closed"
        return closed and self.decides and bool(self.options[b"bridge"] and self.options[b"token"])

    def _message(self) -> bytes:
        assert self.address is not None
        host, port = self.address
        too_large = self.size > BODY_LIMIT
        body = b"" if too_large else self.body
        headers = [
            (b"Host", (b"[%b]:%d" if b":" in host else b"%b:%d") % (host, port)),
            (b"Content-Type", b"application/json"),
            (b"Content-Length", b"%d" % len(body)),
            (b"Whisk-Hook-Request", self.request),
            (b"Whisk-Hook-Again", b"1" if self.pending else b""),
            (b"Whisk-Hook-Size", b"%d" % self.size if too_large else b""),
            (b"Whisk-Bridge", self.options[b"bridge"]),
            (b"Whisk-Bridge-Token", self.options[b"token"]),
            (b"Whisk-Provider", self.options[b"provider"]),
            (b"Whisk-Hook-Event", self.options[b"event"]),
            (b"Whisk-Hook-Protocol", self.options[b"hook-protocol"]),
            (b"Whisk-Tmux-Pane", self.env.get(b"TMUX_PANE", b"")),
            (b"Whisk-Tmux-Server", self.env.get(b"TMUX", b"").partition(b",")[0]),
            (b"Whisk-Ancestry", _ancestry()),
            *((b"Whisk-" + name.replace(b"_", b"-"), self.env.get(b"WHISK_" + name, b"")) for name in _CONTEXT),
        ]
        token = _read_file(_state_dir(self.env) + b"/control-token").strip()
        if token:
            headers.append((b"Authorization", b"Bearer " + token))
        # HTTP/1.0, so that the answer comes without chunks and ends when the daemon hangs up.
        lines = [b"POST /v1/hook-relay HTTP/1.0", *(name + b": " + _safe(value) for name, value in headers if value)]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _be_quiet() -> None:
    """A hook that is ended says nothing. Agents end it so when a person answered in their own window.

    The kernel does it: a handler in Python could be missed in the moment before a blocking call.
    """
    import _signal  # type: ignore[import-not-found] # the stubs know it by its public name only

    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _read_stdin() -> "tuple[bytes, int]":
    """Everything on stdin (kept up to the limit) and its size. The writer must never meet a closed pipe."""
    pieces = []
    size = 0
    try:
        while not posix.isatty(0) and (piece := posix.read(0, 1 << 18)):
            size += len(piece)
            if size <= BODY_LIMIT:
                pieces.append(piece)
    except OSError:
        # No stdin at all; what has come so far is what there is.
        pass
    return b"".join(pieces), size


def _options(arguments: "list[bytes]") -> "dict[bytes, bytes]":
    """`-name value`, `--name value` or `-name=value`; what is not known is overlooked, as a hook must not fail."""
    found = {}
    at = 0
    while at < len(arguments):
        name, equals, value = arguments[at].lstrip(b"-").partition(b"=")
        known = name in _FLAGS and arguments[at][:1] == b"-"
        at += 1
        if known and not equals and at < len(arguments):
            value = arguments[at]
            at += 1
        if known:
            found[name] = value
    return found


def _address(url: bytes) -> "tuple[bytes, int] | None":
    """(host, port) of an http URL, or None for anything else."""
    scheme, _, rest = url.partition(b"://")
    place = rest.partition(b"/")[0]
    host, colon, port = place.rpartition(b":")
    if not colon or place.endswith(b"]"):
        host, port = place, b"80"
    known = scheme == b"http" and host and port.isdigit() and len(port) <= 5
    return (host.strip(b"[]"), int(port)) if known else None


def _places(host: bytes, port: int) -> "list[tuple[int, int, int, tuple[str, int]]]":
    """Where to connect to; an address needs no name service."""
    if host.replace(b".", b"").isdigit():
        return [(_socket.AF_INET, _socket.SOCK_STREAM, 0, (host.decode(), port))]
    try:
        found = _socket.getaddrinfo(host.decode("latin-1"), port, 0, _socket.SOCK_STREAM)
    except (OSError, ValueError):
        return []
    return [(family, kind, proto, place[:2]) for family, kind, proto, _, place in found]  # type: ignore[misc]


def _state_dir(env: "dict[bytes, bytes]") -> bytes:
    home = env.get(b"HOME", b"")
    if chosen := env.get(b"WHISK_STATE_DIR"):
        return home + chosen[1:] if chosen.startswith(b"~/") else chosen
    if sys.platform == "darwin":
        return home + b"/Library/Application Support/whisk"
    return (env.get(b"XDG_STATE_HOME", b"").strip() or home + b"/.local/state") + b"/whisk"


def _written_url(env: "dict[bytes, bytes]") -> bytes:
    """The address that the daemon of this state folder wrote down, found without a JSON parser."""
    _, found, rest = _read_file(_state_dir(env) + b"/daemon.json").partition(b'"url"')
    return rest.partition(b'"')[2].partition(b'"')[0] if found else b""


def _ancestry() -> bytes:
    """`pid:start:name` of the processes above this one, nearest first; empty where the system has no /proc.

    The daemon could not look: a hook that nobody waits for has ended before it gets there.
    """
    found: list[bytes] = []
    pid = posix.getppid()
    while pid > 1 and len(found) < _ANCESTORS:
        # The name stands in brackets and may hold anything, brackets too.
        head, _, tail = _read_file(b"/proc/%d/stat" % pid).rpartition(b") ")
        fields = tail.split()
        if len(fields) < 20:
            break
        name = head.partition(b"(")[2].replace(b",", b"_")
        found.append(b"%d:%b:%b" % (pid, fields[19], name))
        pid = int(fields[1])
    return b",".join(found)


def _read_file(path: bytes) -> bytes:
    try:
        descriptor = posix.open(path, posix.O_RDONLY)
    except OSError:
        return b""
    try:
        return posix.read(descriptor, 65536)
    except OSError:
        return b""
    finally:
        posix.close(descriptor)


def _safe(value: bytes) -> bytes:
    """A header value: printable ASCII as it is, every other byte and `%` as %XX."""
    if value.isascii() and value.decode().isprintable() and b"%" not in value:
        return value
    return b"".join(bytes((byte,)) if 32 < byte < 127 and byte != 37 else b"%%%02X" % byte for byte in value)


def _unavailable(options: "dict[bytes, bytes]", body: bytes) -> bytes:
    """The refusal of a bridge that cannot be reached, in the shape of the provider and event."""
    import json

    try:
        payload = json.loads(body.decode("utf-8-sig", "replace"))
    except ValueError:
        payload = None
    named = payload.get("hook_event_name") if isinstance(payload, dict) else None
    name = options[b"event"].decode("utf-8", "replace") or named
    reason = "The whisk bridge is unavailable, so this was not decided. No person refused it."
    said: dict[str, object]
    if name == "PreToolUse":
        said = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    elif name == "PermissionRequest":
        said = {"decision": {"behavior": "deny", "message": reason}}
    elif name == "Elicitation" and options[b"provider"] != b"codex":
        said = {"action": "cancel", "decision": "cancel"}
    else:
        return b""
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, **said}}, separators=(",", ":")).encode()


def _print(data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[posix.write(1, left) :]
        except BlockingIOError:
            import select

            select.select([], [1], [])


if __name__ == "__main__":
    sys.exit(main())
