"""The specification of the command runtime, sentence by sentence and in its order: closing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.commands.shelf import batch, command
from whisk.commands import (
    EMPTY,
    Closed,
    CommandRuntime,
    ExecutionInput,
    Handled,
    InvalidContributionError,
    RuntimeClosedError,
    Snapshot,
)


def test_close_is_synchronous_and_idempotent_and_returns_nothing(runtime: CommandRuntime) -> None:
    assert [runtime.close(), runtime.close()] == [None, None]  # type: ignore[func-returns-value]


def test_the_first_call_releases_every_contribution_and_leaves_the_shared_empty_snapshot(
    runtime: CommandRuntime,
) -> None:
    told: list[Snapshot] = []
    runtime.subscribe(lambda: told.append(runtime.snapshot()))
    runtime.contribute("s", "a", batch(["a.x"]))
    runtime.close()
    assert runtime.snapshot() is EMPTY
    assert told[-1] is EMPTY
    assert CommandRuntime().snapshot() is EMPTY


def test_leases_issued_earlier_become_harmless(runtime: CommandRuntime) -> None:
    lease = runtime.contribute("s", "a", batch(["a.x"]))
    runtime.close()
    assert (lease.live, lease.update([command("", title="")]), lease.dispose()) == (False, False, False)


def test_an_execution_begun_before_close_still_settles(runtime: CommandRuntime) -> None:
    started, go_on = threading.Event(), threading.Event()
    outcomes: list[Any] = []

    def act(_: ExecutionInput[Any]) -> str:
        started.set()
        assert go_on.wait(10)
        return "finished"

    runtime.contribute("s", "a", [command("a.x", act)])
    worker = threading.Thread(target=lambda: outcomes.append(runtime.execute("a.x")))
    worker.start()
    assert started.wait(10)
    runtime.close()
    go_on.set()
    worker.join(10)
    assert outcomes == [Handled(result="finished")]


def test_a_later_execute_returns_closed_and_a_later_valid_contribute_throws(runtime: CommandRuntime) -> None:
    runtime.close()
    assert runtime.execute("a.x") == Closed()
    with pytest.raises(RuntimeClosedError):
        runtime.contribute("s", "a", batch(["a.x"]))
    with pytest.raises(InvalidContributionError):
        runtime.contribute("", "a", batch(["a.x"]))
