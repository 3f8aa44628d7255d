"""What a terminal printed, on disk: written as it is read, so that a killed daemon loses nothing that was shown.

A transcript is a folder of segments, each named by the offset of its first byte. The oldest are deleted so that the
whole stays within its limit. There is no framing: a write that was cut short leaves a shorter segment, not a broken
one, and a hole (the disk was full for a while) is where a segment ends before the next begins.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from whisk.terminal.ring import Piece

LIMIT_BYTES = 16 * 1024 * 1024
_SEGMENTS = 16  # so that deleting the oldest takes away a sixteenth of what is kept
_SUFFIX = ".raw"
_PIECE = 1024 * 1024


class Contents(NamedTuple):
    """Bytes from `offset` on; reading goes on at `next`. `skipped` bytes before or among them are not kept."""

    offset: int
    data: bytes
    next: int
    skipped: int


class Transcript:
    """One terminal's. Methods block on the file system for as long as a copy to the page cache takes; nothing is
    synced, because a daemon that dies takes no page with it.
    """

    def __init__(self, folder: Path, limit: int = LIMIT_BYTES) -> None:
        self._folder = folder
        self._limit = limit
        self._segment_bytes = max(1, limit // _SEGMENTS)
        self._fd = -1
        self._base = 0  # offset of the open segment's first byte
        self._starts = _segments(folder)
        self._end = 0
        if self._starts:
            last = self._starts[-1]
            self._end = last + _size(self._path(last))

    @property
    def start(self) -> int:
        """Offset of the oldest byte that is kept."""
        return self._starts[0] if self._starts else self._end

    @property
    def end(self) -> int:
        return self._end

    def append(self, offset: int, data: bytes) -> None:
        """Write `data`, which begins at `offset`. Raises `OSError`; the next call then begins a new segment behind
        the hole.
        """
        view = memoryview(data)
        while view:
            if self._fd < 0 or offset != self._end or self._end - self._base >= self._segment_bytes:
                self._begin(offset)
            try:
                written = os.write(self._fd, view[: self._segment_bytes - (self._end - self._base)])
            except OSError:
                self.close()
                raise
            offset += written
            self._end = offset
            view = view[written:]

    def read(self, start: int, limit: int) -> Piece:
        """At most `limit` bytes from `start` on, clamped to what is kept; never across a hole. May run in a thread
        while the hub appends: what is deleted meanwhile is a hole.
        """
        starts, end = self._starts.copy(), self._end
        offset = min(max(start, starts[0] if starts else end), end)
        parts: list[bytes] = []
        at = offset
        for index, begin in enumerate(starts):
            following = starts[index + 1] if index + 1 < len(starts) else end
            if following <= at or limit <= 0:
                continue
            if at < begin:
                break
            data = _read_file(self._path(begin), at - begin, min(limit, following - at))
            if not data and not parts:
                at = offset = following  # the hole behind a segment that was cut short
                continue
            parts.append(data)
            limit -= len(data)
            at += len(data)
            if at < following:
                break
        return Piece(offset, b"".join(parts), max(0, offset - max(start, 0)))

    def tail(self, limit: int) -> Piece:
        """The last `limit` bytes, or fewer when a hole lies among them."""
        at = max(self.start, self._end - limit)
        while True:
            piece = self.read(at, self._end - at)
            at = piece.offset + len(piece.data)
            if at >= self._end or not piece.data:
                return piece

    def contents(self, start: int = 0, limit: int | None = None) -> Contents:
        """All that is kept from `start` on, at most `limit` bytes; both sides of a hole are joined."""
        parts: list[bytes] = []
        room = self._end if limit is None else limit
        piece = self.read(start, min(room, _PIECE))
        offset, at, skipped = piece.offset, piece.offset, piece.skipped
        while piece.data:
            parts.append(piece.data)
            room -= len(piece.data)
            at = piece.offset + len(piece.data)
            piece = self.read(at, min(room, _PIECE))
            skipped += piece.offset - at if piece.data else 0
        return Contents(offset, b"".join(parts), at, skipped)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def remove(self) -> None:
        """Delete it; a transcript that is not there is fine."""
        self.close()
        self._starts = []
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self, offset: int) -> None:
        """Open the segment that `offset` belongs to, and delete the oldest ones to make room for it."""
        self.close()
        resumed = bool(self._starts) and offset == self._end and offset - self._starts[-1] < self._segment_bytes
        self._base = self._starts[-1] if resumed else offset
        if not resumed:
            self._starts = [begin for begin in self._starts if begin < offset]
            while self._starts and self._kept() + self._segment_bytes > self._limit:
                self._path(self._starts.pop(0)).unlink(missing_ok=True)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = os.open(self._path(self._base), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if not resumed:
            self._starts.append(offset)
        self._end = offset

    def _kept(self) -> int:
        return sum(_size(self._path(begin)) for begin in self._starts)

    def _path(self, begin: int) -> Path:
        return self._folder / f"{begin:020}{_SUFFIX}"


def find_transcripts(root: Path) -> set[str]:
    """The names of the transcripts below `root`."""
    try:
        return {entry.name for entry in os.scandir(root) if entry.is_dir()}
    except FileNotFoundError:
        return set()


def measure(folder: Path) -> int:
    """The bytes that a transcript takes."""
    return sum(_size(folder / f"{begin:020}{_SUFFIX}") for begin in _segments(folder))


def _segments(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdigit())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read_file(path: Path, at: int, limit: int) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(at)
            return file.read(limit) or b""
    except FileNotFoundError:
        return b""
