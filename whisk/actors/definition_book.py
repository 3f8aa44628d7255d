"""Workflow definitions: looked up, checked, taken in from text and files, written to files, taken away.

They have no actor: a definition never changes once it is there, and the journal decides who was first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from peewee import Database

from whisk.actors.future import get
from whisk.actors.offload import offload
from whisk.actors.work_services import WorkServices
from whisk.clock import Clock
from whisk.errors import WhiskError
from whisk.storage import definition as storage
from whisk.storage import definition_file
from whisk.storage.project import PROJECTS
from whisk.work.definition import DefinitionRecord, content_hash, identity
from whisk.work.definition_exchange import DefinitionFile, ExportDefinitionFile, ImportDefinition, new_record
from whisk.work.validation import ValidationError, ValidationReport, check_definition, read_definition


@dataclass(frozen=True)
class DefinitionBook:
    """Every method blocks the calling greenlet only, and raises `NotFoundError` for what nobody has."""

    services: WorkServices
    clock: Clock

    def all(self) -> list[DefinitionRecord]:
        return self.services.store.read(storage.select)

    def get(self, id: str, version: int) -> DefinitionRecord:
        return self.services.store.read(lambda db: storage.get_record(db, id, version))

    def check_file(self, path: str) -> ValidationReport:
        """Raises `InvalidError` for a file that cannot be read."""
        return offload(lambda: check_definition(definition_file.read(definition_file.check_path(path))).report)

    def take(self, request: ImportDefinition) -> DefinitionRecord:
        """Store a definition; one that is there already with the same content is the answer as it is.

        Raises `InvalidError` with every fault, `ConflictError` for another content under a known id and version.
        """
        return self._take(bytes(request.definition), request.source, request.source_path)

    def take_file(self, path: str) -> DefinitionRecord:
        data = offload(lambda: definition_file.read(definition_file.check_path(path)))
        return self._take(data, "file", path)

    def write_file(self, request: ExportDefinitionFile) -> None:
        definition = self.get(request.id, request.version).definition
        offload(lambda: definition_file.write(definition_file.check_path(request.path), definition))

    def delete(self, id: str, version: int) -> DefinitionRecord:
        """Raises `RefusedError` for one that is built in or in use."""
        gone: DefinitionRecord = get(self.services.journal.write.remote(lambda db: storage.delete(db, id, version)))
        self.services.changed(identity(id, version))
        return gone

    def files(self, project_id: str) -> list[DefinitionFile]:
        """What the project's folder holds, and whether it was imported."""
        root = self.services.store.read(lambda db: PROJECTS.get(db, project_id)).root_dir
        found = offload(_read_all, root)
        return self.services.store.read(lambda db: [_compare(db, path, data) for path, data in found])

    def _take(self, data: bytes, source: str, source_path: str) -> DefinitionRecord:
        record = new_record(read_definition(data), source=source, source_path=source_path, now=self.clock.now())
        kept: DefinitionRecord = get(self.services.journal.write.remote(lambda db: storage.insert(db, record)))
        if kept is record:
            self.services.changed(identity(record.id, record.version))
        return kept


def _read_all(root: str) -> list[tuple[Path, bytes | WhiskError]]:
    return [(path, _read(path)) for path in definition_file.find(root)]


def _read(path: Path) -> bytes | WhiskError:
    try:
        return definition_file.read(path)
    except WhiskError as error:
        return error


def _compare(db: Database, path: Path, data: bytes | WhiskError) -> DefinitionFile:
    if isinstance(data, WhiskError):
        return DefinitionFile(path=str(path), state="invalid", errors=(ValidationError(message=data.message),))
    report, definition = check_definition(data)
    if definition is None:
        return DefinitionFile(path=str(path), state="invalid", identity=report.identity, errors=report.errors)
    known = storage.find(db, definition.id, definition.version)
    same = known is not None and known.content_hash == content_hash(definition)
    return DefinitionFile(
        path=str(path),
        state="new" if known is None else "imported" if same else "changed",
        identity=report.identity,
    )
