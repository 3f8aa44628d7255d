"""Workflow definitions. The paths of files are on the daemon's side, and absolute."""

from __future__ import annotations

import re

from whisk.errors import NotFoundError
from whisk.http import trail
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.work.definition import DefinitionRecord
from whisk.work.definition_exchange import (
    DefinitionFile,
    ExportDefinitionFile,
    ImportDefinition,
    ImportDefinitionFile,
    ValidateDefinition,
    ValidateDefinitionFile,
)
from whisk.work.validation import ValidationReport, check_definition

# Small enough for every column that holds a version.
_VERSION = re.compile(r"[1-9][0-9]{0,8}")


def list_definitions(api: Api, request: Request[None, None]) -> list[DefinitionRecord]:
    """The built-in one is always there, and first."""
    return api.work.definitions.all()


def validate(api: Api, request: Request[ValidateDefinition, None]) -> ValidationReport:
    """A definition that is not valid is no error here: the report names every fault and its place."""
    return check_definition(bytes(request.body.definition)).report


def validate_file(api: Api, request: Request[ValidateDefinitionFile, None]) -> ValidationReport:
    """A file that cannot be read is an error; one that holds no valid definition is a report."""
    return api.work.definitions.check_file(request.body.path)


def import_definition(api: Api, request: Request[ImportDefinition, None]) -> DefinitionRecord:
    """The same content again changes nothing; another content under a known id and version is 409."""
    return api.work.definitions.take(request.body)


def import_file(api: Api, request: Request[ImportDefinitionFile, None]) -> DefinitionRecord:
    return api.work.definitions.take_file(request.body.path)


def export_file(api: Api, request: Request[ExportDefinitionFile, None]) -> None:
    """The file is readable for its owner only. What is there and is no definition of this id is left as it is."""
    api.work.definitions.write_file(request.body)


def delete_definition(api: Api, request: Request[None, None]) -> DefinitionRecord:
    """Refused while a project uses it or a work item is pinned to it."""
    id, version = request.path["workflow_id"], request.path["version"]
    if not _VERSION.fullmatch(version):
        raise NotFoundError(f"workflow definition {id}@{version} not found", id=id)
    gone = api.work.definitions.delete(id, int(version))
    trail.note(api, request, "delete", "workflow-definition", f"{id}@{version}", "deleted")
    return gone


def list_files(api: Api, request: Request[None, None]) -> list[DefinitionFile]:
    return api.work.definitions.files(request.path["project_id"])


_BASE = "/v1/workflow-definitions"

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        _BASE,
        list_definitions,
        "List workflow definitions",
        reply=list[DefinitionRecord],
        operation="listWorkflowDefinitions",
    ),
    Route(
        "POST",
        f"{_BASE}/validate",
        validate,
        "Check a workflow definition and change nothing",
        body=ValidateDefinition,
        reply=ValidationReport,
        operation="validateWorkflowDefinition",
    ),
    Route(
        "POST",
        f"{_BASE}/validate-file",
        validate_file,
        "Check a workflow definition in a file",
        body=ValidateDefinitionFile,
        reply=ValidationReport,
        operation="validateWorkflowDefinitionFile",
    ),
    Route(
        "POST",
        f"{_BASE}/import",
        import_definition,
        "Import a workflow definition",
        body=ImportDefinition,
        reply=DefinitionRecord,
        status=201,
        operation="importWorkflowDefinition",
    ),
    Route(
        "POST",
        f"{_BASE}/import-file",
        import_file,
        "Import a workflow definition from a file",
        body=ImportDefinitionFile,
        reply=DefinitionRecord,
        status=201,
        operation="importWorkflowDefinitionFile",
    ),
    Route(
        "POST",
        f"{_BASE}/export-file",
        export_file,
        "Write a workflow definition to a file",
        body=ExportDefinitionFile,
        status=204,
        operation="exportWorkflowDefinitionFile",
    ),
    Route(
        "POST",
        f"{_BASE}/{{workflow_id}}/{{version}}/delete",
        delete_definition,
        "Delete a workflow definition that nobody uses",
        reply=DefinitionRecord,
        operation="deleteWorkflowDefinition",
    ),
    Route(
        "GET",
        "/v1/projects/{project_id}/workflow-files",
        list_files,
        "List the workflow definitions that a project has as files",
        reply=list[DefinitionFile],
        operation="listProjectWorkflowFiles",
    ),
)
