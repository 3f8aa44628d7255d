"""The hook relay as a process of its own, against a daemon that says and breaks what a test wants."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.captured import raw
from whisk.cli import relay
from whisk.peers.liveness import read_ancestry

RELAY = [sys.executable, "-I", "-S", relay.__file__]
DECISION = raw("claude", "PermissionRequest-Bash")
PASSIVE = raw("claude", "PostToolUse-Bash")
CREDENTIALS = {"WHISK_AGENT_BRIDGE_ID": "brg_1", "WHISK_AGENT_BRIDGE_TOKEN": "secret"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"
DEADLINE = 20.0


def netstring(document: bytes) -> bytes:
    return b"%d:%b," % (len(document), document)


class Connection:
    """One request of the relay, read whole, and the socket to answer on."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(DEADLINE)
        data = b""
        while b"\r\n\r\n" not in data:
            data += sock.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        self.line, *lines = head.decode("latin-1").split("\r\n")
        self.headers = dict(line.split(": ", 1) for line in lines)
        while len(body) < int(self.headers["Content-Length"]):
            body += sock.recv(1 << 20)
        self.body = body

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)

    def break_off(self) -> None:
        """Close as a killed daemon does: with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


Step = Callable[[Connection], None]


def answering(document: bytes, status: bytes = b"200") -> Step:
    return lambda connection: connection.say(HEAD.replace(b"200", status) + netstring(document))


class Daemon:
    """Answers the n-th connection by the n-th step; `seen` holds what came."""

    def __init__(self, *steps: Step) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(DEADLINE)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.seen: list[Connection] = []
        self._thread = threading.Thread(target=self._serve, args=(steps,))
        self._thread.start()

    def _serve(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            sock, _ = self._listener.accept()
            with sock:
                connection = Connection(sock)
                self.seen.append(connection)
                step(connection)

    def close(self) -> None:
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()
        self._listener.close()


@pytest.fixture
def daemon() -> Iterator[Callable[..., Daemon]]:
    made: list[Daemon] = []

    def start(*steps: Step) -> Daemon:
        made.append(Daemon(*steps))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "WHISKD_URL": closed_url()}


def closed_url() -> str:
    """An address of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def run(body: bytes, env: Mapping[str, str], *arguments: str) -> bytes:
    """What the relay prints; it must end well and say nothing on stderr."""
    done = subprocess.run([*RELAY, *arguments], input=body, env=dict(env), capture_output=True, timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_a_daemon_that_is_not_there_costs_nothing_but_a_moment(home: dict[str, str]) -> None:
    def took(*command: str) -> float:
        started = time.monotonic()
        done = subprocess.run(command, input=DECISION, env=home | CREDENTIALS, capture_output=True, check=True)
        assert (done.stdout, done.stderr) == (b"", b"")
        return time.monotonic() - started

    # On a machine so busy that even an empty program takes long, the relay may take as much again.
    empty = (sys.executable, "-I", "-S", "-c", "pass")
    times = [(took(*RELAY), took(*empty)) for _ in range(5)]
    assert min(ours for ours, _ in times) < max(0.15, 3 * min(theirs for _, theirs in times))


def test_the_payload_is_posted_untouched_with_its_context_beside_it(
    daemon: Callable[..., Daemon], home: dict[str, str], tmp_path: Path
) -> None:
    body = b"\xef\xbb\xbf" + PASSIVE + b"\r\nnot \xff json"
    state = tmp_path / "state"
    (state / "whisk").mkdir(parents=True)
    (state / "whisk" / "control-token").write_text("tok\n")
    listening = daemon(answering(b""))
    env = home | CREDENTIALS | {"XDG_STATE_HOME": str(state), "WHISK_PTY_ID": "pty_1", "WHISK_PROJECT_ROOT": "/a é\n%"}
    assert run(body, env, "-url", listening.url, "--provider=claude", "-event", "Stop", "-hook-protocol", "1") == b""
    (seen,) = listening.seen
    assert seen.line == "POST /v1/hook-relay HTTP/1.0"
    assert seen.body == body
    assert seen.headers["Authorization"] == "Bearer tok"
    assert (seen.headers["Whisk-Bridge"], seen.headers["Whisk-Bridge-Token"]) == ("brg_1", "secret")
    assert (seen.headers["Whisk-Provider"], seen.headers["Whisk-Hook-Event"]) == ("claude", "Stop")
    assert (seen.headers["Whisk-PTY-ID"], seen.headers["Whisk-Hook-Protocol"]) == ("pty_1", "1")
    assert seen.headers["Whisk-PROJECT-ROOT"] == "/a%20%C3%A9%0A%25"
    assert len(seen.headers["Whisk-Hook-Request"]) == 32


def test_the_address_that_the_daemon_wrote_down_is_used(
    daemon: Callable[..., Daemon], home: dict[str, str], tmp_path: Path
) -> None:
    listening = daemon(answering(b'{"a":1}'))
    (tmp_path / "daemon.json").write_text(json.dumps({"pid": 1, "url": listening.url}))
    del home["WHISKD_URL"]
    assert run(PASSIVE, home | {"WHISK_STATE_DIR": str(tmp_path)}) == b'{"a":1}\n'


def test_the_answer_is_printed_as_one_line_after_any_number_of_signs_of_life(
    daemon: Callable[..., Daemon], home: dict[str, str]
) -> None:
    def answer(connection: Connection) -> None:
        for piece in (HEAD, b"+59", b"0\n+58", b"5\n", b"1", b"3:{", b'"a":"b, c:"', b"}", b","):
            connection.say(piece)

    assert run(DECISION, home | CREDENTIALS | {"WHISKD_URL": daemon(answer).url}) == b'{"a":"b, c:"}\n'


def test_a_broken_connection_is_taken_up_again_under_the_same_request_id(
    daemon: Callable[..., Daemon], home: dict[str, str]
) -> None:
    def hold(connection: Connection) -> None:
        connection.say(HEAD + b"+590\n")
        connection.break_off()

    def cut(connection: Connection) -> None:
        connection.say(HEAD + b'+590\n13:{"decision"')
        connection.break_off()

    listening = daemon(hold, cut, answering(b"{}", b"503"), answering(b'{"yes":true}'))
    assert run(DECISION, home | CREDENTIALS | {"WHISKD_URL": listening.url}) == b'{"yes":true}\n'
    assert len({seen.headers["Whisk-Hook-Request"] for seen in listening.seen}) == 1
    assert [seen.headers.get("Whisk-Hook-Again") for seen in listening.seen] == [None, "1", "1", "1"]
    assert {seen.body for seen in listening.seen} == {DECISION}


@pytest.mark.parametrize("cut", [b"", HEAD[:20], HEAD, HEAD + b"13", HEAD + b'13:{"a":"b, c:"', HEAD + b"x:{},"])
def test_a_document_that_was_cut_short_is_never_printed(
    daemon: Callable[..., Daemon], home: dict[str, str], cut: bytes
) -> None:
    listening = daemon(lambda connection: connection.say(cut))
    assert run(DECISION, home | CREDENTIALS | {"WHISKD_URL": listening.url}) == b""


@pytest.mark.parametrize("status", [b"400", b"401", b"404", b"413", b"500", b"503"])
def test_a_refusal_of_the_daemon_prints_nothing(
    daemon: Callable[..., Daemon], home: dict[str, str], status: bytes
) -> None:
    listening = daemon(answering(b'{"error":"no"}', status))
    assert run(DECISION, home | CREDENTIALS | {"WHISKD_URL": listening.url}) == b""


def test_a_daemon_that_no_longer_knows_the_bridge_ends_the_waiting(
    daemon: Callable[..., Daemon], home: dict[str, str]
) -> None:
    listening = daemon(lambda connection: connection.say(HEAD + b"+590\n"), answering(b"", b"401"))
    assert run(DECISION, home | CREDENTIALS | {"WHISKD_URL": listening.url}) == b""


def test_coming_back_ends_with_the_prompts_own_limit(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    listening = daemon(lambda connection: connection.say(HEAD + b"+0\n"))
    started = time.monotonic()
    assert run(DECISION, home | CREDENTIALS | {"WHISKD_URL": listening.url}) == b""
    assert time.monotonic() - started < 5


REASON = "The whisk bridge is unavailable, so this was not decided. No person refused it."
DENIED = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": REASON}
REFUSED = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": REASON}}


@pytest.mark.parametrize(
    ("provider", "name", "said"),
    [
        ("claude", "PreToolUse-Bash", DENIED),
        ("claude", "PreToolUse-AskUserQuestion", DENIED),
        ("claude", "PermissionRequest-Bash", REFUSED),
        ("claude", "Elicitation-form", {"hookEventName": "Elicitation", "action": "cancel", "decision": "cancel"}),
        ("codex", "PreToolUse-Bash", DENIED),
        ("codex", "PermissionRequest-Bash", REFUSED),
        ("claude", "PostToolUse-Bash", None),
        ("claude", "Stop", None),
        ("codex", "SessionEnd", None),
    ],
)
def test_closed_on_failure_names_the_bridge_and_never_a_person(
    home: dict[str, str], provider: str, name: str, said: dict[str, Any] | None
) -> None:
    env = home | CREDENTIALS | {"WHISK_AGENT_BRIDGE_FAIL": "closed", "WHISK_AGENT_BRIDGE_PROVIDER": provider}
    output = run(raw(provider, name), env)
    assert (json.loads(output)["hookSpecificOutput"] if output else None) == said


def test_closed_on_failure_also_holds_when_the_daemon_refuses_or_vanishes(
    daemon: Callable[..., Daemon], home: dict[str, str]
) -> None:
    env = home | CREDENTIALS | {"WHISK_AGENT_BRIDGE_FAIL": "closed"}
    for step in (answering(b"", b"401"), lambda connection: connection.say(HEAD + b"+0\n")):
        assert REASON.encode() in run(DECISION, env | {"WHISKD_URL": daemon(step).url})


@pytest.mark.parametrize("fail", ["open", "closed"])
def test_a_daemon_that_stands_still_keeps_no_hook_beyond_the_end_of_its_prompt(
    daemon: Callable[..., Daemon], home: dict[str, str], fail: str
) -> None:
    """The agent would kill the hook at its own limit, and take that for leave to go on."""

    def freeze(connection: Connection) -> None:
        connection.say(HEAD + b"+0.2\n")
        assert connection.sock.recv(1) == b""

    env = home | CREDENTIALS | {"WHISK_AGENT_BRIDGE_FAIL": fail, "WHISKD_URL": daemon(freeze).url}
    started = time.monotonic()
    assert (REASON.encode() in run(DECISION, env)) is (fail == "closed")
    assert time.monotonic() - started < 5


def test_a_wait_never_ends_later_than_it_was_said_at_first(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    """A daemon that was restarted goes by the wall clock, and that may have been set back."""

    def break_off(connection: Connection) -> None:
        connection.say(HEAD + b"+0.5\n")
        connection.break_off()

    def freeze(connection: Connection) -> None:
        connection.say(HEAD + b"+4000\n")
        assert connection.sock.recv(1) == b""

    started = time.monotonic()
    assert run(DECISION, home | CREDENTIALS | {"WHISKD_URL": daemon(break_off, freeze).url}) == b""
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("port", ["99999", "1" * 5000, "65536"])
def test_closed_on_failure_holds_whatever_breaks_in_the_relay_itself(home: dict[str, str], port: str) -> None:
    env = home | CREDENTIALS | {"WHISK_AGENT_BRIDGE_FAIL": "closed", "WHISKD_URL": f"http://127.0.0.1:{port}"}
    assert REASON.encode() in run(DECISION, env)


@pytest.mark.parametrize("channel", [os.pipe, lambda: [end.detach() for end in socket.socketpair()]])
def test_a_waiting_relay_ends_when_nobody_would_read_its_answer(
    daemon: Callable[..., Daemon], home: dict[str, str], channel: Callable[[], Sequence[int]]
) -> None:
    """Killed agents, and agents that got their answer elsewhere, leave their hooks running."""
    hung_up = threading.Event()

    def hold(connection: Connection) -> None:
        connection.say(HEAD + b"+590\n")
        os.close(reader)
        assert connection.sock.recv(1) == b""
        hung_up.set()

    reader, writer = channel()
    env = home | CREDENTIALS | {"WHISKD_URL": daemon(hold).url}
    with subprocess.Popen(RELAY, env=env, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        assert process.communicate(DECISION, timeout=DEADLINE) == (None, b"")
    assert hung_up.wait(DEADLINE)
    assert process.returncode == 0


def test_closed_on_failure_needs_credentials(home: dict[str, str]) -> None:
    assert run(DECISION, home | {"WHISK_AGENT_BRIDGE_FAIL": "closed"}) == b""


@pytest.mark.parametrize("body", [b"", b"not json", b"{" * 1000, b"\xff\xfe", PASSIVE * 2])
def test_anything_on_stdin_is_passed_on_and_ends_well(
    daemon: Callable[..., Daemon], home: dict[str, str], body: bytes
) -> None:
    listening = daemon(answering(b""))
    assert run(body, home | {"WHISKD_URL": listening.url}) == b""
    assert listening.seen[0].body == body
    assert run(body, home | CREDENTIALS | {"WHISK_AGENT_BRIDGE_FAIL": "closed"}) == b""


def test_no_stdin_at_all_ends_well(home: dict[str, str]) -> None:
    done = subprocess.run(["/bin/sh", "-c", 'exec "$@" <&-', "sh", *RELAY], env=home, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_payload_of_five_megabytes_arrives_whole(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    body = b'{"x":"' + b"y" * 5_000_000 + b'"}'
    listening = daemon(answering(b""))
    run(body, home | {"WHISKD_URL": listening.url})
    assert listening.seen[0].body == body


def test_a_payload_over_the_limit_is_read_to_the_end_and_passes(
    daemon: Callable[..., Daemon], home: dict[str, str]
) -> None:
    body = b"y" * (relay.BODY_LIMIT + 1)
    listening = daemon(answering(b""))
    assert run(body, home | CREDENTIALS | {"WHISKD_URL": listening.url}) == b""
    assert listening.seen[0].body == b""
    assert listening.seen[0].headers["Whisk-Hook-Size"] == str(len(body))


def test_a_slow_writer_is_heard_out(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    listening = daemon(answering(b'{"ok":1}'))
    process = subprocess.Popen(
        RELAY, env=home | {"WHISKD_URL": listening.url}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    for _ in range(100):
        process.stdin.write(b"x" * 1024)
        process.stdin.flush()
        # The next piece is sent only when this one was taken: the relay meets an empty pipe a hundred times.
        while struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4))[0]:
            os.sched_yield()
    assert process.communicate(timeout=DEADLINE)[0] == b'{"ok":1}\n'
    assert listening.seen[0].body == b"x" * 102_400


def test_a_large_answer_reaches_a_slow_reader_whole(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    document = b'{"x":"' + b"z" * 2_000_000 + b'"}'
    listening = daemon(answering(document))
    process = subprocess.Popen(
        RELAY, env=home | {"WHISKD_URL": listening.url}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout as stdout:
        pieces = list(iter(lambda: os.read(stdout.fileno(), 1000), b""))
    assert b"".join(pieces) == document + b"\n"
    assert process.wait(DEADLINE) == 0


def test_a_reader_that_has_left_is_no_traceback(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    env = home | {"WHISKD_URL": daemon(answering(b"{}")).url}
    done = subprocess.run(RELAY, env=env, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_terminated_relay_says_nothing(
    daemon: Callable[..., Daemon], home: dict[str, str], number: signal.Signals
) -> None:
    process: list[subprocess.Popen[bytes]] = []
    ready = threading.Event()

    def end_it(connection: Connection) -> None:
        connection.say(HEAD + b"+590\n")
        ready.wait(DEADLINE)
        process[0].send_signal(number)

    env = home | CREDENTIALS | {"WHISKD_URL": daemon(end_it).url}
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    # A child inherits what is ignored, as everything does that nohup has started.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        process.append(subprocess.Popen(RELAY, env=env, **pipes))
    finally:
        signal.signal(number, before)
    ready.set()
    assert process[0].communicate(DECISION, timeout=DEADLINE) == (b"", b"")
    assert process[0].returncode == -number


def test_running_inside_an_agent_changes_no_byte(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    inside = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "AI_AGENT": "claude", "TERM": "xterm", "NO_COLOR": ""}
    outputs = [
        run(DECISION, home | {"WHISKD_URL": daemon(answering(b'{"a":1}')).url} | extra) for extra in ({}, inside)
    ]
    assert outputs == [b'{"a":1}\n'] * 2


def test_a_hook_inside_a_hook_ends_at_once(home: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        env = home | {"WHISK_AGENT_BRIDGE_INSIDE": "1"}
        env["WHISKD_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert run(DECISION, env) == b""
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_passive_event_does_not_wait_for_a_daemon_that_hangs(home: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        started = time.monotonic()
        assert run(PASSIVE, home | {"WHISKD_URL": f"http://127.0.0.1:{listener.getsockname()[1]}"}) == b""
        assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "url", ["", "https://127.0.0.1", "http://", "nonsense", "http://127.0.0.1:x", "http://[::1]:1"]
)
def test_an_address_that_leads_nowhere_passes(home: dict[str, str], url: str) -> None:
    assert run(DECISION, home | {"WHISKD_URL": url or "ftp://x"}) == b""


def test_the_relay_imports_nothing_but_its_socket(daemon: Callable[..., Daemon], home: dict[str, str]) -> None:
    def imported(*arguments: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "importtime", *arguments],
            input=PASSIVE, env=home | {"WHISKD_URL": listening.url}, capture_output=True, timeout=DEADLINE,
        )  # fmt: skip
        return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}

    listening = daemon(answering(b""))
    assert imported(relay.__file__) - imported("-c", "pass") <= {"_socket"}


def test_help_is_the_text_at_the_top_of_the_file(home: dict[str, str]) -> None:
    assert b"python -I -S relay.py" in run(b"", home, "-h")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
def test_the_processes_above_a_hook_are_told_whatever_they_are_called(tmp_path: Path) -> None:
    odd = tmp_path / "a) R,b"
    odd.symlink_to("/bin/sh")
    show = "from whisk.cli import relay; print(relay._ancestry().decode())"
    command = [str(odd), "-c", '"$0" -c "$1"; true', sys.executable, show]
    told = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found = read_ancestry(told.strip())
    assert ":a) R_b," in told
    # What is above that is this very process.
    assert found.above[0].pid == os.getpid()
