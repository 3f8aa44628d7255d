"""docs/scenarios.md names a test for each way in which things went wrong elsewhere; each of them is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(
    r"^\| (.+?) \| `(tests/\S+?)::(\w+)` \|$", (ROOT / "docs/scenarios.md").read_text("utf-8"), re.MULTILINE
)


@cache
def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_every_line_of_the_tables_is_read() -> None:
    lines = [line for line in (ROOT / "docs/scenarios.md").read_text("utf-8").splitlines() if "::" in line]
    assert len(lines) == len(ROWS) > 60


@pytest.mark.parametrize(("fault", "path", "name"), ROWS)
def test_a_named_test_exists(fault: str, path: str, name: str) -> None:
    assert name in names_in(path), fault
