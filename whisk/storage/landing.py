"""Where output lands before it is in a transcript: a file in memory, so that a daemon that is killed loses none.

Between `read` and `write` the bytes of a terminal are nowhere but in the daemon, and a flood keeps it there much of
the time. So it reads into a page of a mapped file instead: what the kernel has handed over is in the file at once,
and the next daemon moves it to where it belongs. One landing serves all terminals, since a burst is read and written
without a pause.

The file: 8 bytes offset, 64 bytes name, then the bytes, with zeros behind them. How many there are is not written
down (that would be one step too late); they end at the last one that is not zero, so zeros that a program printed at
the very end of the very last burst are lost.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
from pathlib import Path

from whisk.storage.transcript import Transcript

ROOM = 64 * 1024
_HEAD = struct.Struct("<Q64s")
_SIZE = _HEAD.size + ROOM


class Landing:
    """Used by one burst at a time: `begin`, `read` until it says so, `data`, and, once that is stored, `clear`."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._view = memoryview(memory)[_HEAD.size :]
        self._used = 0

    @classmethod
    def open(cls, path: Path, transcripts: Path) -> Landing:
        """Open the one of this state folder, after moving what a killed daemon left in it to its transcript.

        Without room on the disk it is plain memory, and protects nothing. Blocks.
        """
        rescue(path, transcripts)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # Written, not only made longer: a page that finds no room later would end the process.
                if os.pwrite(fd, bytes(_SIZE), 0) != _SIZE:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return cls(mmap.mmap(fd, _SIZE))
            finally:
                os.close(fd)
        except OSError:
            return cls.unprotected()

    @classmethod
    def unprotected(cls) -> Landing:
        return cls(mmap.mmap(-1, _SIZE))

    def begin(self, name: str, offset: int) -> None:
        """The next bytes are those of terminal `name` from `offset` on."""
        if self._used:
            self.clear()
        _HEAD.pack_into(self._memory, 0, offset, name.encode())

    def read(self, fd: int, size: int) -> int:
        """Read at most `size` bytes; 0 at the end, or when the landing is full. Raises `OSError` as `os.read` does."""
        count = os.readv(fd, [self._view[self._used : self._used + size]]) if self._used < ROOM else 0
        self._used += count
        return count

    def data(self) -> bytes:
        return bytes(self._view[: self._used])

    def clear(self) -> None:
        """Its bytes are stored elsewhere."""
        self._view[: self._used] = bytes(self._used)
        self._used = 0

    def close(self) -> None:
        self._view.release()
        self._memory.close()


def rescue(path: Path, transcripts: Path) -> int:
    """Append what lies in the file at `path` to the transcript that it belongs to; returns how many bytes that was."""
    try:
        content = path.read_bytes()
    except OSError:
        return 0
    if len(content) < _HEAD.size:
        return 0
    offset, raw = _HEAD.unpack_from(content)
    data = content[_HEAD.size :].rstrip(b"\0")
    name = raw.rstrip(b"\0").decode("ascii", "replace")
    if not data or not (transcripts / name).is_dir() or not name.replace("_", "").isalnum():
        return 0
    transcript = Transcript(transcripts / name)
    # Killed between the write and the clearing, a part of it, or all, is there already.
    missing = data[max(0, transcript.end - offset) :] if transcript.end >= offset else b""
    try:
        if missing:
            transcript.append(transcript.end, missing)
    except OSError:
        return 0
    finally:
        transcript.close()
    return len(missing)
