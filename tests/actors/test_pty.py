"""Terminals with real children."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.actors.conftest import SECONDS, Terminals, all_output, ended, killed, seen
from whisk.actors.actor import Actor
from whisk.actors.future import get, wait
from whisk.errors import (
    BusyError,
    ConflictError,
    DeadlineError,
    InvalidError,
    NotFoundError,
    RefusedError,
    SpawnError,
    TerminalEndedError,
    TooLargeError,
)
from whisk.storage import terminal as storage
from whisk.terminal.pty import PtyInfo, PtySpec


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"))


def test_a_child_runs_prints_and_exits_with_its_code(terminals: Terminals) -> None:
    pty = terminals.sh("echo hello; read x; exit 3", session_id="sess_1", pane_id="pane_1", window_id="win_1")
    info = get(pty.info.remote())
    assert (info.status, info.running, info.session_id, info.origin_pane_id) == ("running", True, "sess_1", "pane_1")
    seen(pty, "hello")
    get(pty.write.remote(b"\n"))
    info = ended(pty)
    assert (info.status, info.running, info.exit_code, info.signal) == ("exited", False, 3, None)
    assert all_output(pty) == b"hello\r\n\r\n"
    assert info.output_offset == 9
    assert info.ended_at is not None


def test_what_is_shown_is_what_is_stored(terminals: Terminals) -> None:
    pty = terminals.sh("exit 5")
    info = ended(pty)
    record = terminals.store.read(lambda db: storage.get(db, info.id))
    assert (record.status, record.exit_code, record.argv[0]) == ("exited", 5, "/bin/sh")


def test_a_child_that_exits_at_once_keeps_its_output_and_code(terminals: Terminals) -> None:
    for code in range(20):
        pty = terminals.sh(f"echo out {code}; exit {code}")
        assert ended(pty).exit_code == code
        assert all_output(pty) == b"out %d\r\n" % code


def test_a_hundred_children_at_once_all_end_with_their_own_code(terminals: Terminals) -> None:
    ptys = [terminals.adopt(f"pty_{code}") for code in range(100)]
    env = {"PATH": os.environ["PATH"]}
    starts = [
        pty.launch.options(timeout=None).remote(PtySpec(argv=("sh", "-c", f"exit {code}"), working_dir="/", env=env))
        for code, pty in enumerate(ptys)
    ]
    wait(starts, num_returns=100, timeout=SECONDS)
    assert [ended(pty).exit_code for pty in ptys] == list(range(100))


def test_a_signal_that_was_not_ours_is_an_exit(terminals: Terminals) -> None:
    info = ended(terminals.sh("kill -SEGV $$"))
    assert (info.status, info.exit_code, info.signal) == ("exited", 139, 11)


def test_a_child_that_keeps_the_terminal_open_in_the_background_does_not_keep_it_alive(terminals: Terminals) -> None:
    pty = terminals.sh("(trap '' HUP; echo up; exec sleep 1000) & read x; exit 4")
    seen(pty, "up")
    get(pty.write.remote(b"\n"))
    assert ended(pty).exit_code == 4
    assert all_output(pty) == b"up\r\n\r\n"
    assert killed(pty, 0.1).signalled == 1


class Owner(Actor):
    def __init__(self, told: list[PtyInfo]) -> None:
        super().__init__()
        self._told = told

    def pty_ended(self, info: PtyInfo) -> None:
        self._told.append(info)


def test_owners_and_followers_of_events_are_told(terminals: Terminals) -> None:
    told: list[PtyInfo] = []
    terminals.system.spawn(Owner, told, name="session:s")
    pty = terminals.sh("echo x; exit 1", owners=("session:s", "run:gone"))
    info = ended(pty)
    get(terminals.system.stop("session:s"), SECONDS)
    assert told == [info]
    at, kinds = 0, set()
    while not {"pty.changed", "pty.output"} <= kinds:
        batch = get(terminals.events.follow.options(timeout=None).remote(at), SECONDS)
        at = batch.next
        kinds |= {event.type for event in batch.events if event.pty_id == info.id}


@pytest.mark.parametrize(
    ("argv", "folder", "reason"),
    [
        (("no-such-program-anywhere",), "/", "executable_not_found"),
        (("/no/such/program",), "/", "executable_not_found"),
        (("./plain",), None, "not_executable"),
        (("./script",), None, "bad_interpreter"),
        (("/etc",), "/", "not_executable"),
        (("sh",), "/no/such/folder", "bad_working_dir"),
        (("sh",), "/etc/passwd", "bad_working_dir"),
    ],
)
def test_what_cannot_be_started_says_why_and_leaks_nothing(
    terminals: Terminals, tmp_path: Path, argv: tuple[str, ...], folder: str | None, reason: str
) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "script").write_text("#!/no/such/interpreter\n")
    (tmp_path / "script").chmod(0o755)
    ended(terminals.sh("exit 0"))
    before = descriptors()
    pty = terminals.adopt("pty_bad")
    spec = PtySpec(argv=argv, working_dir=folder or str(tmp_path), env={"PATH": os.environ["PATH"]})
    with pytest.raises(SpawnError) as refusal:
        get(pty.launch.remote(spec))
    assert refusal.value.details["reason"] == reason
    info = get(pty.info.remote())
    assert info.status == "failed"
    assert info.error == refusal.value.message
    assert get(terminals.host.children.remote()) == ()
    assert descriptors() <= before + 1  # the pool of threads may have grown by a reader of the database


def test_a_terminal_is_launched_once_and_what_was_never_launched_is_not_found(terminals: Terminals) -> None:
    pty = terminals.adopt("pty_1")
    with pytest.raises(NotFoundError):
        get(pty.info.remote())
    with pytest.raises(InvalidError):
        get(pty.launch.remote(PtySpec(argv=(), working_dir="/", env={})))
    spec = PtySpec(argv=("/bin/sh", "-c", "read x"), working_dir="/", env={})
    get(pty.launch.remote(spec))
    with pytest.raises(ConflictError):
        get(pty.launch.remote(spec))


def test_text_is_typed_once_the_child_runs(terminals: Terminals) -> None:
    pty = terminals.sh("read x; echo got $x", typed="word\r")
    assert b"got word" in all_output(pty)


def test_followers_wait_until_there_is_something_or_their_time_is_over(terminals: Terminals) -> None:
    pty = terminals.sh("read x; printf abc; read x")
    nothing = get(pty.follow.remote(0, 100, 0.01))
    assert (nothing.data, nothing.ended) == (b"", False)
    several = [pty.follow.remote(2, limit, 20.0) for limit in (1, 100, 100)]
    assert several[2].cancel()
    get(pty.write.remote(b"\n"))
    assert [get(each, SECONDS).data for each in several[:2]] == [b"a", b"abc"]
    late = pty.follow.remote(5, 100, 20.0)
    get(pty.write.remote(b"\n"))
    assert get(late).offset == 5
    while not (last := get(pty.follow.remote(7, 100, 20.0))).ended:
        pass
    assert last.data == b""


def test_a_slow_reader_skips_forward_and_is_told_and_the_disk_has_it_all(
    make_terminals: object, tmp_path: Path
) -> None:
    terminals: Terminals = make_terminals(ring_bytes=4096)  # type: ignore[operator]
    pty = terminals.sh("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done")
    whole = b"".join(b"line %d\r\n" % n for n in range(3000))
    assert ended(pty).output_offset == len(whole)
    late = get(pty.follow.remote(10, 100, 5.0))
    assert (late.offset, late.skipped) == (len(whole) - 4096, len(whole) - 4096 - 10)
    assert late.data == whole[late.offset :][:100]
    assert get(pty.read.remote(10, 1 << 20)).data == whole[10:]
    assert get(pty.read.remote(-5, 100)).data == whole[-5:]


def test_the_transcript_is_bounded(make_terminals: object) -> None:
    terminals: Terminals = make_terminals(ring_bytes=4096, transcript_bytes=32_000)  # type: ignore[operator]
    pty = terminals.sh("head -c 1000000 /dev/zero | tr '\\0' x")
    assert ended(pty).output_offset == 1_000_000
    folder = terminals.services.transcripts / get(pty.info.remote()).id
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 32_000
    piece = get(pty.read.remote(0, 1 << 20))
    assert piece.skipped == piece.offset > 900_000


def test_sizes_are_checked_and_reach_the_child(terminals: Terminals) -> None:
    pty = terminals.sh("trap 'stty size; exit 0' WINCH; stty size; while :; do sleep 0.01; done", cols=91, rows=17)
    seen(pty, "17 91")
    for cols, rows in ((0, 24), (80, 0), (65535, 65535), (1001, 24), (-1, 5)):
        with pytest.raises(InvalidError):
            get(pty.resize.remote(cols, rows))
    info = get(pty.resize.remote(132, 43))
    assert (info.cols, info.rows) == (132, 43)
    seen(pty, "43 132")
    ended(pty)
    with pytest.raises(TerminalEndedError):
        get(pty.resize.remote(80, 24))


def test_the_title_and_folder_that_a_program_sets_are_shown(terminals: Terminals) -> None:
    pty = terminals.sh(r"printf '\033]0;building\007\033]7;file://h/src\033\\ready'; read x")
    seen(pty, "ready")
    info = get(pty.info.remote())
    assert (info.title, info.terminal_working_directory) == ("building", "/src")


def test_input_waits_for_a_child_that_does_not_read_and_holds_nobody_up(terminals: Terminals) -> None:
    pty = terminals.sh("stty raw -echo; echo ready; read x; sleep 1000")
    other = terminals.sh("read x; echo other $x")
    seen(pty, "ready")
    block = b"x" * 400_000
    first = [pty.write.options(timeout=None).remote(block) for _ in range(2)]
    with pytest.raises(BusyError):
        get(pty.write.remote(block))
    get(other.write.remote(b"here\n"))
    seen(other, "other here")
    assert not any(each.done() for each in first)
    killed(pty, 0.2)
    for each in first:
        with pytest.raises(TerminalEndedError):
            get(each)


def test_much_input_arrives_whole_and_in_order(terminals: Terminals) -> None:
    pty = terminals.sh("stty raw -echo; echo ready; head -c 600000 | cksum")
    seen(pty, "ready")
    data = os.urandom(200_000)
    writes = [pty.write.options(timeout=None).remote(data, whole_lines=False) for _ in range(3)]
    assert get(writes, SECONDS) == [200_000] * 3
    # POSIX cksum, so that the test needs no file and no tool of its own.
    assert f"{cksum(data * 3)} 600000".encode() in all_output(pty)


def cksum(data: bytes) -> int:
    crc = 0
    length = len(data)
    while length:
        data += bytes([length & 255])
        length >>= 8
    table = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = (value << 1) ^ (0x04C11DB7 if value & 0x80000000 else 0)
        table.append(value & 0xFFFFFFFF)
    for byte in data:
        crc = ((crc << 8) ^ table[(crc >> 24) ^ byte]) & 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF


def test_a_line_that_the_kernel_would_cut_is_refused_unless_the_terminal_reads_keys(terminals: Terminals) -> None:
    pty = terminals.sh("read x; echo got ${#x}; stty raw -echo; echo ready; head -c 6001 | wc -c")
    line = b"x" * 6000 + b"\n"
    with pytest.raises(TooLargeError) as refusal:
        get(pty.write.remote(line))
    assert refusal.value.details["limit"] in (4095, 1024)
    get(pty.write.remote(b"short\n" * 1))
    seen(pty, "got 5")
    seen(pty, "ready")
    get(pty.write.remote(line))
    seen(pty, "6001")


def test_a_long_command_line_reaches_a_shell(terminals: Terminals) -> None:
    # Less than the 1024 bytes that macOS keeps of a line; Linux keeps four times as many.
    pty = terminals.launch("/bin/sh", "-i")
    seen(pty, r"\$ ")
    get(pty.write.remote(b"echo " + b"y" * 1000 + b"\r"))
    seen(pty, r"\ny{1000}\r")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of Linux")
def test_without_the_check_a_line_of_6000_bytes_arrives_as_4095(terminals: Terminals) -> None:
    pty = terminals.sh("stty -echo; echo ready; read x; echo got ${#x}")
    seen(pty, "ready")
    get(pty.write.remote(b"x" * 6000 + b"\n", whole_lines=False))
    seen(pty, "got 4095")


def test_a_snapshot_shows_the_screen_and_where_the_output_goes_on(terminals: Terminals) -> None:
    pty = terminals.sh(r"stty -echo; printf 'one\r\n\033[1mtwo\033[0m'; read x; printf '\033[2J\033[Hthree'; read x")
    seen(pty, "two")
    first = get(pty.snapshot.remote(), SECONDS)
    assert "one\r\n\x1b[0;1mtwo" in first.viewport_ansi
    assert first.offset == get(pty.info.remote()).output_offset
    get(pty.resize.remote(40, 10))
    get(pty.write.remote(b"\n"))
    seen(pty, "three")
    second = get(pty.snapshot.remote(), SECONDS)
    assert (second.cols, second.rows) == (40, 10)
    assert second.viewport_ansi.startswith("\x1b[H\x1b[2Jthree")


def test_a_terminal_moves_between_panes_and_remembers_where_it_began(terminals: Terminals) -> None:
    pty = terminals.sh("read x", session_id="sess_1", window_id="win_1", pane_id="pane_1")
    info = get(pty.move.remote("sess_1", "", ""))
    assert (info.pane_id, info.origin_pane_id) == ("", "pane_1")
    assert terminals.store.read(lambda db: storage.get(db, info.id)).pane_id == ""


def test_removing_deletes_the_record_and_the_transcript_of_an_ended_terminal(terminals: Terminals) -> None:
    pty = terminals.sh("echo x; read x")
    pty_id = get(pty.info.remote()).id
    with pytest.raises(RefusedError):
        get(pty.remove.remote())
    killed(pty)
    get(pty.remove.remote())
    assert terminals.store.read(lambda db: storage.find(db, pty_id)) is None
    assert not (terminals.services.transcripts / pty_id).exists()
    with pytest.raises(NotFoundError):
        get(pty.info.remote())


def test_waiting_for_an_exit_that_does_not_come_ends_with_the_callers_own_deadline(terminals: Terminals) -> None:
    pty = terminals.sh("read x")
    with pytest.raises(DeadlineError):
        get(pty.wait_exit.remote(), 0.05)
