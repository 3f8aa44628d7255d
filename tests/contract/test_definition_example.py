"""The workflow definition that the documentation shows is one that whisk takes."""

from __future__ import annotations

import re
from pathlib import Path

from whisk.work.definition import content_hash
from whisk.work.validation import read_definition

PAGE = Path(__file__).resolve().parents[2] / "docs" / "workflow-definitions.md"


def test_the_definition_of_the_page_is_valid_and_has_the_hash_that_is_shown() -> None:
    text = PAGE.read_text("utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    definition = read_definition(example.encode())
    assert content_hash(definition)[:12] in text
