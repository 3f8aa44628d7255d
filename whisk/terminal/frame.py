"""The frames of an attached terminal: text frames are JSON, output may be binary: 0x01, its offset, the bytes."""

from __future__ import annotations

import base64
import struct
from typing import Literal

from whisk.errors import InvalidError
from whisk.terminal.screen import TerminalSnapshot
from whisk.values import Record, decode, encode

OUTPUT = 0x01
_HEAD = struct.Struct(">BQ")


class ServerFrame(Record, frozen=True):
    """One text frame to a viewer: `output`, `exit` with `code`, `error` with `message`, `snapshot`, or `gap`: the
    viewer was too slow, `skipped` bytes are gone and the stream goes on at `offset`.
    """

    type: Literal["output", "exit", "error", "snapshot", "gap"]
    pty_id: str
    offset: int | None = None
    output_base64: str | None = None
    terminal_snapshot: TerminalSnapshot | None = None
    code: int | None = None
    message: str | None = None
    error_code: str | None = None
    skipped: int | None = None


class ClientFrame(Record, frozen=True):
    """One text frame from a viewer. Types other than `input` and `resize` are not for us and are ignored.

    `data` is text as a person types it; `data_base64` is the very bytes, for a viewer that is a terminal itself.
    """

    type: str
    pty_id: str | None = None
    data: str | None = None
    data_base64: str | None = None
    cols: int | None = None
    rows: int | None = None


def output_frame(pty_id: str, offset: int, data: bytes, *, binary: bool, skipped: int = 0) -> bytes | str:
    """Output from `offset` on. A binary frame cannot say `skipped`: its offset is ahead of what was expected."""
    if binary:
        return _HEAD.pack(OUTPUT, offset) + data
    return text_frame(
        ServerFrame(
            type="output",
            pty_id=pty_id,
            offset=offset,
            output_base64=base64.b64encode(data).decode(),
            skipped=skipped or None,
        )
    )


def text_frame(frame: ServerFrame) -> str:
    return encode(frame).decode()


def read_output_frame(frame: bytes) -> tuple[int, bytes]:
    """The offset and the bytes of a binary frame; raises `InvalidError`."""
    if len(frame) < _HEAD.size or frame[0] != OUTPUT:
        raise InvalidError("not a binary output frame", expected="0x01, an unsigned 64-bit offset, bytes")
    return _HEAD.unpack_from(frame)[1], frame[_HEAD.size :]


def read_client_frame(text: str | bytes) -> ClientFrame:
    """Raises `InvalidError`."""
    return decode(text, ClientFrame)
