"""The specification of the runtime, sentence by sentence and in its order: execution, availability and failures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.commands.shelf import Screen, batch, command, everywhere
from whisk.commands import (
    AVAILABLE,
    ORIGINS,
    Availability,
    Closed,
    CommandError,
    CommandRuntime,
    ErrorInfo,
    ExecutionInput,
    Failed,
    Handled,
    Invalid,
    Missing,
    Unavailable,
    unavailable,
)
from whisk.commands.projection import SURFACES
from whisk.errors import InvalidError


def test_execute_is_the_only_way_a_handler_runs(runtime: CommandRuntime) -> None:
    ran: list[str] = []
    lease = runtime.contribute("s", "a", [command("a.x", lambda _: ran.append("x"), availability=lambda: AVAILABLE)])
    runtime.snapshot()
    lease.update([command("a.x", lambda _: ran.append("x"))])
    assert ran == []
    assert runtime.execute("a.x") == Handled()
    assert ran == ["x"]


def test_the_origin_is_one_of_eight_closed_ones(runtime: CommandRuntime) -> None:
    assert set(ORIGINS) == {"agent", "browser", "keyboard", "menu", "palette", "programmatic", "slash", "terminal"}
    runtime.contribute("s", "a", [command("a.x", lambda input: input.origin)])
    assert [runtime.execute("a.x", ExecutionInput(origin)) for origin in ORIGINS] == [
        Handled(result=origin) for origin in ORIGINS
    ]
    with pytest.raises(InvalidError, match="unknown origin 'gui'"):
        ExecutionInput("gui")  # type: ignore[arg-type]


def test_handled_the_handlers_return_value_is_in_result(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.x"), command("a.none", lambda _: None)])
    assert runtime.execute("a.x", ExecutionInput("agent", {"n": [1]})) == Handled(result={"n": (1,)})
    assert runtime.execute("a.none") == Handled(result=None)


def test_unavailable_the_reason_comes_back(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.x", availability=lambda: unavailable("no file is open"))])
    assert runtime.execute("a.x") == Unavailable(command_id="a.x", reason="no file is open")


def test_failed_the_error_is_json(runtime: CommandRuntime) -> None:
    def fail(_: ExecutionInput[Any]) -> None:
        raise CommandError("disk_full", "the disk is full", {"free": 0})

    runtime.contribute("s", "a", [command("a.x", fail)])
    assert runtime.execute("a.x") == Failed(
        ErrorInfo(code="disk_full", message="the disk is full", details={"free": 0})
    )


def test_missing_no_live_command_has_that_id(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", batch(["a.x"])).dispose()
    assert runtime.execute("a.x") == Missing(command_id="a.x")


def test_invalid_the_command_id_is_blank(runtime: CommandRuntime) -> None:
    assert [runtime.execute(id) for id in ("", "  ")] == [Invalid(), Invalid()]


def test_closed_the_runtime_was_closed_first(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", batch(["a.x"]))
    runtime.close()
    assert runtime.execute("a.x") == Closed()


def test_snapshot_keeps_unavailable_commands_visible_with_their_reason(runtime: CommandRuntime) -> None:
    reader = lambda: unavailable("not now")  # noqa: E731
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"), availability=reader)])
    shown = runtime.snapshot()
    for surface in SURFACES:
        assert [(row.available, row.reason) for row in getattr(shown, surface)] == [(False, "not now")]


def test_execute_reads_availability_again_right_before_calling_the_handler(runtime: CommandRuntime) -> None:
    facts = [AVAILABLE, unavailable("gone meanwhile"), AVAILABLE]
    runtime.contribute("s", "a", [command("a.x", availability=lambda: facts.pop(0))])
    assert runtime.snapshot().palette[0].available
    assert runtime.execute("a.x") == Unavailable(command_id="a.x", reason="gone meanwhile")
    assert runtime.execute("a.x") == Handled()


def test_availability_is_not_authorization_so_the_handler_still_admits_the_request(runtime: CommandRuntime) -> None:
    def refuse(_: ExecutionInput[Any]) -> None:
        raise CommandError("forbidden", "only the owner may")

    runtime.contribute("s", "a", [command("a.x", refuse, availability=lambda: AVAILABLE)])
    assert runtime.execute("a.x") == Failed(ErrorInfo(code="forbidden", message="only the owner may"))


def test_nothing_polls_or_broadcasts_a_fact_that_changed(runtime: CommandRuntime) -> None:
    reads: list[str] = []
    told: list[str] = []

    def reader() -> Availability:
        reads.append("read")
        return AVAILABLE

    runtime.contribute("s", "a", [command("a.x", availability=reader)])
    runtime.subscribe(lambda: told.append("told"))
    assert (reads, told) == ([], [])
    runtime.snapshot()
    assert (reads, told) == (["read"], [])


def test_a_reader_that_fails_or_lies_makes_its_command_unavailable_and_no_other(runtime: CommandRuntime) -> None:
    def fail() -> Availability:
        raise RuntimeError("secret")

    runtime.contribute(
        "s", "a", [command("a.bad", availability=fail), command("a.lie", availability=lambda: True), command("a.x")]
    )  # type: ignore[arg-type, return-value]
    shown = {row.command_id: row.reason for row in runtime.snapshot().palette}
    assert shown["a.x"] is None
    assert shown["a.bad"] == "its availability cannot be read"
    assert "bool" in str(shown["a.lie"])
    assert isinstance(runtime.execute("a.bad"), Unavailable)


def test_any_other_error_becomes_command_failed(runtime: CommandRuntime) -> None:
    def fail(_: ExecutionInput[Any]) -> None:
        raise KeyError("path")

    runtime.contribute("s", "a", [command("a.x", fail)])
    assert runtime.execute("a.x") == Failed(ErrorInfo(code="command_failed", message="'path'"))


def test_stacks_never_cross_the_execution_result(runtime: CommandRuntime) -> None:
    def fail(_: ExecutionInput[Any]) -> None:
        raise RuntimeError("it broke\nTraceback (most recent call last):\n  File x, line 1")

    runtime.contribute("s", "a", [command("a.x", fail)])
    assert runtime.execute("a.x") == Failed(ErrorInfo(code="command_failed", message="it broke"))


def test_what_is_no_error_passes_through_and_is_no_outcome(runtime: CommandRuntime) -> None:
    screen = Screen()
    runtime.present(screen)

    def interrupt(_: ExecutionInput[Any]) -> None:
        raise KeyboardInterrupt

    runtime.contribute("s", "a", [command("a.x", interrupt)])
    with pytest.raises(KeyboardInterrupt):
        runtime.execute("a.x", ExecutionInput("terminal"))
    assert [settlement for settlement, _ in screen.settled] == ["cancelled"]


def test_details_that_are_no_json_are_refused_where_they_are_made() -> None:
    with pytest.raises(InvalidError, match=r"details\.x is a object"):
        CommandError("code", "message", {"x": object()})
