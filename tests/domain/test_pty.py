import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.terminal.keys import longest_line, typed
from whisk.terminal.pty import PtyRecord, PtySpec, check_size, check_spec, end, fail, info, new_record, run
from whisk.values import decode, encode

SPEC = PtySpec(
    argv=("sh",), working_dir="/tmp", env={"A": "b"}, window_id="win_1", pane_id="pane_1", session_id="sess_1"
)
NEW = new_record("pty_1", SPEC, Instant(1))


def test_a_terminal_runs_and_exits_with_its_code() -> None:
    record = end(run(NEW, 42, 1.5, Instant(2)), 3, None, False, Instant(3))
    assert (record.status, record.exit_code, record.ended_at) == ("exited", 3, 3)


def test_a_signal_becomes_the_code_that_shells_give_it() -> None:
    record = end(run(NEW, 42, 1.5, Instant(2)), None, 9, False, Instant(3))
    assert (record.status, record.exit_code, record.signal) == ("exited", 137, 9)


def test_an_end_that_nobody_saw_is_lost_with_an_unknown_code() -> None:
    record = end(run(NEW, 42, 1.5, Instant(2)), None, None, False, Instant(3))
    assert (record.status, record.exit_code) == ("lost", -1)


def test_a_later_exit_never_overwrites_killed() -> None:
    killed = end(run(NEW, 42, 1.5, Instant(2)), None, 15, True, Instant(3))
    assert end(killed, 0, None, False, Instant(9)) == killed
    assert fail(killed, "x", Instant(9)) == killed
    assert killed.status == "killed"


def test_adopting_does_not_move_the_start() -> None:
    once = run(NEW, 42, 1.5, Instant(2))
    assert run(once, 42, 1.5, Instant(50)).started_at == 2


def test_the_environment_is_not_in_what_is_stored() -> None:
    stored = encode(NEW)
    assert b'"A"' not in stored
    assert decode(stored, PtyRecord) == NEW


def test_the_wire_form_has_every_field_that_clients_require() -> None:
    wire = decode(encode(info(run(NEW, 42, 1.5, Instant(2)), 10)), dict)
    assert {"id", "workingDir", "cols", "rows", "running", "status", "sessionId", "windowId", "paneId"} <= wire.keys()
    assert (wire["originPaneId"], wire["outputOffset"], wire["running"]) == ("pane_1", 10, True)


@pytest.mark.parametrize("size", [(0, 24), (80, 0), (-1, 24), (1001, 24), (65535, 65535)])
def test_sizes_that_no_screen_has_are_refused(size: tuple[int, int]) -> None:
    with pytest.raises(InvalidError):
        check_size(*size)


@pytest.mark.parametrize(
    "changed",
    [
        {"argv": ()},
        {"argv": ("",)},
        {"argv": ("a", "b\0c")},
        {"working_dir": "relative"},
        {"env": {"A=B": "x"}},
        {"env": {"": "x"}},
        {"env": {"A": "\0"}},
        {"cols": 0},
        {"typed": "\ud800"},
    ],
)
def test_what_cannot_be_started_is_refused_by_name(changed: dict[str, object]) -> None:
    fields = {"argv": ("sh",), "working_dir": "/tmp", "env": {}} | changed
    with pytest.raises(InvalidError):
        check_spec(PtySpec(**fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "keys"), [("ls\n", b"ls\r"), ("ls\r\n", b"ls\r"), ("a\nb\n\n", b"a\nb\n\r"), ("x", b"x")]
)
def test_one_trailing_line_end_becomes_enter(text: str, keys: bytes) -> None:
    assert typed(text) == keys


def test_the_longest_line_is_measured_between_line_ends() -> None:
    assert longest_line(b"ab\rabcd\nabc") == 4
    assert longest_line(b"") == 0
