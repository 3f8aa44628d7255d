"""Files of other programs, changed while anything may happen: whole or not at all, and nobody's change is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from whisk.errors import ConflictError, InvalidError, RefusedError, TooLargeError
from whisk.storage import settings_file
from whisk.storage.settings_file import edit, hold, read_settings, write_own

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "agent/settings.json"
    path.parent.mkdir()
    path.write_text("old\n")
    return path


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def test_an_edit_keeps_the_mode_and_one_copy_of_what_was_before(file: Path) -> None:
    file.chmod(0o640)
    change = edit(file, lambda text: f"{text}new\n")
    assert (change.before, change.after, change.changed) == ("old\n", "old\nnew\n", True)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("old\nnew\n", 0o640)
    assert change.backup is not None
    assert (change.backup.read_text(), change.backup.stat().st_mode & 0o777) == ("old\n", 0o640)
    assert names(file) == ["settings.json", "settings.json.whisk-backup"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_an_edit_keeps_the_owner(file: Path) -> None:
    os.chown(file, 12345, 23456)
    edit(file, lambda text: "new")
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)
    backup = file.with_name("settings.json.whisk-backup").stat()
    assert (backup.st_uid, backup.st_gid) == (12345, 23456)


def test_an_edit_that_changes_nothing_touches_nothing(file: Path) -> None:
    before = file.stat()
    assert not edit(file, lambda text: text).changed
    assert (file.stat().st_mtime_ns, file.stat().st_ino, names(file)) == (
        before.st_mtime_ns,
        before.st_ino,
        ["settings.json"],
    )


def test_backups_are_bounded_and_the_newest_has_the_plain_name(file: Path) -> None:
    for number in range(6):
        edit(file, lambda text, number=number: f"{number}\n")
    assert names(file) == [f"settings.json{end}" for end in ("", ".whisk-backup", ".whisk-backup.1", ".whisk-backup.2")]
    kept = [(file.parent / name).read_text() for name in names(file)]
    assert kept == ["5\n", "4\n", "3\n", "2\n"]


def test_a_file_that_was_not_there_appears_and_goes(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/settings.json"
    assert edit(path, lambda text: "x" if text is None else "wrong").before is None
    assert path.stat().st_mode & 0o777 == 0o600
    edit(path, lambda text: None)
    assert not path.exists()


def test_a_link_stays_a_link_and_its_target_is_changed(tmp_path: Path, file: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    file.rename(dotfiles / "settings")
    file.symlink_to("../dotfiles/settings")
    edit(file, lambda text: "new")
    assert file.is_symlink()
    assert (dotfiles / "settings").read_text() == "new"
    assert names(file) == ["settings.json"]


def test_a_link_to_nothing_is_followed_too(tmp_path: Path) -> None:
    link = tmp_path / "settings.json"
    link.symlink_to("elsewhere.json")
    edit(link, lambda text: "new")
    assert (link.is_symlink(), (tmp_path / "elsewhere.json").read_text()) == (True, "new")


def test_a_read_only_file_or_folder_is_left_alone(tmp_path: Path, file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(RefusedError, match=r"settings\.json is read-only"):
        edit(file, lambda text: "new")
    file.chmod(0o644)
    file.parent.chmod(0o555)
    try:
        with pytest.raises(RefusedError, match="the folder of"):
            edit(file, lambda text: "new")
        link = tmp_path / "link.json"
        link.symlink_to(file)
        with pytest.raises(RefusedError, match=r"link\.json \(which is .*settings\.json\)"):
            edit(link, lambda text: "new")
    finally:
        file.parent.chmod(0o755)
    assert (file.read_text(), names(file)) == ("old\n", ["settings.json"])


def test_a_change_of_somebody_else_between_reading_and_writing_is_kept(file: Path) -> None:
    calls = []

    def change(text: str | None) -> str:
        calls.append(text)
        if len(calls) == 1:
            file.write_text("theirs\n")
        return f"{text}ours\n"

    assert edit(file, change).before == "theirs\n"
    assert (calls, file.read_text()) == (["old\n", "theirs\n"], "theirs\nours\n")
    assert "settings.json.whisk-backup" in names(file)


def test_a_link_that_was_turned_elsewhere_meanwhile_is_followed_anew(tmp_path: Path, file: Path) -> None:
    link, other = tmp_path / "link", tmp_path / "other"
    other.write_text("other\n")
    link.symlink_to(file)

    def change(text: str | None) -> str:
        if text == "old\n":
            link.unlink()
            link.symlink_to(other)
        return "new"

    edit(link, change)
    assert (file.read_text(), other.read_text()) == ("old\n", "new")


def test_a_file_that_never_holds_still_is_given_up(file: Path) -> None:
    def change(text: str | None) -> str:
        file.write_text(f"{text}x")
        return "ours"

    with pytest.raises(ConflictError, match="keeps changing"):
        edit(file, change)
    assert file.read_text().startswith("old\nx")
    assert not [name for name in names(file) if name.startswith(".")]


def test_a_kill_before_the_rename_leaves_the_old_file_and_the_next_edit_tidies_up(file: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from whisk.storage import settings_file\n"
        "os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)\n"
        "settings_file.edit(Path(sys.argv[1]), lambda text: 'new', backup=False)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], cwd=ROOT, check=False)
    assert done.returncode == -9
    assert file.read_text() == "old\n"
    assert len(names(file)) == 2
    edit(file, lambda text: "new", backup=False)
    assert (file.read_text(), names(file)) == ("new", ["settings.json"])


def test_many_writers_lose_nothing_and_no_reader_sees_half_a_file(file: Path) -> None:
    file.write_text("[]")
    stop, torn = threading.Event(), []

    def watch() -> None:
        while not stop.is_set():
            try:
                json.loads(file.read_text())
            except ValueError as error:
                torn.append(error)

    def add(name: str) -> None:
        for number in range(25):
            with hold(file.parent / "lock"):
                edit(file, with_entry(f"{name}{number}"), backup=False)

    def with_entry(entry: str) -> Callable[[str | None], str]:
        return lambda text: json.dumps([*json.loads(text or ""), entry])

    watcher = threading.Thread(target=watch)
    writers = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
    watcher.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    watcher.join()
    assert not torn
    assert sorted(json.loads(file.read_text())) == sorted(f"{name}{number}" for name in "abcd" for number in range(25))


def test_what_is_no_text_file_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidError, match=r"settings\.json is not UTF-8"):
        read_settings(path)
    os.truncate(path, settings_file.MAX_BYTES + 1)
    with pytest.raises(TooLargeError):
        read_settings(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RefusedError, match="no regular file"):
        read_settings(path)


def test_a_file_of_our_own_is_written_when_it_differs(tmp_path: Path) -> None:
    path = tmp_path / "bin/helper"
    assert write_own(path, "one", 0o755)
    assert not write_own(path, "one", 0o755)
    path.write_bytes(b"\xff")
    assert write_own(path, "two", 0o755)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("two", 0o755)
