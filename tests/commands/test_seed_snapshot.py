"""The specification of the command runtime, sentence by sentence and in its order: snapshots and projections."""

from __future__ import annotations

from typing import Any

import pytest

from tests.commands.shelf import batch, command, everywhere, palette_ids
from whisk.commands import (
    AVAILABLE,
    Action,
    CommandRuntime,
    Presentation,
    Snapshot,
    scope_snapshot,
    unavailable,
)
from whisk.commands.projection import SURFACES


def test_snapshot_returns_six_frozen_arrays(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"))])
    shown = runtime.snapshot()
    assert SURFACES == ("bindings", "palette", "slash", "help", "menu", "agent")
    for surface in SURFACES:
        assert isinstance(getattr(shown, surface), tuple)
        with pytest.raises(AttributeError):
            setattr(shown, surface, ())


def test_rows_are_immutable_copies(runtime: CommandRuntime) -> None:
    schema: dict[str, Any] = {"type": "object", "x": [1]}
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"), action=Action(input_schema=schema))])
    schema["x"].append(2)
    row = runtime.snapshot().agent[0]
    assert row.input_schema == {"type": "object", "x": (1,)}
    with pytest.raises(AttributeError):
        row.title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        row.input_schema["type"] = "array"  # type: ignore[index]


def test_each_surface_sorts_by_its_explicit_order_then_by_command_id_in_utf_8_byte_order(
    runtime: CommandRuntime,
) -> None:
    ids = ["a.é", "a.z", "a.Z", "a.😀", "a.\uffff", "a.10", "a.9"]
    runtime.contribute("s", "a", [command(id, projections=everywhere(id)) for id in ids])
    runtime.contribute("s", "a", [command("a.first", projections=everywhere("first", order=-1))])
    shown = runtime.snapshot()
    wanted = ["a.first", *sorted(ids, key=lambda id: id.encode())]
    for surface in SURFACES:
        assert [row.command_id for row in getattr(shown, surface)] == wanted, surface


def test_the_order_never_depends_on_insertion() -> None:
    ids = ["a.c", "a.a", "a.b"]
    one, other = CommandRuntime(), CommandRuntime()
    for id in ids:
        one.contribute("s", "a", batch([id]))
    for id in reversed(ids):
        other.contribute("s", "a", batch([id]))
    assert one.snapshot() == other.snapshot()


def test_a_snapshot_keeps_its_identity_until_the_graph_or_some_availability_changes(runtime: CommandRuntime) -> None:
    facts = {"on": True}
    reader = lambda: AVAILABLE if facts["on"] else unavailable("off")  # noqa: E731
    lease = runtime.contribute("s", "a", [command("a.x", availability=reader), command("a.y")])
    first = runtime.snapshot()
    assert runtime.snapshot() is first
    facts["on"] = False
    second = runtime.snapshot()
    assert second is not first
    assert runtime.snapshot() is second
    lease.update([command("a.x", availability=reader)])
    assert runtime.snapshot() is not second


def test_subscribe_tells_when_the_graph_changes(runtime: CommandRuntime) -> None:
    seen: list[Snapshot] = []
    stop = runtime.subscribe(lambda: seen.append(runtime.snapshot()))
    lease = runtime.contribute("s", "a", batch(["a.x"]))
    lease.update(batch(["a.y"]))
    lease.dispose()
    lease.dispose()
    assert [palette_ids(each) for each in seen] == [["a.x"], ["a.y"], []]
    stop()
    stop()
    runtime.contribute("s", "a", batch(["a.x"]))
    assert len(seen) == 3


def test_a_listener_that_fails_hurts_nobody(runtime: CommandRuntime, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    def fail() -> None:
        raise RuntimeError("listener")

    runtime.subscribe(fail)
    runtime.subscribe(lambda: seen.append("told"))
    runtime.contribute("s", "a", batch(["a.x"]))
    assert seen == ["told"]
    assert "listener" in caplog.text


def test_the_agent_view_drops_presentation_metadata_and_keeps_the_schemas(runtime: CommandRuntime) -> None:
    action = Action(
        input_schema={"type": "object"}, output_schema={"type": "string"}, presentation=Presentation(kind="form")
    )
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"), action=action)])
    row = runtime.snapshot().agent[0]
    assert (row.input_schema, row.output_schema) == ({"type": "object"}, {"type": "string"})
    assert not {"order", "action", "presentation", "keys", "alias", "menu"} & set(row.__struct_fields__)


def test_scope_snapshot_gives_global_rows_plus_that_scopes_rows(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", batch(["a.global"]))
    runtime.contribute("s", "a", batch(["a.one"]), scope="w1")
    runtime.contribute("s", "a", batch(["a.two"]), scope="w2")
    whole = runtime.snapshot()
    assert palette_ids(whole) == ["a.global", "a.one", "a.two"]
    assert palette_ids(scope_snapshot(whole, "w1")) == ["a.global", "a.one"]
    assert palette_ids(scope_snapshot(whole, None)) == ["a.global"]


def test_a_focused_slash_alias_or_binding_shadows_the_same_global_one(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.global", projections=everywhere("go", keys="Ctrl+K"))])
    runtime.contribute("s", "b", [command("b.own", projections=everywhere("go", keys="control+k"))], scope="w1")
    focused = scope_snapshot(runtime.snapshot(), "w1")
    assert [row.command_id for row in focused.slash] == ["b.own"]
    assert [(row.command_id, row.keys) for row in focused.bindings] == [("b.own", "ctrl+k")]
    assert palette_ids(focused) == ["a.global", "b.own"]
    elsewhere = scope_snapshot(runtime.snapshot(), "w2")
    assert [row.command_id for row in elsewhere.slash] == ["a.global"]


def test_the_agent_view_stays_whole(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"))], scope="w1")
    whole = runtime.snapshot()
    assert scope_snapshot(whole, "w2").agent is whole.agent
    assert len(whole.agent) == 1
