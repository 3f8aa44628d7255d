"""One viewer of one terminal, over a WebSocket.

Output is pulled, never pushed: a viewer asks for what follows the offset it has reached, so one that does not read
holds up nobody, and what the ring has dropped meanwhile is skipped and said. Input goes the other way at any time.
"""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from typing import Any

import gevent
from gevent.event import Event
from structlog import get_logger

from whisk.actors.future import Future
from whisk.actors.pty import PtyHandle
from whisk.clock import Clock
from whisk.errors import InvalidError, RefusedError, WhiskError
from whisk.http.client_gone import Stopping
from whisk.http.floor import Floor
from whisk.http.websocket import GOING_AWAY, GOODBYE, NORMAL, NOT_THIS_TYPE, WebSocket
from whisk.ids import new_id
from whisk.terminal.frame import ServerFrame, output_frame, read_client_frame, text_frame
from whisk.terminal.keys import typed
from whisk.terminal.pty import Output

_log = get_logger("whisk.http")

BATCH_BYTES = 65_536
BATCH_SECONDS = 0.008
# While a person types, an echo goes out at once instead of waiting for a batch to fill.
ECHO_SECONDS = 0.1
ECHO_BYTES = 1024
# A quiet viewer is asked for a sign of life this often, and given up after the second.
HEARTBEAT = 20.0
SILENCE = 75.0
_REPLY = 10.0


class Viewer:
    """Serves one accepted WebSocket until the terminal ends, the viewer leaves, or the server stops."""

    def __init__(
        self,
        socket: WebSocket,
        pty_id: str,
        pty: PtyHandle,
        clock: Clock,
        floor: Floor,
        stopping: Stopping | None = None,
        *,
        binary: bool = False,
        read_only: bool = False,
    ) -> None:
        """`read_only`: whatever the viewer sends is refused, and it is not counted on for answers to the program."""
        self._socket = socket
        self._pty_id = pty_id
        self._pty = pty
        self._clock = clock
        self._floor = floor
        self._stopping = stopping
        self._binary = binary
        self._read_only = read_only
        self._name = new_id("viewer")
        self._size: tuple[int, int] | None = None
        self._typed_at = float("-inf")
        self._wake = Event()

    def serve(self, start: int, *, snapshot: bool) -> None:
        """Send output from `start` on, which may lie behind the end, or first the screen and then what follows it.

        Blocks this greenlet for as long as the viewer is there; never raises for what the viewer does.
        """
        listener = gevent.spawn(self._listen)
        listener.name = f"viewer of {self._pty_id}"
        listener.link_exception(self._log_death)
        if self._stopping is not None:
            self._stopping.add(self._wake.set)
        try:
            at = end = self._send_snapshot() if snapshot else self._pty.info.remote().get().output_offset
            if not snapshot:
                at = min(start, end)
            if not self._read_only:
                self._pty.join.remote(self._name, at).get()
            self._follow(at, end)
        except WhiskError as error:
            # The terminal's actor was stopped, restarted or is overwhelmed.
            self._send_error(error)
            self._socket.close(NORMAL, error.code)
        finally:
            self._leave()
            if self._stopping is not None:
                self._stopping.remove(self._wake.set)
            if self._socket.closing:
                # Closing with unread input would reset the connection, and the viewer would lose our last words.
                listener.join(timeout=GOODBYE)
            self._socket.hang_up()
            listener.kill()

    def _leave(self) -> None:
        with suppress(WhiskError):  # an actor that is gone counts nobody
            self._pty.leave.tell(self._name)

    def _send_snapshot(self) -> int:
        snapshot = self._pty.snapshot.options(timeout=_REPLY).remote().get()
        frame = ServerFrame(type="snapshot", pty_id=self._pty_id, offset=snapshot.offset, terminal_snapshot=snapshot)
        self._socket.send(text_frame(frame))
        return snapshot.offset

    def _follow(self, at: int, end: int) -> None:
        """Output from `at` on. What was printed before `end` comes from the disk where memory has it no more: a viewer
        that returns after long misses nothing that is kept. Later on it has to keep up.
        """
        while not self._done():
            if at < end:
                pending = self._pty.read.remote(at, BATCH_BYTES)
            else:
                pending = self._pty.follow.options(timeout=HEARTBEAT + _REPLY).remote(at, BATCH_BYTES, HEARTBEAT)
            if not self._wait(pending):
                return
            output = pending.get()
            if at < end and not output.data:
                # The disk has it neither; memory knows where it goes on.
                end = at
                continue
            output = self._batched(output)
            if output.skipped:
                frame = ServerFrame(type="gap", pty_id=self._pty_id, offset=output.offset, skipped=output.skipped)
                self._socket.send(text_frame(frame))
            if output.data:
                self._socket.send(output_frame(self._pty_id, output.offset, output.data, binary=self._binary))
            elif output.ended:
                self._send_exit()
                return
            elif not self._is_alive():
                return
            at = output.next

    def _batched(self, output: Output) -> Output:
        """`output` with what follows within a few milliseconds, so that a redraw is one frame and not twenty."""
        size = len(output.data)
        typing = self._clock.monotonic() - self._typed_at < ECHO_SECONDS
        if not size or size >= BATCH_BYTES or output.ended or (typing and size <= ECHO_BYTES):
            return output
        gevent.sleep(BATCH_SECONDS)
        more = self._pty.follow.remote(output.next, BATCH_BYTES - size, 0.0).get()
        if more.skipped:
            # Sent with the next turn, behind a frame that says so.
            return output
        return Output(
            offset=output.offset,
            data=output.data + more.data,
            end=more.end,
            skipped=output.skipped,
            ended=more.ended,
        )

    def _wait(self, pending: Future[Output]) -> bool:
        """Until there is output, or nobody to send it to."""
        pending.then(lambda _: self._wake.set())
        while not pending.done() and not self._done():
            self._wake.wait()
            self._wake.clear()
        if self._done():
            pending.cancel()
            return False
        return True

    def _done(self) -> bool:
        if self._stopping is not None and self._stopping.is_set:
            # The terminal lives on; a viewer that comes back goes on from its offset.
            self._socket.close(GOING_AWAY, "whiskd is stopping")
        return not self._socket.is_open

    def _is_alive(self) -> bool:
        if self._clock.monotonic() - self._socket.last_heard > SILENCE:
            self._socket.close(GOING_AWAY, "no sign of life")
            return False
        return self._socket.ping()

    def _send_exit(self) -> None:
        info = self._pty.info.remote().get()
        frame = ServerFrame(
            type="exit",
            pty_id=self._pty_id,
            offset=info.output_offset,
            code=-1 if info.exit_code is None else info.exit_code,
            message=info.status,
        )
        self._socket.send(text_frame(frame))
        self._socket.close(NORMAL, "the terminal has ended")

    def _send_error(self, error: WhiskError) -> None:
        frame = ServerFrame(type="error", pty_id=self._pty_id, message=error.message, error_code=error.code)
        self._socket.send(text_frame(frame))

    def _listen(self) -> None:
        try:
            while (message := self._socket.receive()) is not None:
                if isinstance(message, bytes):
                    self._socket.close(NOT_THIS_TYPE, "input is a text frame: {type, data}")
                    return
                try:
                    self._obey(message)
                except WhiskError as error:
                    self._send_error(error)
        finally:
            self._socket.hang_up()
            self._wake.set()

    def _obey(self, message: str) -> None:
        frame = read_client_frame(message)
        if self._read_only and frame.type in ("resize", "input"):
            raise RefusedError("this viewer only looks: it attached with readOnly", type=frame.type)
        if frame.type == "resize":
            if frame.cols is None or frame.rows is None:
                raise InvalidError("a resize needs cols and rows", field="cols")
            self._floor.holder = self
            self._pty.resize.remote(frame.cols, frame.rows).get()
            self._size = (frame.cols, frame.rows)
        elif frame.type == "input":
            self._type(_keys(frame.data, frame.data_base64))

    def _type(self, data: bytes) -> None:
        if not data:
            return
        if self._floor.holder is not self:
            self._floor.holder = self
            if self._size is not None:
                self._pty.resize.remote(*self._size).then(self._report)
        self._typed_at = self._clock.monotonic()
        # Not waited for: behind a child that reads nothing, an interrupt must still get through.
        self._pty.write.options(timeout=None).remote(data, whole_lines=False).then(self._report)

    def _report(self, future: Future[Any]) -> None:
        """Tell the viewer of a refusal; from a greenlet, since this may run in the hub."""
        error = future.error()
        if isinstance(error, WhiskError):
            gevent.spawn(self._send_error, error)

    def _log_death(self, dead: gevent.Greenlet) -> None:
        if not isinstance(dead.exception, gevent.GreenletExit):
            _log.error("a viewer's greenlet died", pty=self._pty_id, error=repr(dead.exception))


def _keys(data: str | None, data_base64: str | None) -> bytes:
    if data_base64 is None:
        return typed(data or "")
    try:
        return base64.b64decode(data_base64, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidError(f"dataBase64 is not Base64: {error}", field="dataBase64") from error


def refuse_viewer(socket: WebSocket, pty_id: str, error: WhiskError) -> None:
    """What a viewer of a terminal that is not there gets: one frame, then the end."""
    frame = ServerFrame(type="error", pty_id=pty_id, message=error.message, error_code=error.code)
    socket.send(text_frame(frame))
    socket.close(NORMAL, error.code)
