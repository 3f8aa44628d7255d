"""`whisk session pty attach`: this terminal becomes a window onto one of whisk's.

The child keeps running whatever happens here. A connection that breaks is made again from the offset that was reached,
so a restart of the daemon is hardly seen; output that was skipped because this end was too slow is redrawn from a
snapshot as soon as the child is quiet.
"""

from __future__ import annotations

import base64
import json
import select
import sys
import time
from collections.abc import Callable
from typing import Any

from whisk.cli.client import Client, path
from whisk.cli.detach import Detach
from whisk.cli.failure import RefusedError, UnreachableError, UsageError
from whisk.cli.terminal import Terminal
from whisk.cli.websocket import WebSocket

RECONNECT_SECONDS = 10.0
_RETRY = 0.2
# How quiet it must be before a screen with a gap in it is drawn anew.
_QUIET = 0.3
_HEAD = 9


class Attachment:
    """One `attach`, from connecting to the words that are said at its end."""

    def __init__(self, client: Client, pty_id: str, detach: Detach, *, read_only: bool) -> None:
        self._client = client
        self._pty_id = pty_id
        self._detach = detach
        self._read_only = read_only
        self._offset = 0
        self._has_gap = False
        self._drawn = False
        self._ended: str | None = None
        # What was typed while there was no connection, and since when there is none that works.
        self._unsent = b""
        self._lost_at: float | None = None
        self._connected_at = 0.0

    def run(self) -> str:
        """Attach until the child ends or the person detaches; returns the sentence to say then.

        Raises `UsageError` when this is no terminal, `RefusedError`, `UnreachableError` (the daemon was gone for ten
        seconds) or `Interrupted`; the terminal is restored before any of them is seen.
        """
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("attach needs a terminal; `session pty tail` and `session pty write` do without")
        socket = self._connect(snapshot=True)
        with Terminal() as terminal:
            try:
                while not self._converse(socket, terminal):
                    if self._ended is not None:
                        return self._ended
                    socket.close()
                    again = self._again(terminal)
                    if again is None:
                        break
                    socket = again
                return f"[detached from {self._pty_id}]"
            finally:
                socket.close()

    def _connect(self, *, snapshot: bool) -> WebSocket:
        query = {
            "binary": "1",
            "snapshot": "1" if snapshot else None,
            "from": None if snapshot else str(self._offset),
            "readOnly": "true" if self._read_only else None,
        }
        return WebSocket(self._client, path("ptys", self._pty_id, "attach"), query)

    def _converse(self, socket: WebSocket, terminal: Terminal) -> bool:
        """Until the connection ends (False) or the person detaches (True)."""
        self._connected_at = time.monotonic()
        self._send_size(socket, terminal)
        self._send_typed(socket)
        self._show(socket.early(), terminal)
        watched: list[Any] = [socket, terminal, terminal.wake]
        while not socket.closed and self._ended is None:
            ready, _, _ = select.select(watched, [], [], _QUIET if self._has_gap else None)
            if not ready:
                self._has_gap = False
                # The same as a broken connection, but with a whole screen at its beginning.
                self._offset = -1
                return False
            if terminal.wake in ready and terminal.signals():
                self._send_size(socket, terminal)
            if terminal in ready and self._type(socket, terminal):
                return True
            if socket in ready:
                self._show(socket.receive(), terminal)
        return False

    def _again(self, terminal: Terminal) -> WebSocket | None:
        """Connect again, at once for a fresh screen, else a little later each time; None when the person left."""
        resync, now = self._offset < 0, time.monotonic()
        if self._lost_at is None or now - self._connected_at > RECONNECT_SECONDS:
            self._lost_at = now
        why = "the connection broke off"
        while time.monotonic() - self._lost_at < RECONNECT_SECONDS:
            watched: list[Any] = [terminal, terminal.wake]
            ready, _, _ = select.select(watched, [], [], 0 if resync else _RETRY)
            if terminal.wake in ready:
                terminal.signals()
            if terminal in ready and self._type(None, terminal):
                return None
            try:
                return self._connect(snapshot=self._offset < 0)
            except UnreachableError as error:
                resync, why = False, str(error)
        raise UnreachableError(f"{why}; the terminal goes on without you, attach again later")

    def _type(self, socket: WebSocket | None, terminal: Terminal) -> bool:
        """Pass on what was typed, or keep it until there is a connection; True when the person is done here."""
        data = terminal.read()
        if not data:
            return True
        data, detached = self._detach.feed(data)
        if not self._read_only:
            self._unsent += data
        if socket is not None:
            self._send_typed(socket)
        return detached

    def _send_typed(self, socket: WebSocket) -> None:
        if self._unsent:
            socket.send(json.dumps({"type": "input", "dataBase64": base64.b64encode(self._unsent).decode()}))
            self._unsent = b""

    def _send_size(self, socket: WebSocket, terminal: Terminal) -> None:
        if not self._read_only and (size := terminal.size()) is not None:
            socket.send(json.dumps({"type": "resize", "cols": size[0], "rows": size[1]}))

    def _show(self, messages: list[str | bytes], terminal: Terminal) -> None:
        for message in messages:
            if isinstance(message, bytes):
                self._lost_at = None
                self._offset = int.from_bytes(message[1:_HEAD], "big") + len(message) - _HEAD
                terminal.write(message[_HEAD:])
            else:
                frame = json.loads(message)
                handle = _FRAMES.get(frame.get("type"))
                if handle is not None:
                    handle(self, frame, terminal)

    def _draw(self, frame: dict[str, Any], terminal: Terminal) -> None:
        snapshot = frame["terminalSnapshot"]
        before, scrollback, viewport, after = (
            snapshot.get(part) or ""
            for part in ("rehydrateBeforeViewport", "scrollbackAnsi", "viewportAnsi", "rehydrateSequences")
        )
        if self._drawn or before:
            scrollback = ""
        else:
            # What is on the screen now, the shell's and then the child's, goes up into this terminal's own history.
            _, rows = terminal.size() or (80, 24)
            scrollback += "\r\n" * rows
        terminal.write(f"\x1b[0m{before}{scrollback}{viewport}{after}".encode())
        self._drawn, self._lost_at = True, None
        self._offset = int(snapshot["offset"])

    def _skip(self, frame: dict[str, Any], _terminal: Terminal) -> None:
        self._has_gap = True
        self._offset = int(frame["offset"])

    def _end(self, frame: dict[str, Any], _terminal: Terminal) -> None:
        how = frame.get("message") or "exited"
        code = frame.get("code")
        self._ended = f"[{self._pty_id} {how}" + (f" with code {code}]" if code is not None else "]")

    def _complain(self, frame: dict[str, Any], terminal: Terminal) -> None:
        if frame.get("errorCode") in ("not_found", "gone"):
            raise RefusedError(str(frame.get("message")), code=str(frame["errorCode"]))
        # A refused keystroke or size is not worth more than a sign.
        terminal.write(b"\a")


_FRAMES: dict[str | None, Callable[[Attachment, dict[str, Any], Terminal], None]] = {
    "snapshot": Attachment._draw,
    "gap": Attachment._skip,
    "exit": Attachment._end,
    "error": Attachment._complain,
}
