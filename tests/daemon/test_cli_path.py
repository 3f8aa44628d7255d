"""Which file agents call as $WHISK_CLI, and what comes with it on their PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whisk.daemon.cli_path import find_cli


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment as pip leaves it: `whisk` beside a `python`."""
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python3").symlink_to(sys.executable)
    (folder / "whisk").write_text("#!/bin/sh\necho this one\n")
    (folder / "whisk").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python3"))
    return folder


def test_the_command_lies_alone_in_its_folder(tmp_path: Path, installed: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    for _ in range(2):
        cli = find_cli({}, state)
    assert os.listdir(os.path.dirname(cli)) == ["whisk"]
    assert subprocess.run([cli], capture_output=True, check=True).stdout == b"this one\n"


def test_a_move_of_the_installation_is_followed(tmp_path: Path, installed: Path) -> None:
    state = tmp_path / "state"
    (state / "bin").mkdir(parents=True)
    (state / "bin" / "whisk").symlink_to("/no/longer/there")
    assert os.readlink(find_cli({}, state)) == str(installed / "whisk")


def test_the_persons_own_choice_wins(tmp_path: Path, installed: Path) -> None:
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert find_cli({"WHISK_CLI": str(other)}, tmp_path) == str(other)


def test_without_an_installed_command_a_script_is_made_and_an_old_link_is_not_written_through(
    tmp_path: Path, installed: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    find_cli({}, state)
    before = (installed / "whisk").read_text()
    (installed / "whisk").chmod(0o644)
    script = Path(find_cli({}, state))
    assert not script.is_symlink()
    assert (installed / "whisk").read_text() == before
