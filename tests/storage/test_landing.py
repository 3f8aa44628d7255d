"""The landing in a real file, as a daemon that was killed would leave it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from whisk.storage.landing import Landing
from whisk.storage.transcript import Transcript


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    transcript = Transcript(tmp_path / "transcripts" / "pty_1")
    transcript.append(0, b"before ")
    transcript.close()
    return tmp_path / "transcripts"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    yield reader, writer
    os.close(reader)
    os.close(writer)


def land(
    path: Path, transcripts: Path, pipe: tuple[int, int], data: bytes, *, name: str = "pty_1", at: int = 7
) -> Landing:
    """Read `data` into a landing and leave it there."""
    landing = Landing.open(path, transcripts)
    landing.begin(name, at)
    os.write(pipe[1], data)
    assert landing.read(pipe[0], 4096) == len(data)
    return landing


def content(transcripts: Path) -> bytes:
    return Transcript(transcripts / "pty_1").read(0, 1 << 20).data


def test_what_a_killed_daemon_had_in_hand_goes_to_its_transcript_once(
    tmp_path: Path, transcripts: Path, pipe: tuple[int, int]
) -> None:
    land(tmp_path / "landing", transcripts, pipe, b"in \0 hand")
    for _ in range(2):
        Landing.open(tmp_path / "landing", transcripts).close()
        assert content(transcripts) == b"before in \0 hand"


def test_what_was_stored_already_is_not_stored_twice(tmp_path: Path, transcripts: Path, pipe: tuple[int, int]) -> None:
    landing = land(tmp_path / "landing", transcripts, pipe, b"in hand")
    transcript = Transcript(transcripts / "pty_1")
    transcript.append(7, landing.data()[:3])
    transcript.close()
    Landing.open(tmp_path / "landing", transcripts)
    assert content(transcripts) == b"before in hand"


def test_what_was_cleared_is_gone(tmp_path: Path, transcripts: Path, pipe: tuple[int, int]) -> None:
    landing = land(tmp_path / "landing", transcripts, pipe, b"in hand")
    assert landing.data() == b"in hand"
    landing.clear()
    assert landing.data() == b""
    Landing.open(tmp_path / "landing", transcripts)
    assert content(transcripts) == b"before "


def test_what_belongs_behind_a_hole_or_to_nobody_is_left_out(
    tmp_path: Path, transcripts: Path, pipe: tuple[int, int]
) -> None:
    for name, at in (("pty_1", 100), ("pty_2", 0), ("../pty_1", 7), ("", 7)):
        land(tmp_path / "landing", transcripts, pipe, b"stray", name=name, at=at)
        Landing.open(tmp_path / "landing", transcripts)
        assert content(transcripts) == b"before "


def test_a_file_that_is_no_landing_is_made_one(tmp_path: Path, transcripts: Path) -> None:
    (tmp_path / "landing").write_bytes(b"short")
    Landing.open(tmp_path / "landing", transcripts).close()
    (tmp_path / "landing").write_bytes(os.urandom(70_000))
    Landing.open(tmp_path / "landing", transcripts).close()
    assert content(transcripts) == b"before "


def test_without_a_place_on_the_disk_it_still_reads(transcripts: Path, pipe: tuple[int, int]) -> None:
    landing = land(Path("/no/such/folder/landing"), transcripts, pipe, b"x")
    assert landing.data() == b"x"
    with pytest.raises(BlockingIOError) as nothing:
        landing.read(pipe[0], 4096)
    assert nothing.value.errno == errno.EAGAIN
