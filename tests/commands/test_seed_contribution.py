"""The specification of the runtime, sentence by sentence and in its order: commands, contributions and leases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.commands.shelf import batch, command, echo, everywhere, palette_ids
from whisk.commands import (
    EMPTY,
    Command,
    CommandRuntime,
    ContributionConflictError,
    InvalidContributionError,
    Missing,
    Projections,
    SlashProjection,
)
from whisk.commands.projection import SURFACES


def test_a_command_has_id_title_category_optional_description_handler_projections_action_and_availability() -> None:
    least = Command("a.b", "Title", "Category", echo)
    assert (least.description, least.projections, least.action, least.availability) == (None, Projections(), None, None)


def test_a_command_shows_up_only_on_the_surfaces_its_projections_name(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.palette"), command("a.nowhere", projections=Projections())])
    shown = runtime.snapshot()
    assert palette_ids(shown) == ["a.palette"]
    assert [len(getattr(shown, surface)) for surface in SURFACES] == [0, 1, 0, 0, 0, 0]


def test_contribute_admits_a_batch_from_one_source_into_one_namespace_optionally_in_a_focus_scope(
    runtime: CommandRuntime,
) -> None:
    lease = runtime.contribute("editor", "file", batch(["file.open", "file.save"]), scope="window-1")
    assert (lease.source_id, lease.namespace, lease.scope, lease.live) == ("editor", "file", "window-1", True)
    assert {row.scope for row in runtime.snapshot().palette} == {"window-1"}


def test_admission_is_atomic(runtime: CommandRuntime) -> None:
    before = runtime.snapshot()
    ten = [command(f"a.{n}") for n in range(10)]
    ten[6] = command("a.6", title=" ")
    with pytest.raises(InvalidContributionError, match=r"commands\[6\]\.title required"):
        runtime.contribute("s", "a", ten)
    assert runtime.snapshot() is before
    assert runtime.execute("a.0") == Missing(command_id="a.0")
    runtime.contribute("other", "a", batch(["a.0"]))


def test_it_throws_when_a_namespace_already_belongs_to_another_source(runtime: CommandRuntime) -> None:
    runtime.contribute("first", "a", batch(["a.x"]))
    with pytest.raises(ContributionConflictError, match="'a' belongs to 'first'; 'second' cannot") as refused:
        runtime.contribute("second", "a", batch(["a.y"]))
    assert refused.value.details == {"namespace": "a", "owner": "first", "source": "second"}


def test_a_command_outside_its_namespace_is_refused(runtime: CommandRuntime) -> None:
    for id in ("b.x", "ax", "a", "a.x "):
        with pytest.raises(InvalidContributionError, match="outside its namespace"):
            runtime.contribute("s", "a", batch([id]))


def test_it_throws_when_a_canonical_id_repeats(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", batch(["a.x"]))
    with pytest.raises(ContributionConflictError, match=r"'a\.x' is there already, from 's'"):
        runtime.contribute("s", "a", batch(["a.y", "a.x"]), scope="w")
    with pytest.raises(ContributionConflictError, match=r"'a\.z' twice"):
        runtime.contribute("s", "a", batch(["a.z", "a.z"]))
    assert palette_ids(runtime.snapshot()) == ["a.x"]


def test_it_throws_when_a_slash_alias_in_the_same_scope_repeats(runtime: CommandRuntime) -> None:
    def aliased(id: str, alias: str = "go") -> Command[Any, Any]:
        return command(id, projections=Projections(slash=(SlashProjection(alias=alias),)))

    runtime.contribute("one", "a", [aliased("a.x")])
    with pytest.raises(ContributionConflictError, match=r"'go' is taken by 'a\.x' of 'one'; 'b\.x' of 'two'"):
        runtime.contribute("two", "b", [aliased("b.x")])
    with pytest.raises(ContributionConflictError, match="the slash alias 'stop' twice"):
        runtime.contribute("two", "b", [aliased("b.x", "stop"), aliased("b.y", "stop")])
    runtime.contribute("two", "b", [aliased("b.x")], scope="window-1")
    with pytest.raises(ContributionConflictError, match="in the scope 'window-1'"):
        runtime.contribute("three", "c", [aliased("c.x")], scope="window-1")
    runtime.contribute("three", "c", [aliased("c.x")], scope="window-2")


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_it_throws_when_a_field_is_blank(runtime: CommandRuntime, blank: str) -> None:
    good = command("a.x")
    attempts: list[Callable[[], object]] = [
        lambda: runtime.contribute(blank, "a", [good]),
        lambda: runtime.contribute("s", blank, [good]),
        lambda: runtime.contribute("s", "a", [good], scope=blank),
        lambda: runtime.contribute("s", "a", [command(blank)]),
        lambda: runtime.contribute("s", "a", [command("a.x", title=blank)]),
        lambda: runtime.contribute("s", "a", [command("a.x", category=blank)]),
        lambda: runtime.contribute("s", "a", [command("a.x", description=blank)]),
        lambda: runtime.contribute("s", "a", [command("a.x", projections=everywhere(blank))]),
        lambda: runtime.contribute("s", "a", [command("a.x", projections=everywhere("x", keys=blank))]),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidContributionError):
            attempt()
    assert runtime.snapshot() is EMPTY


def test_each_contribution_returns_a_lease_for_that_exact_generation(runtime: CommandRuntime) -> None:
    first = runtime.contribute("s", "a", batch(["a.x"]))
    second = runtime.contribute("s", "a", batch(["a.y"]))
    assert first.dispose()
    assert palette_ids(runtime.snapshot()) == ["a.y"]
    assert (first.live, second.live) == (False, True)


def test_lease_update_swaps_its_commands_atomically(runtime: CommandRuntime) -> None:
    lease = runtime.contribute("s", "a", batch(["a.x", "a.y"]))
    assert lease.update(batch(["a.y", "a.z"]))
    assert palette_ids(runtime.snapshot()) == ["a.y", "a.z"]
    runtime.contribute("s", "a", batch(["a.taken"]))
    with pytest.raises(ContributionConflictError):
        lease.update(batch(["a.new", "a.taken"]))
    with pytest.raises(InvalidContributionError):
        lease.update([command("a.new", title="")])
    assert palette_ids(runtime.snapshot()) == ["a.taken", "a.y", "a.z"]


def test_lease_dispose_removes_it_and_frees_its_names(runtime: CommandRuntime) -> None:
    lease = runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"))])
    lease.dispose()
    assert runtime.snapshot() == EMPTY
    runtime.contribute("other", "a", [command("a.x", projections=everywhere("go"))])


def test_a_namespace_stays_its_sources_until_the_last_lease_of_it_ends(runtime: CommandRuntime) -> None:
    first = runtime.contribute("s", "a", batch(["a.x"]))
    second = runtime.contribute("s", "a", batch(["a.y"]))
    first.dispose()
    with pytest.raises(ContributionConflictError):
        runtime.contribute("t", "a", batch(["a.z"]))
    second.dispose()
    runtime.contribute("t", "a", batch(["a.z"]))


def test_disposing_a_stale_lease_never_removes_a_replacement(runtime: CommandRuntime) -> None:
    stale = runtime.contribute("s", "a", batch(["a.x"]))
    stale.dispose()
    runtime.contribute("s", "a", batch(["a.x"]))
    assert not stale.dispose()
    assert not stale.update(batch(["a.other"]))
    assert palette_ids(runtime.snapshot()) == ["a.x"]


def test_both_calls_are_idempotent(runtime: CommandRuntime) -> None:
    lease = runtime.contribute("s", "a", batch(["a.x"]))
    same = batch(["a.y"])
    assert lease.update(same)
    once = runtime.snapshot()
    assert lease.update(same)
    assert runtime.snapshot() == once
    assert [lease.dispose(), lease.dispose()] == [True, False]
