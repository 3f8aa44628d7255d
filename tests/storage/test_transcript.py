"""Transcripts in real files."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whisk.storage.transcript import Transcript


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "transcripts" / "pty_1"


def write(folder: Path, *parts: bytes, limit: int = 1 << 20) -> Transcript:
    transcript = Transcript(folder, limit)
    for part in parts:
        transcript.append(transcript.end, part)
    return transcript


def test_offsets_go_on_where_they_were_after_the_files_are_opened_again(folder: Path) -> None:
    write(folder, b"hello ").close()
    again = write(folder, b"world")
    assert again.read(0, 100) == (0, b"hello world", 0)
    assert (again.start, again.end) == (0, 11)
    again.close()


def test_the_oldest_segments_go_so_that_the_limit_holds(folder: Path) -> None:
    transcript = Transcript(folder, 1600)
    data = bytes(range(256)) * 100
    for at in range(0, len(data), 70):
        transcript.append(at, data[at : at + 70])
        assert sum(file.stat().st_size for file in folder.iterdir()) <= 1600
    assert transcript.end == len(data)
    assert transcript.start > 0
    piece = transcript.read(0, 1 << 20)
    assert piece == (transcript.start, data[transcript.start :], transcript.start)
    assert transcript.end - transcript.start >= 1600 - 2 * 100
    transcript.close()


def test_one_write_larger_than_everything_keeps_its_end(folder: Path) -> None:
    transcript = write(folder, b"x" * 5000 + b"end", limit=160)
    assert transcript.tail(3).data == b"end"
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 160
    transcript.close()


def test_a_segment_that_was_cut_short_is_a_hole_that_readers_step_over(folder: Path) -> None:
    write(folder, b"a" * 100, b"b" * 100, b"c" * 50, limit=1600).close()
    os.truncate(folder / f"{100:020}.raw", 30)
    again = Transcript(folder, 1600)
    assert again.read(90, 1000) == (90, b"a" * 10 + b"b" * 30, 0)
    assert again.read(130, 1000) == (200, b"c" * 50, 70)
    assert again.tail(1000) == (200, b"c" * 50, 70)


def test_a_cut_off_tail_is_where_writing_goes_on(folder: Path) -> None:
    write(folder, b"0123456789").close()
    os.truncate(folder / f"{0:020}.raw", 4)
    again = write(folder, b"x")
    assert again.read(0, 100) == (0, b"0123x", 0)
    again.close()


def test_files_that_are_not_segments_are_left_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("notes.txt", "x.raw", "\u00b2.raw"):
        (folder / name).write_text("?")
    assert Transcript(folder).end == 0


def test_a_transcript_is_for_its_owner_only(folder: Path) -> None:
    transcript = write(folder, b"secret")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    transcript.close()


def test_removing_leaves_nothing_and_may_happen_twice(folder: Path) -> None:
    transcript = write(folder, b"x")
    transcript.remove()
    transcript.remove()
    assert not folder.exists()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may grow over `size` bytes: the nearest thing to a full disk that a test can have. Around nothing that
    prints: the test run's own output may be a file.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_write_that_fails_leaves_a_hole_and_the_rest_at_its_place(folder: Path) -> None:
    transcript = write(folder, b"a" * 60, limit=16_000)
    with file_size_limit(64), pytest.raises(OSError) as failure:
        transcript.append(60, b"b" * 60)
    assert failure.value.errno == errno.EFBIG
    transcript.append(120, b"c" * 10)
    assert transcript.read(0, 1000).data == b"a" * 60 + b"b" * 4
    assert transcript.read(64, 1000) == (120, b"c" * 10, 56)
    transcript.close()
    assert Transcript(folder, 16_000).end == 130


@given(
    parts=st.lists(st.binary(min_size=1, max_size=90), max_size=20),
    limit=st.integers(1, 2000),
    reopen=st.integers(0, 20),
    at=st.integers(-3, 2000),
    size=st.integers(0, 2000),
)
def test_a_transcript_reads_like_the_tail_of_all_that_was_written(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], limit: int, reopen: int, at: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("transcript") / "pty"
    transcript = Transcript(folder, limit)
    for index, part in enumerate(parts):
        if index == reopen:
            transcript.close()
            transcript = Transcript(folder, limit)
        transcript.append(transcript.end, part)
    whole = b"".join(parts)
    assert transcript.end == len(whole)
    offset, data, skipped = transcript.read(at, size)
    assert offset == min(max(at, transcript.start), len(whole))
    assert data == whole[offset : offset + size]
    assert skipped == max(0, offset - max(at, 0))
    transcript.remove()


def test_contents_join_what_lies_on_both_sides_of_a_hole_and_say_how_much_is_missing(folder: Path) -> None:
    transcript = write(folder, b"before", limit=1600)
    transcript.append(10, b"behind it")
    assert transcript.contents() == (0, b"beforebehind it", 19, 4)
    assert transcript.contents(3) == (3, b"orebehind it", 19, 4)
    assert transcript.contents(3, 5) == (3, b"orebe", 12, 4)
    assert transcript.contents(12) == (12, b"hind it", 19, 0)
    assert transcript.contents(99) == (19, b"", 19, 0)
    transcript.close()


def test_contents_of_nothing_are_nothing(folder: Path) -> None:
    assert Transcript(folder).contents() == (0, b"", 0, 0)
