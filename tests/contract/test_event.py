"""Every event that whiskd may announce is documented and announced, and nothing else is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whisk.events import EVENT_TYPES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "\n".join(path.read_text("utf-8") for path in (ROOT / "whisk").rglob("*.py") if path.name != "events.py")


def test_the_page_of_events_lists_every_type_there_is() -> None:
    page = (ROOT / "docs/event.md").read_text("utf-8")
    listed = re.findall(r"^\| `([a-z_]+\.[a-z]+)` \|", page, re.MULTILINE)
    assert listed == list(EVENT_TYPES)


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_a_type_is_announced_somewhere(kind: str) -> None:
    assert f'"{kind}"' in SOURCE
