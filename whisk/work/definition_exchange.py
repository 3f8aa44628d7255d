"""How workflow definitions come in and go out: the requests of the wire, and the record that an import makes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.values import Record, check_text
from whisk.work.definition import Definition, DefinitionRecord, DefinitionSource, content_hash
from whisk.work.validation import ValidationError

PATH_LIMIT = 4096
FOLDER = (".whisk", "workflows")
"""Where a project keeps its own definitions, below its root; one file each, `<id>.json`."""

# As it was sent: a definition that does not fit is answered with all of its faults, not refused at the first.
RawDefinition = Annotated[msgspec.Raw, msgspec.Meta(extra={"wire": Definition})]


class ValidateDefinition(Record, frozen=True):
    wire_name: ClassVar[str] = "ValidateWorkflowDefinitionRequest"

    definition: RawDefinition


class ValidateDefinitionFile(Record, frozen=True):
    """`path` is absolute, and on the daemon's side."""

    wire_name: ClassVar[str] = "ValidateWorkflowDefinitionFileRequest"

    path: str


class ImportDefinition(Record, frozen=True):
    """`source` is `imported` (also when it is left out) or `file`, and then `source_path` says which."""

    wire_name: ClassVar[str] = "ImportWorkflowDefinitionRequest"

    definition: RawDefinition
    source: str = ""
    source_path: str = ""


class ImportDefinitionFile(Record, frozen=True):
    """`path` is absolute, and on the daemon's side."""

    wire_name: ClassVar[str] = "ImportWorkflowDefinitionFileRequest"

    path: str


class ExportDefinitionFile(Record, frozen=True):
    """`path` is absolute, and on the daemon's side."""

    wire_name: ClassVar[str] = "ExportWorkflowDefinitionFileRequest"

    id: str
    version: int
    path: str


class DefinitionFile(Record, frozen=True):
    """A file in a project's `.whisk/workflows`.

    `state` is `new` when nothing of that id and version has been imported, `imported` when the very same has, `changed`
    when what was imported says something else, `invalid` when the file cannot be imported; then `errors` say why.
    """

    wire_name: ClassVar[str] = "WorkflowDefinitionFile"

    path: str
    state: Literal["new", "imported", "changed", "invalid"]
    identity: str = ""
    errors: tuple[ValidationError, ...] = ()


def new_record(definition: Definition, *, source: str, source_path: str, now: Instant) -> DefinitionRecord:
    """Raises `InvalidError` for a source that an import cannot have."""
    kinds: dict[str, DefinitionSource] = {"": "imported", "imported": "imported", "file": "file"}
    if source not in kinds:
        raise InvalidError(f'unknown source "{source}"; an import has imported or file', field="source")
    return DefinitionRecord(
        id=definition.id,
        version=definition.version,
        source=kinds[source],
        content_hash=content_hash(definition),
        definition=definition,
        created_at=now,
        updated_at=now,
        source_path=check_text(source_path, "sourcePath", limit=PATH_LIMIT) or None,
    )
