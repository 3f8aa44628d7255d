"""The documents that are written from the route table are those of this route table."""

from __future__ import annotations

from pathlib import Path

import pytest

from whisk.http import manual

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    manual.write(folder)
    return folder


@pytest.mark.parametrize("name", ["openapi.json", "http.md"])
def test_a_written_document_is_not_stale(written: Path, name: str) -> None:
    now, committed = (folder.joinpath(name).read_text("utf-8") for folder in (written, DOCS))
    # Not `assert now == committed`: what differs is half a page in thousands of lines.
    if now != committed:
        pytest.fail(
            f"docs/{name} is not what the routes say now. Renew it: `task docs:write`, or "
            "`python -m whisk.http.manual`, and commit it with the change of the routes."
        )
