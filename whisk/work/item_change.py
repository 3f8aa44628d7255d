"""What is changed about a work item besides its stage: its text, what is attached to it, its worktree, its end.

Each change is a pure function from record to record that appends to the history.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from whisk.clock import Instant
from whisk.errors import RefusedError, TooLargeError
from whisk.matters.audit import Surface
from whisk.values import Record, check_text
from whisk.work.attachment import new_attachment
from whisk.work.item import BODY_LIMIT, TITLE_LIMIT, HistoryEvent, HistoryType, WorkItem, WorktreeBinding
from whisk.work.person import check_actor
from whisk.work.session import check_directory
from whisk.work.worktree import check_branch, check_revision

# An item is one record, read and written whole; it is not a place to keep files in.
ATTACHMENTS_LIMIT = 100


class UpdateItem(Record, frozen=True):
    """Only what is given changes."""

    wire_name: ClassVar[str] = "UpdateWorkItemRequest"

    title: str | None = None
    body_markdown: str | None = None
    actor: str | None = None
    id: str = ""


class AttachToItem(Record, frozen=True):
    wire_name: ClassVar[str] = "AddWorkItemAttachmentRequest"

    kind: str
    scope: str = ""
    title: str = ""
    path: str = ""
    url: str = ""
    note: str = ""
    provider: str = ""
    target: str = ""
    actor: str | None = None
    work_item_id: str = ""


class BindWorktree(Record, frozen=True):
    wire_name: ClassVar[str] = "BindWorkItemWorktreeRequest"

    branch: str
    worktree_path: str
    base: str = ""
    actor: str | None = None
    id: str = ""


class DeleteItem(Record, frozen=True):
    wire_name: ClassVar[str] = "DeleteWorkItemRequest"

    actor: str | None = None
    surface: Surface = ""
    id: str = ""


def update_item(item: WorkItem, request: UpdateItem, now: Instant) -> WorkItem:
    """The very same record when nothing differs. Raises `InvalidError`, or `TooLargeError` for a long text."""
    title, body = item.title, item.body_markdown
    if request.title is not None:
        title = check_text(request.title.strip(), "work item title", limit=TITLE_LIMIT, empty=False)
    if request.body_markdown is not None:
        body = check_text(request.body_markdown, "body", limit=BODY_LIMIT)
    changed = [
        name for name, differs in (("title", title != item.title), ("body", body != item.body_markdown)) if differs
    ]
    if not changed:
        return item
    stepped = _step(item, "updated", request.actor, now, message=" and ".join(changed))
    return msgspec.structs.replace(stepped, title=title, body_markdown=body)


def attach(item: WorkItem, request: AttachToItem, *, attachment_id: str, now: Instant) -> WorkItem:
    """Raises `InvalidError` for what the kind does not allow, `TooLargeError` when the item has its fill."""
    if len(item.attachments) >= ATTACHMENTS_LIMIT:
        raise TooLargeError(f"work item {item.id} has {ATTACHMENTS_LIMIT} attachments", limit=ATTACHMENTS_LIMIT)
    attachment = new_attachment(
        attachment_id=attachment_id,
        now=now,
        kind=request.kind,
        scope=request.scope,
        title=request.title,
        path=request.path,
        url=request.url,
        note=request.note,
        provider=request.provider,
        target=request.target,
    )
    stepped = _step(item, "attachment_added", request.actor, now, attachment_id=attachment_id)
    return msgspec.structs.replace(stepped, attachments=(*item.attachments, attachment))


def bind_worktree(item: WorkItem, request: BindWorktree, now: Instant) -> WorkItem:
    """Bound once and for all: runs are at work there. Binding the same again is no change.

    Raises `InvalidError` for a branch that git would not take or a path that is not absolute, `RefusedError` when the
    item has another worktree.
    """
    branch = check_branch(request.branch)
    path = check_directory(request.worktree_path, "worktreePath")
    base = check_revision(request.base, "base") if request.base else ""
    bound = item.worktree
    if bound is not None:
        if (bound.branch, bound.worktree_path) == (branch, path):
            return item
        raise RefusedError(
            f"work item {item.id} already has the worktree {bound.worktree_path} (branch {bound.branch})",
            workItem=item.id,
            branch=bound.branch,
            worktreePath=bound.worktree_path,
        )
    stepped = _step(item, "worktree_bound", request.actor, now, branch=branch, worktree_path=path)
    binding = WorktreeBinding(branch=branch, base=base, worktree_path=path, created_at=now)
    return msgspec.structs.replace(stepped, worktree=binding)


def mark_deleted(item: WorkItem, request: DeleteItem, now: Instant) -> WorkItem:
    """The item as it is said good-bye to; nothing of it is kept."""
    return _step(item, "deleted", request.actor, now)


def _step(
    item: WorkItem,
    kind: HistoryType,
    actor: str | None,
    now: Instant,
    *,
    message: str | None = None,
    attachment_id: str | None = None,
    branch: str | None = None,
    worktree_path: str | None = None,
) -> WorkItem:
    event = HistoryEvent(
        id=f"{item.id}.{len(item.history) + 1}",
        type=kind,
        at=now,
        actor=check_actor(actor),
        message=message,
        attachment_id=attachment_id,
        branch=branch,
        worktree_path=worktree_path,
    )
    return msgspec.structs.replace(item, updated_at=now, history=(*item.history, event))
