"""The wire as an OpenAPI 3.0 document, made of the route table and the records that it names.

`GET /v1/openapi.json` serves it, `docs/openapi.json` is a copy of it. Operations have the names and path parameters
that clients of whiskd know: `{work_item_id}` of the route table is `{workItemID}` there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from whisk import PROTOCOL_VERSION
from whisk.http.failure import ErrorResponse
from whisk.http.reply import JSON
from whisk.http.route import FILLED_IN, Route
from whisk.http.schema import Schema, Schemas, description, wire_name
from whisk.http.table import all_routes

Document = dict[str, Any]

# The group of an operation by the first part of its path; a part that is not named here is a group of its own.
_TAGS = {
    "actors": "system",
    "agent-bridge-approvals": "agent-bridges",
    "agent-bridge-events": "agent-bridges",
    "agent-hook-events": "agent-bridges",
    "agent-hook-integrations": "agent-bridges",
    "agent-hook-log": "agent-bridges",
    "agent-profiles": "agents",
    "agent-prompts": "agent-bridges",
    "artifacts": "workitems",
    "compat": "system",
    "daemon": "system",
    "dead-letters": "system",
    "gate-reports": "workitems",
    "health": "system",
    "hook-relay": "agent-bridges",
    "metrics": "system",
    "onboarding": "system",
    "openapi.json": "system",
    "policies": "agent-bridges",
    "project-attachments": "workitems",
    "projects": "workitems",
    "prompt-templates": "workitems",
    "pty-history": "ptys",
    "questions": "workitems",
    "ready-work": "workitems",
    "shutdown": "system",
    "status": "workitems",
    "status-events": "workitems",
    "ui-contributions": "plugins",
    "work-item-links": "workitems",
    "work-item-runs": "workitems",
    "work-items": "workitems",
    "workflow-definitions": "workitems",
    "workflow-events": "workitems",
    "workflow-templates": "workitems",
    "worktrunk": "worktrees",
}
_INFO = {
    "title": "whiskd",
    "version": str(PROTOCOL_VERSION),
    "description": "The daemon of whisk: agents' terminals, their mail, their questions, and the work they do.\n\n"
    "A GET that answers a list answers JSON lines to `Accept: application/x-ndjson`.",
}
_SECURITY = {
    "controlBearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "The text of the file control-token in whisk's state folder.",
    },
    "controlQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "access_token",
        "description": "The same token, where a client cannot set headers.",
    },
}


@cache
def served() -> bytes:
    """The document of every route there is, as JSON. Made once; that takes a tenth of a second of one core."""
    return msgspec.json.encode(document(all_routes()))


def document(routes: Sequence[Route]) -> Document:
    """Equal routes make an equal document, key for key. Raises `ValueError` when two operations have one name."""
    schemas = Schemas()
    error = schemas.of(ErrorResponse)
    paths: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for route in routes:
        if not route.operation or names.setdefault(route.operation, route.name) != route.name:
            raise ValueError(f"{route.name} needs an operation of its own, not {route.operation!r}")
        paths.setdefault(wire_path(route.path), {})[route.method.lower()] = _operation(route, schemas, error)
    return {
        "openapi": "3.0.3",
        "info": _INFO,
        "tags": [{"name": name} for name in sorted({tag_of(route.path) for route in routes})],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(schemas.components.items())), "securitySchemes": _SECURITY},
    }


def wire_path(path: str) -> str:
    """`/v1/mail/{mail_id}/read` → `/v1/mail/{mailID}/read`."""
    return re.sub(r"\{(\w+)\}", lambda found: "{" + wire_parameter(found[1]) + "}", path)


def wire_parameter(name: str) -> str:
    """`work_item_id` → `workItemID`."""
    first, *rest = name.split("_")
    return first + "".join("ID" if part == "id" else part.capitalize() for part in rest)


def tag_of(path: str) -> str:
    part = path.removeprefix("/v1").split("/")[1]
    return _TAGS.get(part, part)


def _operation(route: Route, schemas: Schemas, error: Schema) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": route.operation, "summary": route.summary, "tags": [tag_of(route.path)]}
    # What a query means stands at its record, which has no schema of its own.
    if said := [text for text in (description(route.handler), description(route.query)) if text]:
        operation["description"] = "\n\n".join(said)
    if route.frames:
        operation["x-frames"] = [schemas.of(frame) for frame in route.frames]
    if parameters := [*_path_parameters(route), *_query_parameters(route, schemas)]:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _body(route, schemas)
    operation["responses"] = {
        str(101 if route.token_in_query else route.status): _answer(route, schemas),
        "default": {"description": "The request was refused", "content": {JSON: {"schema": error}}},
    }
    operation["security"] = _security(route)
    return operation


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": wire_parameter(name), "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]


def _query_parameters(route: Route, schemas: Schemas) -> list[dict[str, Any]]:
    found = []
    for name, (schema, required) in schemas.fields(route.query).items() if route.query is not None else ():
        parameter: dict[str, Any] = {"name": name, "in": "query", "schema": schema}
        if required:
            parameter["required"] = True
        if schema.get("type") == "array":
            # Joined by commas; repeating the name says the same.
            parameter |= {"style": "form", "explode": False}
        found.append(parameter)
    return found


def _body(route: Route, schemas: Schemas) -> dict[str, Any]:
    schema = {} if route.body is bytes else schemas.of(route.body)
    if route.body is not bytes:
        schemas.components[wire_name(route.body)]["properties"].pop(FILLED_IN, None)
    required = route.body is not bytes and any(need for _, need in schemas.fields(route.body).values())
    return {"required": required, "content": {JSON: {"schema": schema}}}


def _answer(route: Route, schemas: Schemas) -> dict[str, Any]:
    if route.token_in_query:
        return {"description": "The connection becomes a WebSocket"}
    answer: dict[str, Any] = {"description": HTTPStatus(route.status).phrase}
    if route.media != JSON:
        text = {"type": "string"} if route.media.startswith("text/") else {"type": "string", "format": "binary"}
        answer["content"] = {route.media: {"schema": text}}
    elif route.reply is not None:
        answer["content"] = {JSON: {"schema": schemas.of(route.reply)}}
    return answer


def _security(route: Route) -> list[dict[str, list[str]]]:
    if route.auth == "none":
        return []
    return [{"controlBearer": []}, {"controlQuery": []}] if route.token_in_query else [{"controlBearer": []}]
