"""The last bytes that a terminal printed, each known by its offset since the terminal was started."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import NamedTuple

# Small writes are collected into chunks of this size, so that a program that prints byte by byte costs no more.
_CHUNK = 4096


class Piece(NamedTuple):
    """Bytes from `offset` on; `skipped` bytes before it were asked for and are no longer kept."""

    offset: int
    data: bytes
    skipped: int


class Ring:
    """Keeps the last `capacity` bytes. Offsets are absolute and never go back; memory stays within a chunk of that."""

    def __init__(self, capacity: int, start: int = 0) -> None:
        if capacity < 1:
            raise ValueError("a ring needs room for at least one byte")
        self.capacity = capacity
        self._chunks: deque[bytes | bytearray] = deque()
        self._base = start  # the offset of the first byte of the first chunk
        self._floor = start  # nothing before it was ever put in
        self._end = start

    @property
    def start(self) -> int:
        """The offset of the oldest byte that can be read."""
        return max(self._floor, self._end - self.capacity)

    @property
    def end(self) -> int:
        """The offset that the next byte will get."""
        return self._end

    def append(self, data: bytes) -> None:
        if not data:
            return
        last = self._chunks[-1] if self._chunks else b""
        if isinstance(last, bytearray) and len(last) + len(data) <= _CHUNK:
            last += data
        else:
            self._chunks.append(bytearray(data) if len(data) < _CHUNK else data)
        self._end += len(data)
        while self._end - self._base - len(self._chunks[0]) >= self.capacity:
            self._base += len(self._chunks.popleft())

    def read(self, start: int, limit: int | None = None) -> Piece:
        """At most `limit` bytes from `start` on, which is clamped to what is kept."""
        offset = min(max(start, self.start), self._end)
        stop = self._end if limit is None else min(self._end, offset + max(limit, 0))
        parts: list[bytes | bytearray | memoryview] = []
        at = self._base
        first = 0
        # Most readers are at the tail; walking from there keeps their cost independent of the capacity.
        if offset - self._base > (self._end - self._base) // 2:
            at, first = self._end, len(self._chunks)
            for chunk in reversed(self._chunks):
                if at <= offset:
                    break
                at -= len(chunk)
                first -= 1
        for chunk in islice(self._chunks, first, None):
            if at >= stop:
                break
            if at + len(chunk) > offset:
                parts.append(memoryview(chunk)[max(offset - at, 0) : stop - at])
            at += len(chunk)
        return Piece(offset, b"".join(parts), max(0, offset - max(start, 0)))
