"""Following the daemon's event stream (SSE), over breaks of the connection and restarts of the daemon.

The id of the last message is the position. A new connection goes on behind it; what the daemon no longer has is told
as an event of type `missed`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from whisk.cli.client import Client, Reply, Waiting
from whisk.cli.context import Context
from whisk.cli.failure import RefusedError, UnreachableError

# The daemon says something every 15 s.
_SILENCE_SECONDS = 50.0
_CONNECT_SECONDS = 5.0
_RETRY_SECONDS = 0.5
# How often it is looked whether anybody still reads what is printed.
_LOOK_SECONDS = 2.0


class Message(NamedTuple):
    """One block of the stream. `data` is None for one that only says where the reader is."""

    id: str | None
    type: str
    data: dict[str, Any] | None


def read_messages(chunks: Iterator[bytes]) -> Iterator[Message]:
    """The messages of a stream that arrives in any pieces; comments are left out, an unfinished one is dropped."""
    rest = b""
    for chunk in chunks:
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            fields = dict(_fields(block))
            if "id" in fields or "data" in fields:
                data = json.loads(fields["data"]) if "data" in fields else None
                yield Message(fields.get("id"), fields.get("event", "message"), data)


def _fields(block: bytes) -> Iterator[tuple[str, str]]:
    for line in block.decode("utf-8", "replace").splitlines():
        name, colon, value = line.partition(":")
        if name and colon:
            yield name, value.removeprefix(" ")


class Feed:
    """Events from now on, or behind `after`. Iterating blocks until the next one, for ever."""

    def __init__(self, context: Context, types: Sequence[str] = (), after: str | None = None) -> None:
        self._context = context
        self._types = list(types)
        self.position = after

    def follow(self) -> Iterator[dict[str, Any]]:
        """Each event once. Raises what the first connection raises; later ones are tried until they succeed."""
        client, told = self._context.client, False
        while True:
            try:
                for message in self.connect(client):
                    told = False
                    if message.data is not None:
                        yield {"type": "missed"} if message.type == "missed" else message.data
            except (UnreachableError, RefusedError) as error:
                # One that stops says 503, one that is not up yet nothing at all.
                if self.position is None or not (isinstance(error, UnreachableError) or error.status == 503):
                    raise
            if not told:
                self._context.out.note("whiskd has gone; going on when it is back")
                told = True
            _pause()
            client = self._context.fresh().client

    def connect(self, client: Client) -> Iterator[Message]:
        """The messages of one connection; ends when the daemon ends it."""
        headers = {"Last-Event-ID": self.position} if self.position is not None else {}
        query = {"types": self._types}
        with client.open("GET", "/v1/events", query=query, timeout=_CONNECT_SECONDS, headers=headers) as stream:
            stream.deadline = time.monotonic() + _CONNECT_SECONDS
            status, fields = stream.head()
            if status != 200:
                raise client.refusal(Reply(status, fields, b"".join(stream.body(fields))))
            stream.waiting = Waiting(_LOOK_SECONDS, lambda: None)
            stream.deadline = time.monotonic() + _SILENCE_SECONDS

            def pieces() -> Iterator[bytes]:
                for piece in stream.body(fields):
                    yield piece
                    stream.deadline = time.monotonic() + _SILENCE_SECONDS

            for message in read_messages(pieces()):
                self.position = message.id or self.position
                yield message


def _pause() -> None:
    import select

    select.select([], [], [], _RETRY_SECONDS)
