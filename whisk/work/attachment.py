"""What may be attached to projects and work items: files, links, notes, and typed facts."""

from __future__ import annotations

from typing import Literal

import msgspec

from whisk.clock import Instant
from whisk.values import Record


class MetadataValue(Record, frozen=True):
    """One typed fact; the field named by `type` is set. Keys are `namespace/key`."""

    type: Literal["string", "number", "bool", "json"]
    # On the wire each field has the name of its type, which in Python would hide the type itself.
    text: str | None = msgspec.field(name="string", default=None)
    number: float | None = None
    flag: bool | None = msgspec.field(name="bool", default=None)
    raw: str | None = msgspec.field(name="json", default=None)


class Attachment(Record, frozen=True):
    id: str
    kind: Literal["file", "url", "note", "external"]
    scope: Literal["project", "worktree", "external"]
    created_at: Instant
    title: str | None = None
    path: str | None = None
    url: str | None = None
    note: str | None = None
    provider: str | None = None
    target: str | None = None
    include_in_context: bool = False
    meta: dict[str, MetadataValue] = {}
