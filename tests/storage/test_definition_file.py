"""Workflow definitions as files: what may be read, and what is never overwritten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from whisk.errors import InvalidError, RefusedError, TooLargeError
from whisk.storage import definition_file
from whisk.work.definition import BUILTIN
from whisk.work.validation import SIZE_LIMIT, read_definition

SHIP = msgspec.structs.replace(BUILTIN, id="ship")


def test_what_is_written_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "ship.json"
    definition_file.write(path, SHIP)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_definition(definition_file.read(path)) == SHIP
    assert path.read_text().startswith('{\n  "id": "ship",\n')
    assert os.listdir(tmp_path) == ["ship.json"]


def test_another_version_takes_the_place_of_the_one_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "ship.json"
    definition_file.write(path, SHIP)
    definition_file.write(path, msgspec.structs.replace(SHIP, version=2))
    assert read_definition(path.read_bytes()).version == 2
    assert os.listdir(tmp_path) == ["ship.json"]


@pytest.mark.parametrize("content", [b"", b"notes", b"{}", b'{"id": "ship"}'])
def test_what_is_no_definition_is_never_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ship.json"
    path.write_bytes(content)
    with pytest.raises(RefusedError, match="something else than a workflow definition"):
        definition_file.write(path, SHIP)
    assert path.read_bytes() == content


def test_a_definition_of_another_id_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "ship.json"
    definition_file.write(path, BUILTIN)
    with pytest.raises(RefusedError, match="is the definition plan-execute-review"):
        definition_file.write(path, SHIP)


def test_nothing_is_written_through_a_link_or_over_a_folder(tmp_path: Path) -> None:
    target, link, folder = tmp_path / "precious.json", tmp_path / "ship.json", tmp_path / "folder.json"
    definition_file.write(target, SHIP)
    link.symlink_to(target)
    folder.mkdir()
    before = target.stat().st_mtime_ns
    for path in (link, folder):
        with pytest.raises(RefusedError, match="something else"):
            definition_file.write(path, msgspec.structs.replace(SHIP, version=2))
    assert target.stat().st_mtime_ns == before
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RefusedError):
        definition_file.write(tmp_path / "dangling.json", SHIP)
    assert not (tmp_path / "nowhere").exists()


def test_only_a_projects_own_folder_is_made(tmp_path: Path) -> None:
    definition_file.write(tmp_path / ".whisk" / "workflows" / "ship.json", SHIP)
    assert definition_file.find(str(tmp_path)) == [tmp_path / ".whisk" / "workflows" / "ship.json"]
    for path in (tmp_path / "new" / "ship.json", tmp_path / "gone" / ".whisk" / "workflows" / "ship.json"):
        with pytest.raises(InvalidError, match=f"cannot write {path}: No such file or directory"):
            definition_file.write(path, SHIP)
    assert sorted(os.listdir(tmp_path)) == [".whisk"]


def test_a_folder_that_cannot_be_made_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / ".whisk").write_text("a file")
    with pytest.raises(InvalidError, match="cannot write"):
        definition_file.write(tmp_path / ".whisk" / "workflows" / "ship.json", SHIP)


def test_only_plain_files_of_a_definitions_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b" " * (SIZE_LIMIT + 1))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, part in (
        ("pipe", "not a plain file"),
        ("", "not a plain file"),
        ("none", "No such file"),
        ("loop", "Too"),
    ):
        with pytest.raises(InvalidError, match=part):
            definition_file.read(tmp_path / name)
    with pytest.raises(InvalidError, match="not a plain file"):
        definition_file.read(Path("/dev/zero"))
    with pytest.raises(TooLargeError, match="at most"):
        definition_file.read(tmp_path / "large")


@pytest.mark.parametrize(
    ("path", "part"), [("", "path required"), ("a.json", "must be absolute"), ("/a\0b", "NUL"), ("~/a", "absolute")]
)
def test_a_path_is_absolute(path: str, part: str) -> None:
    with pytest.raises(InvalidError, match=part):
        definition_file.check_path(path)


def test_a_projects_definitions_are_found_by_name_and_links_do_not_lead_out(tmp_path: Path) -> None:
    root = tmp_path / "app"
    folder = root / ".whisk" / "workflows"
    folder.mkdir(parents=True)
    (tmp_path / "outside.json").write_text("{}")
    for name in ("b.json", "a.json", "notes.md", ".hidden.json"):
        (folder / name).write_text("{}")
    (folder / "away.json").symlink_to(tmp_path / "outside.json")
    (folder / "here.json").symlink_to("a.json")
    assert [path.name for path in definition_file.find(str(root))] == ["a.json", "b.json", "here.json"]
    (tmp_path / "link").symlink_to(root)
    assert len(definition_file.find(str(tmp_path / "link"))) == 3
    assert definition_file.find(str(tmp_path / "nowhere")) == []
