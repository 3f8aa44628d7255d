"""The examples of the documentation run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import whisk.commands

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("text", [(ROOT / "docs" / "command.md").read_text("utf-8"), whisk.commands.__doc__ or ""])
def test_the_example_runs(text: str) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(example, "example", "exec"), {})
