"""What a project's attachments add to an agent's context, as a client reads it before it starts one.

Only attachments that ask for it are part of it. A note is in the text; a file or a link is named, for whoever can open
it; something of another program's is left out, with the reason.
"""

from __future__ import annotations

import posixpath
from typing import Literal

from whisk.values import Record
from whisk.work.attachment import Attachment
from whisk.work.project import Project

CONTEXT_BYTES = 256 * 1024
"""How much text all notes together may hold; those that go over it are left out."""


class ProjectContextItem(Record, frozen=True):
    """`inline`: `content` is all of it. `reference`: `target` or `source_url` says where it is. `skipped`: `error`."""

    attachment_id: str
    kind: str
    delivery: Literal["inline", "reference", "skipped"]
    provider: str | None = None
    target: str | None = None
    title: str | None = None
    content_type: str | None = None
    content: str | None = None
    source_url: str | None = None
    error: str | None = None


class ProjectContext(Record, frozen=True):
    project_id: str
    items: tuple[ProjectContextItem, ...]


def read_context(project: Project) -> ProjectContext:
    left = CONTEXT_BYTES
    items = []
    for each in project.attachments:
        if each.include_in_context:
            item = _item(project, each, left)
            left -= len((item.content or "").encode())
            items.append(item)
    return ProjectContext(project_id=project.id, items=tuple(items))


def _item(project: Project, attachment: Attachment, left: int) -> ProjectContextItem:
    def item(delivery: Literal["inline", "reference", "skipped"], **fields: str | None) -> ProjectContextItem:
        return ProjectContextItem(
            attachment_id=attachment.id, kind=attachment.kind, title=attachment.title, delivery=delivery, **fields
        )

    match attachment.kind:
        case "note":
            note = attachment.note or ""
            if len(note.encode()) > left:
                return item("skipped", error=f"the notes before it use up the {CONTEXT_BYTES} bytes of a context")
            return item("inline", content_type="text/markdown", content=note)
        case "url":
            return item("reference", source_url=attachment.url)
        case "file":
            path = attachment.path or ""
            inside = attachment.scope == "project"
            return item("reference", target=posixpath.join(project.root_dir, path) if inside else path)
        case "external":
            error = "no trusted resolver configured"
            return item("skipped", provider=attachment.provider, target=attachment.target, error=error)
