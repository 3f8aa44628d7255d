"""The specification of the command runtime, sentence by sentence and in its order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.commands.shelf import batch, command, echo, everywhere, palette_ids
from whisk.commands import (
    AVAILABLE,
    EMPTY,
    HUMAN_ORIGINS,
    ORIGINS,
    Action,
    Availability,
    Cancellation,
    ChoicePrompt,
    Closed,
    Command,
    CommandError,
    CommandRuntime,
    ConfirmationPrompt,
    ContributionConflictError,
    ErrorInfo,
    Execution,
    ExecutionInput,
    Failed,
    Handled,
    HandoffNotice,
    InfoNotice,
    InteractionHost,
    Invalid,
    InvalidContributionError,
    Missing,
    Presentation,
    ProgressNotice,
    Projections,
    RuntimeClosedError,
    SlashArguments,
    SlashProjection,
    SlashText,
    SlashWord,
    Snapshot,
    SuccessNotice,
    TextPrompt,
    Unavailable,
    catalog_commands,
    parse_catalog,
    scope_snapshot,
    unavailable,
)
from whisk.commands.projection import SURFACES
from whisk.commands.prompt import Settlement
from whisk.commands.slash import complete, hint, parse
from whisk.errors import InvalidError


@pytest.fixture
def runtime() -> CommandRuntime:
    return CommandRuntime()


class Screen:
    """A presenter that keeps what it was told, and answers from a list."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.opened: list[Execution] = []
        self.told: list[Any] = []
        self.settled: list[tuple[Settlement, ErrorInfo | None]] = []

    def __call__(self, execution: Execution) -> Any:
        self.opened.append(execution)
        return self

    def prompt(self, prompt: Any) -> Any:
        self.told.append(prompt)
        return self.answers.pop(0)

    def notify(self, notice: Any) -> None:
        self.told.append(notice)

    def settle(self, settlement: Settlement, error: ErrorInfo | None = None) -> None:
        self.settled.append((settlement, error))


# -- Commands, contributions and leases --------------------------------------------------------------------------------


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


# -- Snapshots and projections -----------------------------------------------------------------------------------------


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


# -- Execution ---------------------------------------------------------------------------------------------------------


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


# -- Availability ------------------------------------------------------------------------------------------------------


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


# -- Failures ----------------------------------------------------------------------------------------------------------


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


# -- Interactions ------------------------------------------------------------------------------------------------------


def test_prompt_asks_one_choice_text_or_confirmation_question(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)
    questions = [
        ChoicePrompt(message="Which?", choices=({"value": "a", "label": "A"},)),  # type: ignore[arg-type]
        TextPrompt(message="Name?"),
        TextPrompt(message="Token?", secret=True),
        ConfirmationPrompt(message="Sure?"),
    ]
    answers: list[Any] = [
        {"kind": "choice", "value": "a"},
        {"kind": "text", "text": "x"},
        {"kind": "text", "text": "s3cret"},
        {"kind": "confirmation", "confirmed": False},
    ]
    given: list[Any] = []

    def answer() -> None:
        shown = host.snapshot().open
        if shown is not None:
            host.answer(shown.number, answers[shown.number - 1])

    host.subscribe(answer)
    runtime.contribute(
        "s", "a", [command("a.x", lambda input: given.extend(input.interaction.prompt(each) for each in questions))]
    )
    assert runtime.execute("a.x", ExecutionInput("palette")) == Handled()
    assert given == ["a", "x", "s3cret", False]
    assert "s3cret" not in repr(host.snapshot())


def test_notify_shows_info_progress_handoff_or_success(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)
    notices = (
        InfoNotice(message="Looking"),
        ProgressNotice(message="Half", fraction=0.5),
        HandoffNotice(message="Sign in", url="https://example.org/device", code="AB-12"),
        SuccessNotice(message="Done"),
    )

    def act(input: ExecutionInput[Any]) -> None:
        assert input.interaction is not None
        for notice in notices:
            input.interaction.notify(notice)

    runtime.contribute("s", "a", [command("a.x", act)])
    runtime.execute("a.x", ExecutionInput("menu"))
    assert host.snapshot().notices == notices


def test_the_vocabulary_names_the_kind_of_answer_never_a_widget() -> None:
    fields = {name for kind in (ChoicePrompt, TextPrompt, ConfirmationPrompt) for name in kind.__struct_fields__}
    assert fields == {"message", "choices", "secret", "placeholder"}


def test_a_caller_can_pass_its_own_interaction(runtime: CommandRuntime) -> None:
    mounted, own = Screen(), Screen("mine")
    runtime.present(mounted)
    runtime.contribute("s", "a", [command("a.x", lambda input: input.interaction.prompt(TextPrompt(message="?")))])
    assert runtime.execute("a.x", ExecutionInput("palette", interaction=own)) == Handled(result="mine")  # type: ignore[arg-type]
    assert mounted.opened == []
    assert own.settled == []


@pytest.mark.parametrize("origin", ORIGINS)
def test_present_opens_one_for_each_human_origin_execution_and_none_for_agents_and_programs(
    runtime: CommandRuntime, origin: Any
) -> None:
    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", lambda input: input.interaction is None)])
    outcome = runtime.execute("a.x", ExecutionInput(origin, {"n": 1}))
    assert (origin in HUMAN_ORIGINS) == (origin not in ("agent", "programmatic"))
    if origin in HUMAN_ORIGINS:
        assert outcome == Handled(result=False)
        assert [(each.command_id, each.origin, each.arguments) for each in screen.opened] == [("a.x", origin, {"n": 1})]
    else:
        assert outcome == Handled(result=True)
        assert screen.opened == []


def test_the_session_is_settled_with_handled_cancelled_or_failed_when_the_handler_ends(runtime: CommandRuntime) -> None:
    def act(input: ExecutionInput[Any]) -> None:
        match input.arguments:
            case "fail":
                raise CommandError("broken", "it broke")
            case "cancel":
                input.cancellation.cancel("enough")
                input.cancellation.check()

    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", act)])
    for what in ("go", "fail", "cancel"):
        runtime.execute("a.x", ExecutionInput("palette", what))
    assert screen.settled == [
        ("handled", None),
        ("failed", ErrorInfo(code="broken", message="it broke")),
        ("cancelled", ErrorInfo(code="cancelled", message="enough")),
    ]


def test_nothing_is_opened_for_a_command_that_does_not_run(runtime: CommandRuntime) -> None:
    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", availability=lambda: unavailable("no"))])
    for id in ("a.x", "a.missing", ""):
        runtime.execute(id, ExecutionInput("palette"))
    assert screen.opened == []


def test_the_presenter_can_retry_the_same_execution(runtime: CommandRuntime) -> None:
    attempts: list[Any] = []

    def act(input: ExecutionInput[Any]) -> str:
        attempts.append(input.arguments)
        if len(attempts) == 1:
            raise CommandError("busy", "try again")
        return "done"

    screen = Screen()
    runtime.present(screen)
    runtime.contribute("s", "a", [command("a.x", act)])
    assert isinstance(runtime.execute("a.x", ExecutionInput("palette", {"n": 1})), Failed)
    assert screen.opened[0].retry() == Handled(result="done")
    assert attempts == [{"n": 1}, {"n": 1}]
    assert [settlement for settlement, _ in screen.settled] == ["failed", "handled"]


def test_the_newest_presenter_wins_until_its_disposer_runs(runtime: CommandRuntime) -> None:
    old, new = Screen(), Screen()
    runtime.present(old)
    dispose = runtime.present(new)
    runtime.contribute("s", "a", batch(["a.x"]))
    runtime.execute("a.x", ExecutionInput("palette"))
    dispose()
    dispose()
    runtime.execute("a.x", ExecutionInput("palette"))
    assert (len(old.opened), len(new.opened)) == (1, 1)


def test_a_presenter_that_fails_keeps_the_handler_from_running(runtime: CommandRuntime) -> None:
    ran: list[str] = []

    def broken(_: Execution) -> Any:
        raise RuntimeError("no screen")

    runtime.present(broken)
    runtime.contribute("s", "a", [command("a.x", lambda _: ran.append("x"))])
    outcome = runtime.execute("a.x", ExecutionInput("palette"))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "presenter_failed"
    assert ran == []


def test_the_host_parses_every_prompt_notice_and_answer(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)

    def act(input: ExecutionInput[Any]) -> None:
        for wrong in (TextPrompt(message=" "), ChoicePrompt(message="?", choices=())):
            with pytest.raises(InvalidError):
                input.interaction.prompt(wrong)  # type: ignore[union-attr]
        with pytest.raises(InvalidError):
            input.interaction.notify(HandoffNotice(message="x", url="javascript:alert(1)"))  # type: ignore[union-attr]

    runtime.contribute("s", "a", [command("a.x", act)])
    assert runtime.execute("a.x", ExecutionInput("browser")) == Handled()


# -- Slash arguments ---------------------------------------------------------------------------------------------------


GRAMMAR = SlashArguments(
    words=(SlashWord(word="dark", arguments={"theme": "dark"}), SlashWord(word="light", arguments={"theme": "light"})),
    text=SlashText(field="name", arguments={"theme": "custom"}, request_id_field="requestId", hint="theme"),
)


def test_a_slash_projection_can_carry_a_data_only_grammar(runtime: CommandRuntime) -> None:
    slash = SlashProjection(alias="theme", arguments=GRAMMAR)
    runtime.contribute("s", "a", [command("a.x", projections=Projections(slash=(slash,)))])
    assert runtime.snapshot().slash[0].arguments == GRAMMAR


def test_fixed_words_map_to_complete_argument_objects() -> None:
    assert parse(GRAMMAR, "dark").arguments == {"theme": "dark"}


def test_text_puts_the_rest_of_the_line_into_one_field_of_a_fixed_argument_object() -> None:
    assert parse(GRAMMAR, "  solarized, but bright ").arguments == {"theme": "custom", "name": "solarized, but bright"}


def test_optionally_with_a_request_id_field_for_idempotent_retries() -> None:
    assert parse(GRAMMAR, "x", "req-1").arguments == {"theme": "custom", "name": "x", "requestId": "req-1"}


def test_clients_parse_complete_and_hint_from_this_data() -> None:
    assert [each.text for each in complete(GRAMMAR, "d")] == ["dark"]
    assert hint(GRAMMAR, "") == "dark | light | <theme>"
    with pytest.raises(InvalidError, match=r"expected dark \| light \| <theme>"):
        parse(GRAMMAR, "  ")
    with pytest.raises(InvalidError, match="nothing may follow here, not 'x'"):
        parse(None, "x")


# -- Catalogs ----------------------------------------------------------------------------------------------------------


def catalog(**projections: Any) -> dict[str, Any]:
    return {
        "version": "whistle.catalog/v1",
        "namespace": "shop",
        "commands": [
            {
                "id": "shop.order",
                "title": "Order",
                "category": "Shop",
                "projections": projections,
                "action": {"inputSchema": {"type": "object", "x-hint": {"opaque": True}}},
            }
        ],
    }


def test_parse_catalog_validates_it_at_the_client_boundary() -> None:
    assert parse_catalog(catalog(palette={})).commands[0].id == "shop.order"
    for wrong, place in (
        ({**catalog(), "version": "whistle.catalog/v2"}, "version"),
        ({**catalog(), "extra": 1}, "extra"),
        ({**catalog(), "namespace": "other"}, r"commands\[0\]\.id"),
        ({**catalog(), "commands": catalog()["commands"] * 2}, "there twice"),
    ):
        with pytest.raises(InvalidError, match=place):
            parse_catalog(wrong)


def test_catalog_commands_call_your_invoke_function(runtime: CommandRuntime) -> None:
    calls: list[Any] = []

    def invoke(call: Any, _: ExecutionInput[Any]) -> Any:
        calls.append((call.command_id, call.origin, call.arguments))
        return {"step": "done", "result": {"ok": True}}

    runtime.contribute("backend", "shop", catalog_commands(parse_catalog(catalog(palette={})), invoke))
    assert runtime.execute("shop.order", ExecutionInput("agent", {"n": 1})) == Handled(result={"ok": True})
    assert calls == [("shop.order", "agent", {"n": 1})]


def test_each_reply_is_a_step_done_or_prompt_and_flows_are_stateless_on_the_wire(runtime: CommandRuntime) -> None:
    calls: list[Any] = []

    def invoke(call: Any, _: ExecutionInput[Any]) -> Any:
        calls.append(call.arguments)
        given = call.arguments or {}
        if "size" not in given:
            prompt = {"kind": "choice", "message": "Size?", "choices": [{"value": "l", "label": "Large"}]}
            return {"step": "prompt", "prompt": prompt, "arguments": {"item": "tea"}, "field": "size"}
        if "sure" not in given:
            prompt = {"kind": "confirmation", "message": "Sure?"}
            return {"step": "prompt", "prompt": prompt, "arguments": given, "field": "sure"}
        return {"step": "done", "notice": {"kind": "success", "message": "Ordered"}, "result": given}

    screen = Screen("l", True)
    runtime.present(screen)
    runtime.contribute("backend", "shop", catalog_commands(parse_catalog(catalog()), invoke))
    whole = {"item": "tea", "size": "l", "sure": True}
    assert runtime.execute("shop.order", ExecutionInput("slash")) == Handled(result=whole)
    assert calls == [None, {"item": "tea", "size": "l"}, whole]
    assert screen.told[-1] == SuccessNotice(message="Ordered")


def test_a_question_without_anybody_to_ask_is_a_failure(runtime: CommandRuntime) -> None:
    prompt = {"step": "prompt", "prompt": {"kind": "text", "message": "?"}, "arguments": {}, "field": "x"}
    runtime.contribute("backend", "shop", catalog_commands(parse_catalog(catalog()), lambda *_: prompt))
    outcome = runtime.execute("shop.order", ExecutionInput("agent"))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "interaction_required"


def test_a_backend_that_answers_nonsense_or_never_ends_is_a_failure(runtime: CommandRuntime) -> None:
    endless = {"step": "prompt", "prompt": {"kind": "text", "message": "?"}, "arguments": {}, "field": "x"}
    replies: dict[str, Any] = {"nonsense": {"step": "dance"}, "endless": endless}
    runtime.contribute(
        "backend", "shop", catalog_commands(parse_catalog(catalog()), lambda call, _: replies[call.arguments["go"]])
    )
    codes: list[str] = []
    for what in replies:
        replies["endless"]["arguments"] = {"go": what}
        outcome = runtime.execute(
            "shop.order",
            ExecutionInput("palette", {"go": what}, interaction=Screen(*["x"] * 100)),  # type: ignore[arg-type]
        )
        assert isinstance(outcome, Failed)
        codes.append(outcome.error.code)
    assert codes == ["invalid_step", "too_many_steps"]


# -- Closing -----------------------------------------------------------------------------------------------------------


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


# -- Typing a reusable handler, presentation hints ---------------------------------------------------------------------


def test_a_handler_may_return_an_awaitable(runtime: CommandRuntime) -> None:
    async def act(input: ExecutionInput[Any]) -> Any:
        await asyncio.sleep(0)  # why: the point is a handler that is suspended
        return input.arguments

    runtime.contribute("s", "a", [command("a.x", act), command("a.sync")])
    assert asyncio.run(runtime.execute_async("a.x", ExecutionInput("agent", 1))) == Handled(result=1)
    assert asyncio.run(runtime.execute_async("a.sync", ExecutionInput("agent", 2))) == Handled(result=2)
    refused = runtime.execute("a.x")
    assert isinstance(refused, Failed)
    assert "execute_async" in refused.error.message


def test_an_asynchronous_handler_asks_and_is_answered_from_another_thread(runtime: CommandRuntime) -> None:
    host = InteractionHost()
    runtime.present(host.begin)

    async def act(input: ExecutionInput[Any]) -> Any:
        assert input.interaction is not None
        return await input.interaction.prompt_async(TextPrompt(message="Name?"))

    def answer() -> None:
        shown = host.snapshot().open
        if shown is not None:
            threading.Thread(target=host.answer, args=(shown.number, {"kind": "text", "text": "Ada"})).start()

    host.subscribe(answer)
    runtime.contribute("s", "a", [command("a.x", act)])
    assert asyncio.run(runtime.execute_async("a.x", ExecutionInput("terminal"))) == Handled(result="Ada")


def test_commands_with_different_types_share_one_contribution(runtime: CommandRuntime) -> None:
    def number(input: ExecutionInput[int]) -> str:
        return str(input.arguments)

    def text(input: ExecutionInput[str]) -> int:
        return len(input.arguments or "")

    runtime.contribute("s", "a", [Command("a.n", "N", "T", number), Command("a.t", "T", "T", text)])
    assert runtime.execute("a.n", ExecutionInput("agent", 3)) == Handled(result="3")


def test_arguments_reach_the_handler_frozen_and_unchecked_against_any_schema(runtime: CommandRuntime) -> None:
    runtime.contribute("s", "a", [command("a.x", action=Action(input_schema={"type": "string"}))])
    given = {"list": [1]}
    outcome = runtime.execute("a.x", ExecutionInput("agent", given))
    assert outcome == Handled(result={"list": (1,)})
    with pytest.raises(InvalidError, match="arguments is a set"):
        runtime.execute("a.x", ExecutionInput("agent", {1}))


def test_schemas_keep_opaque_json_annotations(runtime: CommandRuntime) -> None:
    schema = {"type": "object", "x-whatever": {"nested": [None, True, 1.5]}}
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"), action=Action(output_schema=schema))])
    assert runtime.snapshot().agent[0].output_schema == {
        "type": "object",
        "x-whatever": {"nested": (None, True, 1.5)},
    }


def test_presentation_is_one_of_five_and_only_custom_has_opaque_data(runtime: CommandRuntime) -> None:
    custom = Presentation(kind="custom", data={"fields": [1]})
    runtime.contribute("s", "a", [command("a.x", projections=everywhere("go"), action=Action(presentation=custom))])
    shown = runtime.snapshot()
    assert shown.palette[0].action == Action(presentation=Presentation(kind="custom", data={"fields": (1,)}))
    with pytest.raises(InvalidContributionError, match="only a custom hint has data"):
        runtime.contribute(
            "s", "a", [command("a.y", action=Action(presentation=Presentation(kind="form", data={"x": 1})))]
        )


def test_a_server_capability_must_not_prescribe_a_rendering() -> None:
    wrong = catalog()
    wrong["commands"][0]["action"]["presentation"] = {"kind": "form"}
    with pytest.raises(InvalidError, match="presentation"):
        parse_catalog(wrong)


def test_an_execution_that_was_cancelled_before_it_began_does_not_run(runtime: CommandRuntime) -> None:
    called_off = Cancellation()
    called_off.cancel("changed my mind")
    runtime.contribute("s", "a", batch(["a.x"]))
    assert runtime.execute("a.x", ExecutionInput("palette", cancellation=called_off)) == Failed(
        ErrorInfo(code="cancelled", message="changed my mind")
    )
