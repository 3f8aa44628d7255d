"""Terminals in numbers and floods."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import gevent
import psutil
import pytest

from tests.actors.conftest import SECONDS, Terminals, ended, seen
from tests.actors.test_pty_adoption import live_and_die
from whisk.actors.future import get, wait


def greenlets() -> int:
    gc.collect()
    return sum(isinstance(each, gevent.Greenlet) and not each.dead for each in gc.get_objects())


class Latency:
    """How late the hub gives the turn to a greenlet that asks for it every five milliseconds."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self._greenlet = gevent.spawn(self._measure)

    def _measure(self) -> None:
        while True:
            before = time.perf_counter()
            gevent.sleep(0.005)
            self.late.append(time.perf_counter() - before - 0.005)

    def stop(self) -> tuple[float, float]:
        """Median and worst, in milliseconds."""
        self._greenlet.kill()
        late = sorted(self.late)
        return late[len(late) // 2] * 1000, late[-1] * 1000


def speak_and_close(terminals: Terminals, count: int) -> None:
    ptys = [terminals.sh("read x; echo got $x") for _ in range(count)]
    for number, pty in enumerate(ptys):
        get(pty.write.remote(b"%d\n" % number))
    for number, pty in enumerate(ptys):
        seen(pty, rf"got {number}\r\n")
        assert ended(pty).exit_code == 0
    stops = [terminals.system.stop(pty.name) for pty in ptys]
    wait(stops, num_returns=count, timeout=SECONDS)


@pytest.mark.parametrize("count", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_terminals_that_were_opened_spoken_to_and_closed_leave_nothing(terminals: Terminals, count: int) -> None:
    speak_and_close(terminals, 5)  # threads, connections and caches that are there to stay
    host = psutil.Process(int(str(terminals.system.describe("pty-host").facts["host"])))
    before = (greenlets(), len(terminals.system.names()), len(host.children()))
    open_files = len(os.listdir("/dev/fd"))
    files = host.num_fds()
    speak_and_close(terminals, count)
    get(terminals.host.children.remote())
    assert (greenlets(), len(terminals.system.names()), len(host.children())) == before
    # A thread of the pool may have given one back meanwhile.
    assert len(os.listdir("/dev/fd")) <= open_files
    assert host.num_fds() == files
    assert gc.garbage == []


@pytest.mark.parametrize("megabytes", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_flood_of_output_leaves_the_hub_to_others(
    terminals: Terminals, megabytes: int, record_property: Callable[[str, object], None]
) -> None:
    pty = terminals.sh(f"stty -opost; head -c {megabytes}000000 /dev/zero | tr '\\0' x")
    latency = Latency()
    started = time.perf_counter()
    info = ended(pty)
    took = time.perf_counter() - started
    median, worst = latency.stop()
    print(  # noqa: T201 (for `pytest -s`, next to the bound)
        f"{megabytes} MB in {took:.2f} s ({megabytes / took:.0f} MB/s); hub late {median:.2f} ms, worst {worst:.1f} ms"
    )
    record_property("hubLateWorstMs", worst)
    assert info.output_offset == megabytes * 1_000_000
    assert worst < 100


def test_a_slow_follower_does_not_slow_the_child(make_terminals: Callable[..., Terminals]) -> None:
    terminals = make_terminals(ring_bytes=16_384)
    pty = terminals.sh("stty -opost; head -c 2000000 /dev/zero | tr '\\0' x; exit 3")
    at, skipped = 0, 0
    while True:
        output = get(pty.follow.remote(at, 1000, 5.0))
        at, skipped = output.next, skipped + output.skipped
        if output.ended and not output.data:
            break
        gevent.sleep(0.01)
    assert at == 2_000_000
    assert skipped > 1_000_000
    assert ended(pty).exit_code == 3


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_many_terminals_are_killed_together_within_seconds(terminals: Terminals, count: int) -> None:
    ptys = [terminals.sh("trap '' HUP; read x") for _ in range(count)]
    started = time.perf_counter()
    kills = [pty.kill.options(timeout=None).remote(0.5) for pty in ptys]
    reports = get(kills, SECONDS)
    assert {(report.info.status, report.left) for report in reports} == {("killed", ())}
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("rounds", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_a_daemon_killed_in_the_middle_of_a_flood_loses_no_line(
    make_terminals: Callable[..., Terminals], tmp_path: Path, rounds: int
) -> None:
    script = "i=0; while [ $i -lt 15000 ]; do echo line $i; i=$((i+1)); done; exit 7"
    whole = b"".join(b"line %d\r\n" % number for number in range(15000))
    for number in range(rounds):
        pty_id, _ = live_and_die(tmp_path, script, rf"line {number * 300}\r")
        terminals = make_terminals(ring_bytes=1 << 20)
        pty = terminals.adopt(pty_id)
        assert ended(pty).exit_code == 7
        data = get(pty.read.remote(0, 1 << 20)).data
        assert data == whole, re.sub(rb"\r\n", b" ", data[-60:])
        if number < rounds - 1:
            terminals.close()
            terminals.system.close()
