"""The pty host as a process of its own, spoken to over its socket."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from whisk import ptyhost

SECONDS = 10.0


class Client:
    """A plain blocking client; `fds` it was given and did not hand out are closed with it."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SECONDS)
        self.sock.connect(path)
        self.buffer = bytearray()
        self.fds: list[int] = []
        self.events: list[dict[str, Any]] = []
        self.number = 0

    def close(self) -> None:
        self.sock.close()
        for fd in self.fds:
            os.close(fd)
        self.fds = []

    def message(self) -> dict[str, Any]:
        while (message := ptyhost.take_frame(self.buffer)) is None:
            data, fds, _, _ = socket.recv_fds(self.sock, 65536, 8)
            self.fds += fds
            if not data:
                raise EOFError
            self.buffer += data
        return message

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        self.number += 1
        self.sock.sendall(ptyhost.frame({"id": self.number, "op": op, **fields}))
        while "event" in (message := self.message()):
            self.events.append(message)
        assert message["id"] == self.number
        return message

    def ok(self, op: str, **fields: Any) -> Any:
        message = self.ask(op, **fields)
        assert "ok" in message, message
        return message["ok"]

    def refusal(self, op: str, **fields: Any) -> str:
        return str(self.ask(op, **fields)["error"]["code"])

    def spawn(self, key: str, *argv: str, **fields: Any) -> tuple[int, int]:
        """Start it; returns the pid and the master."""
        given = {"env": {"PATH": os.environ["PATH"]}, "cwd": "/", "cols": 80, "rows": 24} | fields
        facts = self.ok("spawn", key=key, argv=list(argv), **given)
        return facts["pid"], self.fds[-1]

    def sh(self, key: str, script: str, **fields: Any) -> tuple[int, int]:
        return self.spawn(key, "/bin/sh", "-c", script, **fields)

    def exit(self, key: str) -> dict[str, Any]:
        """Wait for the notice of that child's exit."""
        while True:
            for event in self.events:
                if event["key"] == key:
                    self.events.remove(event)
                    return event
            self.events.append(self.message())


def drain(fd: int) -> bytes:
    """All output to the end of the terminal, which is an error on Linux and an empty read elsewhere."""
    data = b""
    while select.select([fd], [], [], SECONDS)[0]:
        try:
            part = os.read(fd, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            part = b""
        if not part:
            return data
        data += part
    raise AssertionError(f"no end after {data[-200:]!r}")


def read_until(fd: int, end: bytes) -> bytes:
    data = b""
    while end not in data:
        assert select.select([fd], [], [], SECONDS)[0], f"nothing after {data!r}"
        data += os.read(fd, 65536)
    return data


def wait_gone(pid: int) -> None:
    """Until the process has ended, whenever its parent may look at that."""
    if sys.platform != "linux":
        psutil.Process(pid).wait(SECONDS)
        return
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = select.select([fd], [], [], SECONDS)[0]
    os.close(fd)
    assert ended, f"process {pid} still runs"


class Place:
    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "host.sock")
        self.lock = folder / "host.lock"
        self.log = folder / "host.log"
        self.clients: list[Client] = []
        self.idle = "30"

    def start(self, *options: str, **kwargs: Any) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-I", "-S", ptyhost.__file__, "--socket", self.socket, "--lock", str(self.lock)]
        command += ["--log", str(self.log), "--idle", self.idle, *options]
        return subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, **kwargs)

    def client(self) -> Client:
        self.clients.append(Client(self.socket))
        return self.clients[-1]

    @property
    def pid(self) -> int:
        return int(self.lock.read_text())

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.pid)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for client in place.clients:
        client.close()
    with contextlib.suppress(ProcessLookupError, ValueError, FileNotFoundError):
        os.kill(place.pid, signal.SIGTERM)
        wait_gone(place.pid)


@pytest.fixture
def host(place: Place) -> Place:
    done = place.start()
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def client(host: Place) -> Client:
    return host.client()


def test_a_child_gets_a_terminal_of_its_own_and_nothing_else(client: Client, tmp_path: Path) -> None:
    script = 'tty; stty size; pwd; env; ls -1 /proc/self/fd; ps -o sid=,pgid=,tpgid= -p $$; echo "$0 $1"'
    env = {"PATH": os.environ["PATH"], "ODD": "a b'\"$x\n\u00e9"}
    argv = ("/bin/sh", "-c", script, "zero", "it's one")
    pid, fd = client.spawn("a", *argv, env=env, cwd=str(tmp_path), cols=91, rows=17)
    text = drain(fd).decode().replace("\r\n", "\n")
    assert re.match(r"/dev/(pts/|tty)\S+\n17 91\n", text)
    assert f"\n{tmp_path}\n" in text
    assert f"\nODD={env['ODD']}\n" in text
    assert not {"HOME", "TERM", "PYTHONPATH"} & {line.partition("=")[0] for line in text.splitlines()}
    assert [int(word) for word in re.findall(r"\d+", text.splitlines()[-2])] == [pid] * 3
    assert text.endswith("zero it's one\n")
    if sys.platform == "linux":
        assert "\n0\n1\n2\n3\n" in text  # 3 is what `ls` reads the folder by
        assert "\n4\n" not in text


def test_exit_codes_and_signals_are_told_and_kept_until_forgotten(client: Client) -> None:
    client.sh("code", "exit 7")
    client.sh("signal", "kill -KILL $$")
    ended = client.exit("code")
    assert (ended["ended"], ended["code"], ended["signal"]) == (True, 7, None)
    assert client.exit("signal")["signal"] == signal.SIGKILL
    assert client.ok("adopt", key="code")["code"] == 7
    client.ok("forget", key="code")
    assert client.refusal("adopt", key="code") == "not_found"
    assert [child["key"] for child in client.ok("list")["children"]] == ["signal"]


def test_a_hundred_short_lived_children_all_end_with_their_own_code(client: Client) -> None:
    for number in range(100):
        client.sh(f"c{number}", f"exit {number}")
    assert [client.exit(f"c{number}")["code"] for number in range(100)] == list(range(100))


def test_what_a_child_printed_before_anybody_looked_is_complete(client: Client, host: Place) -> None:
    client.sh("a", "echo first; echo last; exit 3")
    client.exit("a")
    client.close()
    later = host.client()
    assert later.ok("adopt", key="a") | {"pid": 0} == {"pid": 0, "ended": True, "code": 3, "signal": None}
    assert drain(later.fds[-1]) == b"first\r\nlast\r\n"


OWNER = """
import os, select, signal, sys
sys.path[:0] = [{tests!r}, {root!r}]
from test_pty_host import Client
client = Client({path!r})
pid, fd = client.sh("a", "i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done; exit 7")
select.select([fd], [], [])
sys.stdout.buffer.write(os.read(fd, 8))
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_outlives_the_process_that_read_it_and_no_output_is_lost(host: Place) -> None:
    here = Path(__file__)
    code = OWNER.format(tests=str(here.parent), root=str(here.parents[2]), path=host.socket)
    owner = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=False)
    assert owner.returncode == -signal.SIGKILL, owner.stderr
    client = host.client()
    assert not client.ok("adopt", key="a")["ended"]
    text = owner.stdout + drain(client.fds[-1])
    assert text.replace(b"\r\n", b"\n") == b"".join(b"line %d\n" % n for n in range(40000))
    assert client.exit("a")["code"] == 7


@pytest.mark.parametrize(
    "fields",
    [
        {"key": 5},
        {"key": ""},
        {"argv": "sh"},
        {"argv": []},
        {"argv": [1]},
        {"argv": ["a\0b"]},
        {"env": None},
        {"env": {"A": 1}},
        {"env": {"A": "\0"}},
        {"cwd": ["/"]},
        {"cols": "80"},
        {"cols": True},
        {"cols": 0},
        {"rows": 65536},
    ],
)
def test_a_malformed_request_is_refused_and_harms_nothing(client: Client, fields: dict[str, Any]) -> None:
    good = {"key": "a", "argv": ["true"], "env": {}, "cwd": "/", "cols": 80, "rows": 24}
    assert client.refusal("spawn", **good | fields) == "invalid"
    assert client.ok("list") == {"children": []}


def test_a_key_is_used_once_and_running_children_are_not_forgotten(client: Client) -> None:
    client.sh("a", "read x")
    assert client.refusal("spawn", key="a", argv=["true"], env={}, cwd="/", cols=8, rows=2) == "exists"
    assert client.refusal("forget", key="a") == "running"
    assert client.refusal("shutdown") == "holding"
    assert client.refusal("dance") == "unknown_operation"
    assert client.ok("hello")["protocol"] == ptyhost.PROTOCOL


@pytest.mark.parametrize(
    "noise",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02{}",
        b"\x00\x00\x00\x02[]",
        b"\x00\x00\x00\x04nope",
        b"\x00\x00\x00\x02\xff\xfe",
        struct.pack(">I", 100_000) + b"[" * 100_000,
        b'\x00\x00\x00\x1f{"id": true, "op": "shutdown"}  ',
    ],
)
def test_a_connection_that_talks_nonsense_is_closed_and_nobody_else_notices(host: Place, noise: bytes) -> None:
    client, broken = host.client(), host.client()
    _, fd = client.sh("a", "read x; echo got $x")
    broken.sock.sendall(noise)
    assert broken.sock.recv(100) == b""
    os.write(fd, b"it\n")
    assert b"got it" in drain(fd)
    assert client.exit("a")["code"] == 0


def test_a_daemon_that_goes_away_in_mid_sentence_harms_nothing(host: Place) -> None:
    for _ in range(20):
        broken = host.client()
        broken.sock.sendall(ptyhost.frame({"id": 1, "op": "list"})[:-3])
        broken.close()
    assert host.client().ok("ping")["pid"] == host.process.pid


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_failed_starts_leak_no_descriptor(client: Client, host: Place) -> None:
    client.ok("ping")
    before = host.process.num_fds()
    for _ in range(20):
        good = {"key": "a", "argv": ["/bin/true"], "env": {}, "cwd": "/", "cols": 80, "rows": 24}
        assert client.refusal("spawn", **good | {"cwd": "/no/such/folder"}) == "spawn_failed"
        assert client.refusal("spawn", **good | {"argv": ["x" * 200_000]}) == "spawn_failed"
    assert host.process.num_fds() == before
    assert client.ok("list") == {"children": []}


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_forgotten_children_leave_nothing_behind(client: Client, host: Place) -> None:
    client.ok("ping")
    before = host.process.num_fds()
    for number in range(20):
        client.sh(f"c{number}", "exit 0")
        client.exit(f"c{number}")
        client.ok("forget", key=f"c{number}")
    assert host.process.num_fds() == before
    assert host.process.children() == []


def test_children_get_back_the_descriptor_limit_and_the_signals_of_a_fresh_process(client: Client) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, fd = client.sh("a", "ulimit -n; trap - HUP INT QUIT TERM PIPE TSTP; grep -h SigIgn /proc/self/status")
    words = drain(fd).split()
    assert int(words[0]) == soft
    if sys.platform == "linux":
        assert int(words[2], 16) == 0


def test_a_host_started_from_nohup_gives_its_children_a_hangup_that_works(place: Place) -> None:
    command = f"trap '' HUP INT QUIT; exec {sys.executable} -I -S {ptyhost.__file__} --socket {place.socket}"
    subprocess.run(
        f"{command} --lock {place.lock} --log {place.log} --idle 30", shell=True, check=True, timeout=SECONDS
    )
    client = place.client()
    pid, _ = client.sh("a", "echo; read x")
    place.process.send_signal(signal.SIGHUP)
    place.process.send_signal(signal.SIGINT)
    os.kill(pid, signal.SIGHUP)
    assert client.exit("a")["signal"] == signal.SIGHUP


def test_two_hosts_started_in_the_same_instant_leave_one(place: Place) -> None:
    command = [sys.executable, "-I", "-S", ptyhost.__file__, "--socket", place.socket, "--lock", str(place.lock)]
    command += ["--log", str(place.log), "--idle", "5"]
    starts = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    codes = sorted(start.wait(SECONDS) for start in starts)
    for start in starts:
        assert start.stderr is not None
        start.stderr.close()
    assert codes == [0, ptyhost.LOCKED, ptyhost.LOCKED, ptyhost.LOCKED]
    assert place.client().ok("hello")["pid"] == place.process.pid


def test_an_idle_host_ends_by_itself_and_takes_its_socket_along(place: Place) -> None:
    place.idle = "0.1"
    place.start()
    wait_gone(place.pid)
    assert not os.path.exists(place.socket)


def test_a_host_that_holds_a_terminal_stays_and_one_with_an_unclaimed_exit_stays_for_its_time(place: Place) -> None:
    place.idle = "1.5"
    place.start("--linger", "0.5")
    client = place.client()
    _, fd = client.sh("a", "read x")
    os.write(fd, b"\n")
    client.exit("a")
    ended = time.monotonic()
    client.close()
    wait_gone(place.pid)
    assert time.monotonic() - ended >= 0.5
    assert "nobody asked how a ended" in place.log.read_text()


def test_a_host_whose_socket_was_tidied_away_listens_again(client: Client, host: Place) -> None:
    client.sh("a", "read x")
    os.unlink(host.socket)
    for _ in range(2):  # it looks behind each answer
        client.ok("ping")
    assert host.client().ok("list")["children"][0]["key"] == "a"


def test_terminating_the_host_hangs_up_its_terminals(client: Client, host: Place) -> None:
    pid, _ = client.sh("a", "read x")
    for each in client.fds:
        os.close(each)
    client.fds = []
    host.process.terminate()
    wait_gone(pid)


def test_a_folder_that_is_a_link_or_open_to_others_is_not_trusted(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(PermissionError):
        ptyhost.make_private(str(tmp_path / "link"))
    ptyhost.make_private(str(target))
    assert target.stat().st_mode & 0o777 == 0o700


def test_a_host_that_cannot_listen_says_why(place: Place) -> None:
    place.socket = f"/tmp/{'x' * 200}/host.sock"
    done = place.start()
    assert done.returncode == 1
    assert b"cannot listen on" in done.stderr


def test_the_host_imports_nothing_but_the_standard_library() -> None:
    code = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='x'); print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", code, ptyhost.__file__]
    names = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout.split()
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"__main__"} == set()
