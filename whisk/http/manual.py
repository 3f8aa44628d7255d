"""`docs/openapi.json` and `docs/http.md`, written from the route table: `python -m whisk.http.manual` renews both."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whisk.http.openapi import Document, document, wire_path
from whisk.http.reply import JSON
from whisk.http.route import Route
from whisk.http.schema import REFERENCE, Schema
from whisk.http.table import all_routes

_HEAD = """# HTTP

Made from the route table by `task docs:write`; `openapi.json` beside it says the same to programs.

Every request carries `Authorization: Bearer <token>`; the token is the text of `control-token` in the state folder.
Without it there are only @OPEN@.

Bodies are JSON. A field or a query value that is **bold** is required. Fields that are unknown are
ignored, and so is an id in a body that the path names too. Of an answer, a field that would be empty is left out. A
list in a query is joined by commas, or its name is repeated. A GET that answers a list answers JSON lines to
`Accept: application/x-ndjson`.

A refusal is `{"error": a sentence, "code": a word that stays, "details": {…}}`. Any operation may answer:

| Status | When |
|---|---|
| 400 | a value is invalid, or a rule refuses what was asked for |
| 401 | no token, or a wrong one |
| 403 | the request comes from a foreign page or host |
| 404 | there is no such thing |
| 409 | somebody else was first |
| 410 | what was asked for is over |
| 413 | the body is larger than the operation takes |
| 500 | a bug; the daemon's log tells more |
| 503 | too busy, or about to stop; `Retry-After` says when to come back |
| 504 | something inside did not answer in time |
"""


def page(routes: tuple[Route, ...], made: Document) -> str:
    """The Markdown of all operations, by noun, and of all records. `made` is the document of these routes."""
    nouns = sorted({_noun(route) for route in routes})
    free = [f"`{route.method} {wire_path(route.path)}`" for route in routes if route.auth == "none"]
    lines = [_HEAD.replace("@OPEN@", " and ".join(free))]
    for noun in nouns:
        # Not the bare noun: a record of that name would not be found by its link.
        lines.append(f"## {noun.capitalize()} operations\n")
        for route in routes:
            if _noun(route) == noun:
                operation = made["paths"][wire_path(route.path)][route.method.lower()]
                lines.append("\n".join(_operation(route, operation)) + "\n")
    lines.append("## Records\n")
    for name, schema in made["components"]["schemas"].items():
        lines.append("\n".join(_record(name, schema)) + "\n")
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write both files there."""
    routes = all_routes()
    made = document(routes)
    (folder / "openapi.json").write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", "utf-8")
    (folder / "http.md").write_text(page(routes, made), "utf-8")


def _noun(route: Route) -> str:
    return route.handler.__module__.rpartition(".")[2].replace("_", " ")


def _operation(route: Route, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### {operation['summary']}\n"
    yield f"`{route.method} {wire_path(route.path)}` · `{route.operation}`\n"
    if said := operation.get("description"):
        yield said + "\n"
    query = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    if query:
        yield "- query: " + ", ".join(
            _field(each["name"], each["schema"], required=each.get("required", False)) for each in query
        )
    if body := operation.get("requestBody"):
        schema = body["content"][JSON]["schema"]
        yield f"- body: {_type(schema)}" + ("" if body["required"] else ", or none")
    yield "- answer: " + ", ".join(_answers(operation))


def _answers(operation: dict[str, Any]) -> Iterator[str]:
    for status, answer in operation["responses"].items():
        if status != "default":
            contents = answer.get("content", {}).items()
            types = [_type(content["schema"]) if media == JSON else f"`{media}`" for media, content in contents]
            yield " ".join([status, *(types or [answer["description"].lower()])])
    if frames := operation.get("x-frames"):
        yield "then " + " and ".join(_type(frame) for frame in frames)


def _record(name: str, schema: Schema) -> Iterator[str]:
    yield f"### {name}\n"
    if said := schema.get("description"):
        yield said + "\n"
    required = schema.get("required", ())
    for field, kind in schema["properties"].items():
        yield "- " + _field(field, kind, required=field in required)
    if not schema["properties"]:
        yield "No fields."


def _field(name: str, schema: Schema, *, required: bool) -> str:
    default = f" = `{json.dumps(schema['default'])}`" if schema.get("default") else ""
    return f"{f'**{name}**' if required else name} {_type(schema)}{default}"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REFERENCE)
        return f"[{name}](#{name.lower()})"
    text = _plain_type(schema)
    return f"{text} or null" if schema.get("nullable") else text


def _plain_type(schema: Schema) -> str:
    if several := schema.get("anyOf") or schema.get("allOf"):
        return " or ".join(_type(each) for each in several)
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}"
        case "object":
            return f"object of {_type(schema['additionalProperties'])}"
        case "string" if "enum" in schema:
            return " \\| ".join(f"`{word}`" if word else "empty" for word in schema["enum"])
        case "string":
            return {"date-time": "time"}.get(schema.get("format", ""), "string")
        case None:
            return "any JSON"
        case other:
            return str(other) + _bounds(schema)


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None and most is None:
        return ""
    return f" ({'' if least is None else least}…{'' if most is None else most})"


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
