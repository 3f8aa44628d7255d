"""`whisk demo` tells a true story and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from tests.daemon.conftest import Whiskd


@pytest.fixture
def folder() -> Iterator[str]:
    """Where the demo makes its own folder; short, as sockets lie below it."""
    made = tempfile.mkdtemp(prefix="wd-", dir="/tmp")
    yield made
    shutil.rmtree(made, ignore_errors=True)


def processes_in(folder: str) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if any(folder in word for word in words) or process.environ().get("WHISK_STATE_DIR", "").startswith(folder):
                found.append(" ".join(words))
        except psutil.Error:
            continue
    return found


def test_the_demo_plays_and_cleans_up(place: Whiskd, folder: str) -> None:
    done = place.cli("demo", TMPDIR=folder, check=0, timeout=90)
    story = done.stdout
    assert "$ whisk prompt resolve" in story
    assert '"permissionDecision":"allow"' in story
    assert "reviewer: took handoff 'Please review'" in story
    assert re.search(r"No process and no file is left\. It took \d+\.\d s", story)
    assert os.listdir(folder) == []
    assert processes_in(folder) == []
    assert not (place.state_dir / "daemon.json").exists()


def test_a_kept_demo_can_be_looked_at_and_ended_as_it_says(place: Whiskd, folder: str) -> None:
    story = place.cli("demo", "-keep", TMPDIR=folder, check=0, timeout=90).stdout
    export = re.search(r"\$ export WHISK_STATE_DIR=(\S+) WHISK_CONFIG=(\S+)", story)
    assert export is not None
    state = export[1]
    listed = place.cli("mail", "list", "-json", check=0, WHISK_STATE_DIR=state)
    assert len(json.loads(listed.stdout)) == 5
    ending = re.search(r"\$ (whisk daemon stop -kill-ptys && rm -r \S+)", story)
    assert ending is not None
    place.cli("daemon", "stop", "-kill-ptys", check=0, WHISK_STATE_DIR=state)
    subprocess.run(["rm", "-r", ending[1].split()[-1]], check=True)
    assert os.listdir(folder) == []


def test_ctrl_c_in_the_demo_leaves_nothing(place: Whiskd, folder: str) -> None:
    process = place.popen("demo", TMPDIR=folder)
    assert process.stdout is not None
    line = b""
    while b"whisk project create" not in line:
        line = process.stdout.readline()
        assert line
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert os.listdir(folder) == []
    assert processes_in(folder) == []


def test_a_story_that_is_not_true_fails_and_cleans_up(place: Whiskd, folder: str) -> None:
    """The teller expects another question than the agent, a process of its own, will ask."""
    program = (
        "import sys\nfrom whisk.cli.demo import question\nquestion.QUESTION = 'Another?'\n"
        "from whisk.cli.main import main\nsys.exit(main(['demo']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=place.env | {"TMPDIR": folder}, capture_output=True, text=True,
        timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "the demo went wrong: what the prompt says: wanted 'Another?'" in done.stderr
    assert "the end of the daemon's log" in done.stderr
    assert os.listdir(folder) == []
    assert processes_in(folder) == []
