"""The hook payloads captured from real Claude Code 2.1.197 and Codex 0.171.0, as events, asks and requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from whisk.bridges.bridge import BridgeOwner, open_bridge
from whisk.bridges.request import BridgeRequest, new_request
from whisk.clock import Instant
from whisk.hooks.event import HookEvent
from whisk.hooks.payload import read_payload
from whisk.hooks.provider import find_provider

PAYLOADS = Path(__file__).parent / "payloads"
FOLDERS = {"claude": "claude-code", "codex": "codex"}
FILES = [(name, path) for name, folder in FOLDERS.items() for path in sorted((PAYLOADS / folder).glob("*.json"))]
NOW = Instant(1_800_000_000_000_000_000)


def raw(provider: str, name: str, **changes: object) -> bytes:
    """The bytes of one payload, with some of its fields changed."""
    data = json.loads((PAYLOADS / FOLDERS[provider] / f"{name}.json").read_text("utf-8"))
    return json.dumps(data | changes).encode()


def load(provider: str, name: str, **changes: object) -> HookEvent:
    return find_provider(provider).read(read_payload(raw(provider, name, **changes)), "")


def ask(provider: str, name: str, **changes: object) -> Any:
    found = find_provider(provider).ask_of(load(provider, name, **changes))
    assert found is not None
    return found


def request(provider: str, name: str, **changes: object) -> BridgeRequest:
    """A pending request, 590 s before its end, as that payload makes it."""
    event = load(provider, name, **changes)
    waits = find_provider(provider).ask_of(event)
    assert waits is not None
    bridge, _ = open_bridge(BridgeOwner(provider=provider, pty_id="pty_1", session_id="sess_1"), NOW)
    return new_request(bridge, "relay", event, waits, NOW, 590.0, "ask", "")
