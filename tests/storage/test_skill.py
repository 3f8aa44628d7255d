"""Skills on disk: found within bounds, never outside of their folder, and described by their front matter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whisk.clock import ManualClock
from whisk.errors import InvalidError
from whisk.profiles.skill import FILE_LIMIT, Place, SkillCatalog, read_head, skill_id
from whisk.storage import skill as storage
from whisk.storage.skill import scan
from whisk.values import encode


def place(folder: Path, depth: int = 4) -> Place:
    return Place("claude", "Claude Code", str(folder), "user", ("claude",), depth)


def write(folder: Path, text: str = "---\nname: a skill\ndescription: Does it.\n---\n# Body\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text)
    return folder


def look(folder: Path, depth: int = 4) -> SkillCatalog:
    return scan([place(folder, depth)], ManualClock())


def skipped(folder: Path) -> str:
    return look(folder).sources[0].skipped_reason


def test_a_skill_is_found_with_what_it_says_of_itself(tmp_path: Path) -> None:
    folder = write(tmp_path / "group/review")
    (folder / "scripts").mkdir()
    (folder / "scripts/run.sh").touch()
    (found,) = look(tmp_path).skills
    file = str(folder / "SKILL.md")
    assert (found.name, found.description, found.skill_file_path) == ("a skill", "Does it.", file)
    assert (found.id, found.file_count, found.providers) == (skill_id(file), 2, ("claude",))
    assert len(found.id) == 16


def test_a_folder_that_is_not_there_is_a_source_all_the_same(tmp_path: Path) -> None:
    found = look(tmp_path / "none")
    assert (found.skills, found.sources[0].exists, found.sources[0].skipped_reason) == ((), False, "")


def test_nothing_is_looked_for_deeper_than_allowed_or_inside_of_a_skill(tmp_path: Path) -> None:
    write(tmp_path / "a/b")
    write(tmp_path / "a/b/c")
    assert [each.directory_path for each in look(tmp_path, 2).skills] == [str(tmp_path / "a/b")]
    assert look(tmp_path, 1).skills == ()


def test_a_link_that_leads_out_is_refused_and_one_inside_is_followed_once(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside")
    root = tmp_path / "skills"
    write(root / "own")
    (root / "again").symlink_to("own")
    (root / "loop").symlink_to(".")
    (root / "escape").symlink_to(outside)
    (root / "file").mkdir()
    (root / "file/SKILL.md").symlink_to(outside / "SKILL.md")
    assert len(look(root).skills) == 1
    assert "escape leads out of" in skipped(root)
    assert "file/SKILL.md leads out of" in skipped(root)


def test_a_root_that_is_itself_a_link_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "dotfiles/one")
    (tmp_path / "skills").symlink_to("dotfiles")
    assert len(look(tmp_path / "skills").skills) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nname: [\n---\n", "not YAML"),
        ("---\nname: x\n", "does not end"),
        ("---\n- a\n---\n", "no mapping"),
        ("---\nname: !!python/object/apply:os.getcwd []\n---\n", "not YAML"),
        ("x" * (FILE_LIMIT + 1), "more than"),
    ],
    ids=["broken", "endless", "list", "object", "large"],
)
def test_what_cannot_be_read_is_left_out_and_said(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path / "bad", text)
    write(tmp_path / "good")
    assert len(look(tmp_path).skills) == 1
    assert said in skipped(tmp_path)


def test_bytes_that_are_no_text_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/SKILL.md").write_bytes(b"\xff\xfe")
    assert "bad/SKILL.md" in skipped(tmp_path)


def test_names_that_are_no_text_spoil_nothing(tmp_path: Path) -> None:
    write(tmp_path / "good")
    write(tmp_path / "half", '---\nname: "a\\ud800b"\n---\n')
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))).mkdir()
    write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))
    found = look(tmp_path)
    assert "a skill" in [each.name for each in found.skills]
    assert "is not UTF-8" in found.sources[0].skipped_reason
    encode(found)


def test_a_source_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        write(tmp_path / str(number))
    monkeypatch.setattr(storage, "MAX_SKILLS", 4)
    assert len(look(tmp_path).skills) == 4
    assert "more than 4 skills" in skipped(tmp_path)
    monkeypatch.setattr(storage, "MAX_ENTRIES", 8)
    assert "more than 8 files" in skipped(tmp_path)


def test_a_folder_that_two_places_lead_to_is_listed_once(tmp_path: Path) -> None:
    write(tmp_path / "a/x")
    found = scan([place(tmp_path / "a"), place(tmp_path)], ManualClock())
    assert len(found.skills) == 1


@pytest.mark.parametrize(
    ("text", "name", "description"),
    [
        ("# No head\n", "folder", ""),
        ("", "folder", ""),
        ("---\n---\n", "folder", ""),
        ("\ufeff---\r\nname: x\r\ndescription: >\r\n  two\r\n  lines\r\n---\r\n", "x", "two lines"),
        ("---\nname: 5\ndescription: [a]\n---\n", "folder", ""),
        ("---\nname: x\n...\n", "x", ""),
        (f"---\nname: {'n' * 500}\n---\n", "n" * 200, ""),
    ],
)
def test_front_matter_is_yaml_or_nothing(text: str, name: str, description: str) -> None:
    assert read_head(text, "folder") == (name, description)


def test_deep_front_matter_is_refused() -> None:
    with pytest.raises(InvalidError):
        read_head(f"---\na: {'[' * 5000}\n---\n", "folder")
