"""Clients that a program makes of the document speak to a real daemon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.test_contract import CONTRACT

from .conftest import ROOT, Whiskd

STORY = Path(__file__).with_name("client_story.py")
OURS = ROOT / "docs/openapi.json"


@pytest.mark.slow
@pytest.mark.parametrize("source", [OURS, CONTRACT], ids=["our document", "the contract"])
def test_a_generated_client_tells_the_whole_story(daemon: Whiskd, tmp_path: Path, source: Path) -> None:
    if not source.exists():
        pytest.skip(f"no contract at {source}")
    config = tmp_path / "config.yml"
    # Lines of JSON are text to the generator, which knows no such type; formatting is not what is looked at here.
    config.write_text(json.dumps({"content_type_overrides": {"application/x-ndjson": "text/plain"}, "post_hooks": []}))
    generate = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(source), "--meta", "none"]
    made = subprocess.run(
        [*generate, "--output-path", str(tmp_path / "wire"), "--config", str(config), "--fail-on-warning"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    told = subprocess.run(
        [sys.executable, str(STORY), daemon.url, daemon.token, str(daemon.home)],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stderr
