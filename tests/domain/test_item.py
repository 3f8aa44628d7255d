from __future__ import annotations

import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError
from whisk.values import decode, encode
from whisk.work.item import BODY_LIMIT, CreateWorkItem, WorkItem, new_item
from whisk.work.workflow import builtin_workflow

NOW = Instant(1_800_000_000_000_000_000)


def item(**fields: str) -> WorkItem:
    request = CreateWorkItem(**{"project_id": "proj_1", "title": "Fix it", **fields})
    return new_item(request, builtin_workflow(), item_id="item_1", number=7, now=NOW)


def test_an_item_begins_idle_in_the_first_stage_with_its_history() -> None:
    made = item(actor=" ann ")
    assert (made.stage_id, made.run_state, made.number) == ("backlog", "idle", 7)
    assert (made.workflow_id, made.workflow_version) == ("plan-execute-review", 1)
    [created] = made.history
    assert (created.type, created.actor, created.at, created.stage_id) == ("created", "ann", NOW, "backlog")


def test_an_item_may_begin_in_another_stage() -> None:
    assert item(stage_id="ready").stage_id == "ready"


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"title": "  "}, "title required"),
        ({"title": "a\0"}, "NUL"),
        ({"stage_id": "nowhere"}, "nowhere not found"),
        ({"stage_id": "execution"}, "stage execution requires worktree"),
        ({"workflow_id": "other"}, "not the project's"),
        ({"body_markdown": "\udc00"}, "surrogate"),
    ],
)
def test_an_item_that_cannot_be_is_refused(fields: dict[str, str], part: str) -> None:
    with pytest.raises(InvalidError, match=part):
        item(**fields)


def test_a_body_may_have_64_kib_and_no_more() -> None:
    assert len(item(body_markdown="x" * BODY_LIMIT).body_markdown) == BODY_LIMIT
    with pytest.raises(TooLargeError):
        item(body_markdown="x" * (BODY_LIMIT + 1))


def test_the_record_survives_the_wire_and_always_carries_its_lists() -> None:
    made = item()
    assert decode(encode(made), WorkItem) == made
    assert b'"attachments":[]' in encode(made)
