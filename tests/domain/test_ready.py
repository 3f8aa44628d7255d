from __future__ import annotations

import msgspec
import pytest

from whisk.clock import Instant
from whisk.work.definition import BUILTIN, BUILTIN_RECORD
from whisk.work.item import CreateWorkItem, WorkItem, new_item
from whisk.work.ready import ItemState, Readiness, explain, judge, needed, stage_kinds
from whisk.work.workflow import WorkflowStage, builtin_workflow

NOW = Instant(1_800_000_000_000_000_000)


def states(**kinds: str) -> list[ItemState]:
    """`a="backlog"`, or with a run state `a="ready running"`."""
    found = []
    for number, (id, text) in enumerate(kinds.items()):
        kind, _, run_state = text.partition(" ")
        found.append(ItemState(id, number, kind, run_state or "idle"))
    return found


def judged(items: list[ItemState], *blocks: tuple[str, str]) -> Readiness:
    return judge(items, blocks, ())


def test_an_item_that_waits_for_nothing_can_be_begun() -> None:
    found = judged(states(a="backlog", b="ready", c="planning", d="execution", e="done", f="blocked", g="archived"))
    assert (found.ready, found.blocked) == (["a", "b"], {})


@pytest.mark.parametrize(
    ("run_state", "ready"),
    [
        *(("idle", True), ("failed", True), ("cancelled", True), ("completed", True), ("lost", True)),
        *(("queued", False), ("running", False), ("awaiting_input", False)),
    ],
)
def test_an_item_at_which_somebody_works_is_no_candidate(run_state: str, ready: bool) -> None:
    found = judged(states(a=f"ready {run_state}"))
    assert (bool(found.ready), found.blocked) == (ready, {})


def test_the_target_of_a_block_waits_until_its_source_is_done() -> None:
    items = {"a": "backlog", "b": "backlog"}
    found = judged(states(**items), ("a", "b"))
    assert (found.ready, found.blocked) == (["a"], {"b": ["a"]})
    for kind in ("planning", "execution", "review", "blocked", "active"):
        assert judged(states(a=kind, b="backlog"), ("a", "b")).blocked == {"b": ["a"]}, kind
    for kind in ("done", "archived"):
        found = judged(states(a=kind, b="backlog"), ("a", "b"))
        assert (found.ready, found.blocked, found.blockers) == (["b"], {}, {"b": ["a"]}), kind


def test_every_blocker_counts_and_only_the_open_ones_block() -> None:
    found = judged(states(a="done", b="review", c="backlog", d="backlog"), ("a", "d"), ("b", "d"), ("c", "d"))
    assert found.blocked == {"d": ["b", "c"]}
    assert found.blockers["d"] == ["a", "b", "c"]


def test_items_in_a_circle_are_blocked_and_shown() -> None:
    found = judged(states(a="backlog", b="backlog", c="backlog"), ("a", "b"), ("b", "a"), ("b", "c"))
    assert (found.ready, set(found.blocked), found.cycles) == ([], {"a", "b", "c"}, [["a", "b"]])


def test_a_link_to_an_item_that_is_not_there_blocks_nobody() -> None:
    assert judged(states(b="backlog"), ("gone", "b")).ready == ["b"]


def item(id: str, number: int) -> WorkItem:
    request = CreateWorkItem(project_id="proj_1", title=f"Item {id}")
    return new_item(request, builtin_workflow(), item_id=id, number=number, now=NOW)


def test_the_answer_counts_and_names() -> None:
    found = judge(
        states(a="done", b="backlog", c="backlog", d="backlog"), [("a", "b"), ("b", "c"), ("b", "d")], [("c", "b")]
    )
    assert needed(found) == {"b", "c", "d"}
    answer = explain(found, {id: item(id, number) for number, id in enumerate("bcd")})
    [ready] = answer.ready
    assert (ready.work_item.id, ready.dependency_count, ready.dependent_count) == ("b", 1, 2)
    assert (ready.resolved_blockers, ready.parent_work_item_id) == (("a",), "c")
    assert ready.reason == "everything that it waited for is done"
    first, _ = answer.blocked
    assert (first.work_item.id, first.blocked_by_count) == ("c", 1)
    assert (first.blocked_by[0].id, first.blocked_by[0].title, first.blocked_by[0].stage_id) == (
        "b",
        "Item b",
        "backlog",
    )
    assert msgspec.structs.asdict(answer.summary) == {"total_ready": 1, "total_blocked": 2, "cycle_count": 0}


def test_a_limit_cuts_the_lists_and_not_the_counts() -> None:
    found = judged(states(a="backlog", b="backlog", c="backlog", d="backlog"), ("a", "c"), ("b", "d"))
    assert needed(found, 1) == {"a", "c"}
    answer = explain(found, {id: item(id, 1) for id in "ac"}, 1)
    assert ([each.work_item.id for each in answer.ready], len(answer.blocked)) == (["a"], 1)
    assert (answer.summary.total_ready, answer.summary.total_blocked) == (2, 2)


def test_the_kind_of_a_stage_is_the_projects_own_or_that_of_its_definition() -> None:
    own = builtin_workflow()
    assert stage_kinds(own, [])["execution"] == "execution"
    stages = ("inbox", "build", "review", "shipped")
    ship = msgspec.structs.replace(BUILTIN_RECORD, definition=msgspec.structs.replace(BUILTIN, stages=stages))
    kinds = stage_kinds(own, [ship])
    assert [kinds[stage] for stage in stages] == ["backlog", "active", "review", "done"]
    renamed = msgspec.structs.replace(own, stages=(WorkflowStage(id="build", name="Build", kind="ready"),))
    assert stage_kinds(renamed, [ship])["build"] == "ready"


def test_ten_thousand_items_in_a_chain_are_judged_in_one_pass() -> None:
    items = [ItemState(str(number), number, "backlog", "idle") for number in range(10_000)]
    blocks = [(str(number), str(number + 1)) for number in range(9_999)]
    found = judge(items, blocks, ())
    assert (found.ready, len(found.blocked), found.cycles) == (["0"], 9_999, [])
