"""Our wire against the one that clients of whiskd already speak, where its document lies beside this repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.inspect import type_info

from tests.contract.comparison import differences
from tests.http.test_every_route import sample
from whisk.http.openapi import document
from whisk.http.schema import Schemas
from whisk.http.table import all_routes
from whisk.values import decode

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = Path(os.environ.get("WHISK_CONTRACT") or ROOT.parent / "shared/contract/whiskd-v1.openapi.json")

_JSON = "Any JSON, as whiskd sends and takes it; its document takes the Go type for bytes."
_PLUGINS = "Optional, and whisk never has it: it has no plugins, and nothing that drafts a prompt without sending it."

ALLOWED: dict[str, str] = {
    "AgentProfile.draftPromptEnvVar: missing": _PLUGINS,
    "AgentProfile.draftPromptFlag: missing": _PLUGINS,
    "AgentProfile.pluginId: missing": _PLUGINS,
    "MailMessage.payload: anything, not string byte": _JSON,
    "MetadataValue.json: anything, not string byte": _JSON,
    "ReplyMailRequest.payload: anything, not string byte": _JSON,
    "SendMailRequest.payload: anything, not string byte": _JSON,
    "UIContributionsResponse.plugins: missing": _PLUGINS,
    "getPTYOutput from: string, not integer": "A number still, or the word `end`.",
    "killPTY 200: KilledPTY, not PTYInfo": "A PTYInfo that may also say which processes could not be ended.",
}
"""Every deliberate difference beyond the rules of `comparison`, and why clients get on with it."""


@pytest.fixture(scope="module")
def contract() -> dict[str, Any]:
    if not CONTRACT.exists():
        pytest.skip(f"no contract at {CONTRACT}; WHISK_CONTRACT names another place")
    return dict(json.loads(CONTRACT.read_text("utf-8")))


@pytest.fixture(scope="module")
def found(contract: dict[str, Any]) -> set[str]:
    return differences(document(all_routes()), contract)


def test_clients_of_whiskd_find_every_operation_and_field_they_know(found: set[str]) -> None:
    assert sorted(found - set(ALLOWED)) == []


def test_null_is_understood_where_clients_of_whiskd_may_send_it(contract: dict[str, Any]) -> None:
    """Our document does not say so of a field that may be left out, so the records are asked."""
    sent = Schemas()
    for route in all_routes():
        if route.body not in (None, bytes):
            sent.of(route.body)
    # A definition has a reader of its own, which takes null for an empty list.
    own = {"WorkflowDefinition", "WorkflowActionDefinition"}
    for name in sorted((set(sent.kinds) - own) & set(contract["components"]["schemas"])):
        kind = sent.kinds[name]
        least = sample(type_info(kind))
        for field, schema in contract["components"]["schemas"][name].get("properties", {}).items():
            if schema.get("nullable"):
                decode(json.dumps(least | {field: None}), kind)


def test_every_line_of_the_allow_list_is_needed_and_has_a_reason(found: set[str]) -> None:
    assert sorted(set(ALLOWED) - found) == []
    assert all(reason.strip().endswith(".") for reason in ALLOWED.values())
