"""Counting processes, alone and together."""

from __future__ import annotations

import os
import subprocess

import gevent

from whisk.actors.census import Census, count
from whisk.actors.offload import offload

SECONDS = 20.0


def test_everybody_alive_is_counted_with_parent_session_and_mark() -> None:
    env = {"PATH": os.environ["PATH"], "WHISK_PTY_ID": "pty_x"}
    child = subprocess.Popen(["sleep", "1000"], env=env, start_new_session=True)
    try:
        (found,) = [each for each in count() if each.process.pid == child.pid]
        assert (found.parent, found.session, found.mark) == (os.getpid(), child.pid, "pty_x")
    finally:
        child.kill()
        # Until it is waited for it is a zombie, which is nobody.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.pid not in {each.process.pid for each in count()}
        child.wait(SECONDS)


def test_those_who_ask_together_share_a_count_and_a_late_one_gets_its_own() -> None:
    census = Census()
    greenlets = [gevent.spawn(census.take) for _ in range(50)]
    gevent.joinall(greenlets, timeout=SECONDS)
    counts = {id(greenlet.value) for greenlet in greenlets}
    assert len(counts) <= 2
    assert id(census.take()) not in counts


def test_when_the_one_who_counts_is_ended_the_others_are_counted_for() -> None:
    census = Census()
    first, *others = [gevent.spawn(census.take) for _ in range(5)]
    gevent.sleep(0)
    first.kill()
    gevent.joinall(others, timeout=SECONDS)
    assert all(os.getpid() in {each.process.pid for each in other.value} for other in others)


def test_a_count_may_run_on_any_thread() -> None:
    assert os.getpid() in {each.process.pid for each in offload(count)}
