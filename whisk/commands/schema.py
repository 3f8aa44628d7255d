"""The wire of commands as JSON Schema (2020-12), made of the records and shipped beside them.

`python -m whisk.commands.schema` writes `schemas/*.json` anew; a test fails when one is stale.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from whisk.commands.catalog import Catalog, DoneStep, Invocation, PromptStep
from whisk.commands.host import HostSnapshot
from whisk.commands.outcome import Closed, Failed, Handled, Invalid, Missing, Unavailable
from whisk.commands.prompt import (
    ChoiceAnswer,
    ChoicePrompt,
    ConfirmationAnswer,
    ConfirmationPrompt,
    HandoffNotice,
    InfoNotice,
    ProgressNotice,
    SuccessNotice,
    TextAnswer,
    TextPrompt,
)
from whisk.commands.snapshot import Snapshot

SchemaName = Literal[
    "answer", "catalog", "interaction", "invocation", "notice", "outcome", "prompt", "snapshot", "step"
]
SCHEMAS: tuple[SchemaName, ...] = get_args(SchemaName)

_KINDS: dict[SchemaName, Any] = {
    "answer": ChoiceAnswer | TextAnswer | ConfirmationAnswer,
    "catalog": Catalog,
    "interaction": HostSnapshot,
    "invocation": Invocation,
    "notice": InfoNotice | ProgressNotice | HandoffNotice | SuccessNotice,
    "outcome": Handled | Unavailable | Failed | Missing | Invalid | Closed,
    "prompt": ChoicePrompt | TextPrompt | ConfirmationPrompt,
    "snapshot": Snapshot,
    "step": DoneStep | PromptStep,
}


def load_schema(name: SchemaName) -> dict[str, Any]:
    """A shipped schema, the caller's own."""
    text = files("whisk.commands").joinpath("schemas", f"{name}.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def generate(name: SchemaName) -> str:
    """The text of `schemas/<name>.json` as the records have it now."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(_KINDS[name])}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def main() -> None:
    folder = Path(__file__).with_name("schemas")
    folder.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (folder / f"{name}.json").write_text(generate(name), "utf-8")


if __name__ == "__main__":
    main()
