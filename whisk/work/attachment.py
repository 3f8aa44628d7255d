"""What may be attached to projects and work items: files, links, notes, and typed facts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError, TooLargeError
from whisk.values import Record, check_text, encode

AttachmentKind = Literal["file", "url", "note", "external"]
AttachmentScope = Literal["project", "worktree", "external"]
TEXT_LIMIT = 65_536
METADATA_LIMIT = 64
LINE_LIMIT = 4096


class MetadataValue(Record, frozen=True):
    """One typed fact; the field named by `type` is set. Keys are `namespace/key`."""

    type: Literal["string", "number", "bool", "json"]
    # On the wire each field has the name of its type, which in Python would hide the type itself.
    text: str | None = msgspec.field(name="string", default=None)
    number: float | None = None
    flag: bool | None = msgspec.field(name="bool", default=None)
    raw: Any = msgspec.field(name="json", default=None)


class Attachment(Record, frozen=True):
    id: str
    kind: AttachmentKind
    scope: AttachmentScope
    created_at: Instant
    title: str | None = None
    path: str | None = None
    url: str | None = None
    note: str | None = None
    provider: str | None = None
    target: str | None = None
    include_in_context: bool = False
    meta: dict[str, MetadataValue] = {}


def new_attachment(
    *,
    attachment_id: str,
    now: Instant,
    kind: str,
    scope: str = "",
    title: str = "",
    path: str = "",
    url: str = "",
    note: str = "",
    provider: str = "",
    target: str = "",
    include_in_context: bool = False,
    meta: Mapping[str, MetadataValue] | None = None,
) -> Attachment:
    """An attachment with what its kind needs: a file its path, a link its URL, a note its text, an external thing its
    provider and target. The scope is `project` unless named.

    A file's path is relative to the project's root or the worktree; only with the scope `external` is it absolute.
    Raises `InvalidError` or `TooLargeError`.
    """
    if kind not in get_args(AttachmentKind):
        known = ", ".join(get_args(AttachmentKind))
        raise InvalidError(f'unknown attachment kind "{kind}"; there are {known}', field="kind")
    scope = scope or "project"
    if scope not in get_args(AttachmentScope):
        known = ", ".join(get_args(AttachmentScope))
        raise InvalidError(f'unknown attachment scope "{scope}"; there are {known}', field="scope")
    texts = {"title": title, "path": path, "url": url, "provider": provider, "target": target}
    given = {name: check_text(text.strip(), name, limit=LINE_LIMIT) or None for name, text in texts.items()}
    given["note"] = check_text(note, "note", limit=TEXT_LIMIT) or None
    for name in _NEEDS[kind]:
        if not given[name]:
            raise InvalidError(f"{kind} attachment needs {name}", field=name)
    if kind == "file":
        given["path"] = _check_path(given["path"] or "", scope)
    return Attachment(
        id=attachment_id,
        kind=kind,  # type: ignore[arg-type]
        scope=scope,  # type: ignore[arg-type]
        created_at=now,
        include_in_context=include_in_context,
        meta=check_metadata(meta or {}),
        **given,
    )


def check_metadata(meta: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """The facts as they are stored. Raises `InvalidError` for a key without a namespace, or a value that is not of the
    type it says; `TooLargeError` for too many or too long ones.
    """
    if len(meta) > METADATA_LIMIT:
        raise TooLargeError(f"{len(meta)} metadata values are too many", limit=METADATA_LIMIT, size=len(meta))
    for key, value in meta.items():
        if not _METADATA_KEY.fullmatch(key):
            raise InvalidError(f"metadata key {key!r} is not namespace/key, of letters, digits, '.', '_', '-'", key=key)
        fields = {"string": value.text, "number": value.number, "bool": value.flag, "json": value.raw}
        others = [name for name, each in fields.items() if each is not None and name != value.type]
        # The JSON value null is one too.
        if others or (fields[value.type] is None and value.type != "json"):
            raise InvalidError(f"metadata {key} of the type {value.type} needs the field {value.type}, alone", key=key)
        check_text(value.text or encode(value.raw).decode(), f"metadata {key}", limit=TEXT_LIMIT)
    return dict(meta)


_METADATA_KEY = re.compile(r"[A-Za-z0-9._-]{1,128}/[A-Za-z0-9._-]{1,128}")
_NEEDS = {"file": ("path",), "url": ("url",), "note": ("note",), "external": ("provider", "target")}


def _check_path(path: str, scope: str) -> str:
    """The path without detours; whoever reads it later joins it to a folder, so it must not lead out of that folder."""
    normal = posixpath.normpath(path)
    if scope == "external":
        if not path.startswith("/"):
            raise InvalidError(f"an external file's path must be absolute: {path}", field="path")
    elif path.startswith("/"):
        raise InvalidError(f"an absolute path needs the scope external: {path}", field="path")
    elif normal.split("/")[0] == "..":
        raise InvalidError(f"the path leads out of the {scope}: {path}", field="path")
    return normal
