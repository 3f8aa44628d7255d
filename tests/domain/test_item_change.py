from __future__ import annotations

from typing import Any

import msgspec
import pytest

from whisk.clock import Instant
from whisk.errors import InvalidError, RefusedError, TooLargeError
from whisk.work.attachment import new_attachment
from whisk.work.item import BODY_LIMIT, CreateWorkItem, WorkItem, new_item
from whisk.work.item_change import (
    ATTACHMENTS_LIMIT,
    AttachToItem,
    BindWorktree,
    DeleteItem,
    UpdateItem,
    attach,
    bind_worktree,
    mark_deleted,
    update_item,
)
from whisk.work.workflow import builtin_workflow

NOW = Instant(1_800_000_000_000_000_000)
LATER = Instant(1_800_000_001_000_000_000)


@pytest.fixture
def item() -> WorkItem:
    request = CreateWorkItem(project_id="proj_1", title="Fix it", body_markdown="why")
    return new_item(request, builtin_workflow(), item_id="item_1", number=7, now=NOW)


def attached(item: WorkItem, **fields: Any) -> WorkItem:
    return attach(item, AttachToItem(**fields), attachment_id="att_1", now=LATER)


def test_only_what_is_given_changes_and_the_history_says_what(item: WorkItem) -> None:
    changed = update_item(item, UpdateItem(title=" Mend it ", actor="ann"), LATER)
    assert (changed.title, changed.body_markdown, changed.updated_at) == ("Mend it", "why", LATER)
    step = changed.history[-1]
    assert (step.id, step.type, step.actor, step.message, step.at) == ("item_1.2", "updated", "ann", "title", LATER)
    both = update_item(item, UpdateItem(title="Mend it", body_markdown=""), LATER)
    assert (both.body_markdown, both.history[-1].message) == ("", "title and body")


def test_an_update_that_changes_nothing_leaves_no_trace(item: WorkItem) -> None:
    assert update_item(item, UpdateItem(), LATER) is item
    assert update_item(item, UpdateItem(title="Fix it", body_markdown="why"), LATER) is item


@pytest.mark.parametrize("fields", [{"title": "  "}, {"title": "a\0"}, {"body_markdown": "\ud83d"}])
def test_an_update_with_unusable_text_is_refused(item: WorkItem, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidError):
        update_item(item, UpdateItem(**fields), LATER)


def test_a_body_that_is_too_long_is_refused(item: WorkItem) -> None:
    with pytest.raises(TooLargeError):
        update_item(item, UpdateItem(body_markdown="x" * (BODY_LIMIT + 1)), LATER)


def test_a_file_is_attached_with_its_place_in_the_history(item: WorkItem) -> None:
    changed = attached(item, kind="file", path="docs/./plan.md", actor="ann")
    [attachment] = changed.attachments
    assert (attachment.id, attachment.kind, attachment.scope) == ("att_1", "file", "project")
    assert attachment.path == "docs/plan.md"
    assert (changed.history[-1].type, changed.history[-1].attachment_id) == ("attachment_added", "att_1")


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"kind": "video"}, 'unknown attachment kind "video"; there are file'),
        ({"kind": "file"}, "file attachment needs path"),
        ({"kind": "file", "path": "a", "scope": "moon"}, 'unknown attachment scope "moon"'),
        ({"kind": "file", "path": "/etc/passwd"}, "needs the scope external"),
        ({"kind": "file", "path": "a/../../b"}, "leads out of the project"),
        ({"kind": "file", "path": "..", "scope": "worktree"}, "leads out of the worktree"),
        ({"kind": "file", "path": "a", "scope": "external"}, "must be absolute"),
        ({"kind": "url"}, "url attachment needs url"),
        ({"kind": "note", "note": ""}, "note attachment needs note"),
        ({"kind": "external", "provider": "jira"}, "external attachment needs target"),
        ({"kind": "note", "note": "a\0"}, "NUL"),
    ],
)
def test_an_attachment_without_what_its_kind_needs_is_refused(
    item: WorkItem, fields: dict[str, str], part: str
) -> None:
    with pytest.raises(InvalidError, match=part):
        attached(item, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "file", "path": "/etc/hosts", "scope": "external"},
        {"kind": "file", "path": "..hidden/x"},
        {"kind": "url", "url": "https://example.org/1"},
        {"kind": "note", "note": "remember"},
        {"kind": "external", "provider": "jira", "target": "POL-358"},
    ],
)
def test_an_attachment_with_what_its_kind_needs_is_taken(item: WorkItem, fields: dict[str, str]) -> None:
    assert len(attached(item, **fields).attachments) == 1


def test_an_item_does_not_take_attachments_without_end(item: WorkItem) -> None:
    note = new_attachment(attachment_id="att_0", now=NOW, kind="note", note="x")
    full = msgspec.structs.replace(item, attachments=(note,) * ATTACHMENTS_LIMIT)
    with pytest.raises(TooLargeError):
        attached(full, kind="note", note="x")


def test_a_worktree_is_bound_once(item: WorkItem) -> None:
    request = BindWorktree(branch="whisk/app-7", worktree_path="/src/app/.w/./7", base="main", actor="ann")
    bound = bind_worktree(item, request, LATER)
    assert bound.worktree is not None
    assert (bound.worktree.branch, bound.worktree.base) == ("whisk/app-7", "main")
    assert (bound.worktree.worktree_path, bound.worktree.created_at) == ("/src/app/.w/7", LATER)
    step = bound.history[-1]
    assert (step.type, step.branch, step.worktree_path) == ("worktree_bound", "whisk/app-7", "/src/app/.w/7")
    assert bind_worktree(bound, request, LATER) is bound
    with pytest.raises(RefusedError, match=r"already has the worktree /src/app/\.w/7"):
        bind_worktree(bound, msgspec.structs.replace(request, branch="other"), LATER)


@pytest.mark.parametrize(
    ("branch", "path"), [("", "/w"), ("-x", "/w"), ("../x", "/w"), ("b", "relative"), ("b", ""), ("b", "/a\0")]
)
def test_a_worktree_needs_a_branch_and_an_absolute_path(item: WorkItem, branch: str, path: str) -> None:
    with pytest.raises(InvalidError):
        bind_worktree(item, BindWorktree(branch=branch, worktree_path=path), LATER)


def test_a_deleted_item_says_who_deleted_it(item: WorkItem) -> None:
    step = mark_deleted(item, DeleteItem(actor="ann"), LATER).history[-1]
    assert (step.type, step.actor, step.at) == ("deleted", "ann", LATER)
