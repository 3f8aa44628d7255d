"""`expect` on terminals with real children."""

from __future__ import annotations

import time

import pytest

from tests.actors.conftest import SECONDS, Terminals, ended, seen
from whisk.actors.future import Future, get, wait
from whisk.actors.pty import PtyHandle
from whisk.errors import BusyError, CancelledError, DeadlineError, InvalidError, NotFoundError, TerminalEndedError
from whisk.terminal.pty import Expectation


def expecting(
    pty: PtyHandle, *patterns: str, timeout: float = SECONDS, start: int | None = None, exact: bool = False
) -> Future[Expectation]:
    return pty.expect.options(timeout=None).remote(patterns, timeout, start, exact=exact)


def test_a_dialogue_goes_on_behind_each_match(terminals: Terminals) -> None:
    pty = terminals.sh("stty -echo; printf 'name? '; read n; printf 'hello %s, age? ' $n; read a; echo $n is $a")
    first = get(expecting(pty, r"(\w+)\? ", start=0), SECONDS)
    assert (first.match, first.groups, first.before, first.offset) == ("name? ", ("name",), "", 6)
    get(pty.write.remote(b"ada\n"))
    second = get(expecting(pty, "never", r"age(x)?\? ", start=first.offset), SECONDS)
    assert (second.index, second.before, second.groups) == (1, "hello ada, ", (None,))
    get(pty.write.remote(b"36\n"))
    assert get(expecting(pty, "ada is 36", start=second.offset), SECONDS).before == ""


def test_without_a_start_only_what_comes_now_counts(terminals: Terminals) -> None:
    pty = terminals.sh("stty -echo; echo ready; read x; echo ready again; read x")
    seen(pty, "ready")
    late = expecting(pty, "ready")
    get(pty.write.remote(b"\n"))
    assert get(expecting(pty, "again", start=0), SECONDS).offset > 7
    assert get(late, SECONDS).offset >= 12


def test_bytes_that_are_not_text_do_not_shift_the_offset(terminals: Terminals) -> None:
    pty = terminals.sh(r"printf 'caf\303\251 \377\376 end> \342\202'; read x")
    found = get(expecting(pty, "\u00e9 (..) end> ", start=0), SECONDS)
    assert found.before == "caf"
    assert found.groups == ("\ufffd\ufffd",)
    assert get(pty.read.remote(0, found.offset)).data == b"caf\xc3\xa9 \xff\xfe end> "


def test_exact_text_is_no_pattern(terminals: Terminals) -> None:
    pty = terminals.sh("echo 'a.c? (x) [y'; read x")
    assert get(expecting(pty, "c? (x) [", start=0, exact=True), SECONDS).before == "a."


def test_no_match_in_time_says_what_was_seen(terminals: Terminals) -> None:
    pty = terminals.sh("echo something else; read x")
    seen(pty, "else")
    with pytest.raises(DeadlineError) as late:
        get(expecting(pty, "never", timeout=0.05, start=0), SECONDS)
    assert late.value.details["seen"].strip() == "something else"
    with pytest.raises(DeadlineError):
        get(expecting(pty, "never", timeout=0, start=0), SECONDS)
    assert get(expecting(pty, "else", timeout=0, start=0), SECONDS).index == 0


def test_the_end_of_the_terminal_ends_the_waiting(terminals: Terminals) -> None:
    pty = terminals.sh("echo last words; read x; exit 1")
    waiting = expecting(pty, "never", start=0)
    seen(pty, "words")
    get(pty.write.remote(b"\n"))
    with pytest.raises(TerminalEndedError) as end:
        get(waiting, SECONDS)
    assert "last words" in end.value.details["seen"]
    ended(pty)
    assert get(expecting(pty, "last", start=0), SECONDS).offset == 4
    with pytest.raises(TerminalEndedError):
        get(expecting(pty, "never"), SECONDS)


@pytest.mark.parametrize(
    "patterns", [(), ("",), ("(",), ("x" * 5000,), ("x",) * 33, ("x{99999999999}",), ("(?P<a>x)(?P<a>y)",)]
)
def test_what_is_no_pattern_is_refused_at_once(terminals: Terminals, patterns: tuple[str, ...]) -> None:
    pty = terminals.sh("read x")
    with pytest.raises(InvalidError):
        get(expecting(pty, *patterns))


def test_times_are_checked_and_unknown_terminals_refused(terminals: Terminals) -> None:
    pty = terminals.sh("read x")
    for timeout in (-1, 4000, float("nan")):
        with pytest.raises(InvalidError):
            get(expecting(pty, "x", timeout=timeout))
    with pytest.raises(NotFoundError):
        get(expecting(terminals.adopt("pty_unknown"), "x"))


def test_many_may_expect_at_once_but_not_without_end(terminals: Terminals) -> None:
    pty = terminals.sh("read x; echo word; read x")
    waiting = [expecting(pty, "word", start=0) for _ in range(64)]
    get(pty.info.remote())
    with pytest.raises(BusyError):
        get(expecting(pty, "word"))
    get(pty.write.remote(b"\n"))
    wait(waiting, num_returns=64, timeout=SECONDS)
    assert {get(each).before for each in waiting} == {"\r\n"}


def test_giving_up_frees_the_place(terminals: Terminals) -> None:
    pty = terminals.sh("read x")
    waiting = [expecting(pty, "never") for _ in range(64)]
    get(pty.info.remote())
    assert all(each.cancel() for each in waiting)
    with pytest.raises(CancelledError):
        get(waiting[0])
    with pytest.raises(DeadlineError):
        get(expecting(pty, "never", timeout=0.01), SECONDS)
    facts = terminals.system.describe(pty.name).facts
    assert (facts["expecting"], facts["followers"]) == (0, 0)


def test_a_flood_without_a_match_fills_no_memory(terminals: Terminals) -> None:
    pty = terminals.sh("stty -opost; head -c 20000000 /dev/zero | tr '\\0' y; printf END; read x")
    found = get(expecting(pty, "END", start=0), SECONDS)
    assert found.offset == 20_000_003
    assert len(found.before) <= 65_536


def test_a_pattern_that_would_search_for_ever_is_given_up(terminals: Terminals) -> None:
    pty = terminals.sh("printf %070d 1; echo; read x; echo found $x")
    seen(pty, "1\r\n")
    started = time.monotonic()
    searching = [expecting(pty, r"(0+0?)+X", start=0) for _ in range(3)]
    other = expecting(pty, "found it", start=0)
    for each in searching:
        with pytest.raises(InvalidError, match="takes too long"):
            get(each, SECONDS)
    get(pty.write.remote(b"it\n"))
    assert get(other, SECONDS).match == "found it"
    assert time.monotonic() - started < 5
