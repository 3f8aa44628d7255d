"""Terminals: what they show, what is typed into them, how they end, and the WebSocket of a viewer."""

from __future__ import annotations

import base64
import binascii
from typing import Any, ClassVar

import msgspec

from whisk.actors.pty import PtyHandle
from whisk.errors import InvalidError, WhiskError
from whisk.http import trail
from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.http.viewer import Viewer, refuse_viewer
from whisk.http.websocket import WebSocket
from whisk.terminal.frame import ClientFrame, ServerFrame
from whisk.terminal.keys import typed
from whisk.terminal.pty import Expectation, Output, Process, PtyInfo
from whisk.terminal.screen import TerminalSnapshot
from whisk.terminal.text import LOOK_BACK, begins_inside, text_of
from whisk.values import Record, check_text

OUTPUT_LIMIT = 1024 * 1024
WAIT_LIMIT = 60.0
EXPECT_LIMIT = 3600.0
_WRITE_SECONDS = 30.0
_KILL_SECONDS = 30.0
_SNAPSHOT_SECONDS = 15.0
_SLACK = 5.0
# Behind any output there will ever be; an offset past the end means the end.
_END = 2**62


class WritePty(Record, frozen=True):
    """`data` is text as a person types it: one line end at its very end is the Enter key. `data_base64` is bytes.

    `pty_id` here and below is for clients that say it twice; the path's is meant.
    """

    wire_name: ClassVar[str] = "WritePTYRequest"

    data: str | None = None
    data_base64: str | None = None
    pty_id: str = ""


class ResizePty(Record, frozen=True):
    wire_name: ClassVar[str] = "ResizePTYRequest"

    cols: int
    rows: int
    pty_id: str = ""


class KillPty(Record, frozen=True):
    wire_name: ClassVar[str] = "KillPTYRequest"

    pty_id: str = ""


class KilledPty(PtyInfo, frozen=True):
    """The terminal, and the processes of it that could not be ended."""

    left: tuple[Process, ...] = ()


class OutputQuery(Record, frozen=True):
    """`from` is an offset in bytes or `end`; `wait` (seconds) holds an answer that would be empty."""

    start: str = msgspec.field(default="0", name="from")
    snapshot: bool = False
    limit: int = OUTPUT_LIMIT
    wait: float = 0.0


class OutputSnapshot(Record, frozen=True):
    """`output` is text, to which a character belongs that ends in this piece; `output_base64` are the bytes.

    `offset` is where to go on reading, `start` where this piece begins, `end` where the output ends for now.
    `skipped` bytes before `start` were asked for and are no longer kept; `ended` says that nothing follows `end`.
    """

    pty_id: str
    offset: int
    output: str
    output_base64: str
    start: int
    end: int
    ended: bool
    skipped: int = 0
    terminal_snapshot: TerminalSnapshot | None = None


class ExpectPty(Record, frozen=True):
    """Wait for the first of `patterns` (regular expressions, or plain text with `exact`) behind `from`, or behind the
    end when `from` is not given.
    """

    wire_name: ClassVar[str] = "ExpectPTYRequest"

    patterns: tuple[str, ...]
    timeout_ms: int = 30_000
    start: int | str | None = msgspec.field(default=None, name="from")
    exact: bool = False


class AttachQuery(Record, frozen=True):
    """`binary=1` sends output as binary frames. A `readOnly` viewer can neither type nor resize."""

    start: str = msgspec.field(default="0", name="from")
    snapshot: bool = False
    binary: str = ""
    read_only: bool = False


def list_ptys(api: Api, request: Request[None, Paged]) -> list[PtyInfo]:
    return api.sessions.ptys(request.query.page)


def show_pty(api: Api, request: Request[None, None]) -> PtyInfo:
    return request.wait(_pty(api, request).info.remote(), None)


def write_pty(api: Api, request: Request[WritePty, None]) -> None:
    body = request.body
    if (body.data is None) == (body.data_base64 is None):
        raise InvalidError("give exactly one of data and dataBase64", field="data")
    if body.data is not None:
        # NUL is Ctrl-@ here, so only what is not text at all is refused.
        check_text(body.data.replace("\0", ""), "data")
    data = typed(body.data) if body.data is not None else _bytes(body.data_base64 or "")
    request.wait(_pty(api, request).write.options(timeout=_WRITE_SECONDS).remote(data), _WRITE_SECONDS)


def resize_pty(api: Api, request: Request[ResizePty, None]) -> None:
    request.wait(_pty(api, request).resize.remote(request.body.cols, request.body.rows), None)


def kill_pty(api: Api, request: Request[KillPty, None]) -> KilledPty:
    report = request.wait(_pty(api, request).kill.options(timeout=_KILL_SECONDS).remote(), _KILL_SECONDS)
    _note(api, request, "kill", report.info.status)
    return KilledPty(**msgspec.structs.asdict(report.info), left=report.left)


def delete_pty(api: Api, request: Request[None, None]) -> None:
    api.sessions.remove_pty(request.path["pty_id"])
    _note(api, request, "delete", "deleted")


def _note(api: Api, request: Request[Any, None], action: str, outcome: str) -> None:
    pty_id = request.path["pty_id"]
    trail.note(api, request, action, "pty", pty_id, outcome, pty_id=pty_id)


def read_output(api: Api, request: Request[None, OutputQuery]) -> OutputSnapshot:
    query = request.query
    start = _offset(query.start)
    if not 1 <= query.limit <= OUTPUT_LIMIT:
        raise InvalidError(f"limit must be between 1 and {OUTPUT_LIMIT}", field="limit")
    if not 0 <= query.wait <= WAIT_LIMIT:
        raise InvalidError(f"wait must be between 0 and {WAIT_LIMIT:g} seconds", field="wait")
    pty = _pty(api, request)
    output: Output = request.wait(pty.read.remote(start, query.limit), None)
    if not output.data and query.wait and not output.ended:
        follow = pty.follow.options(timeout=query.wait + _SLACK).remote(output.next, query.limit, query.wait)
        output = request.wait(follow, None)
    before = b""
    if begins_inside(output.data):
        before = request.wait(
            pty.read.remote(max(output.offset - LOOK_BACK, 0), min(LOOK_BACK, output.offset)), None
        ).data
    shown = None
    if query.snapshot:
        shown = request.wait(pty.snapshot.options(timeout=_SNAPSHOT_SECONDS).remote(), None)
    return OutputSnapshot(
        pty_id=request.path["pty_id"],
        offset=output.next,
        output=text_of(output.data, before=before, final=output.ended and output.next >= output.end),
        output_base64=base64.b64encode(output.data).decode(),
        start=output.offset,
        end=output.end,
        ended=output.ended,
        skipped=output.skipped,
        terminal_snapshot=shown,
    )


def expect(api: Api, request: Request[ExpectPty, None]) -> Expectation:
    body = request.body
    seconds = body.timeout_ms / 1000
    if not 0 <= seconds <= EXPECT_LIMIT:
        raise InvalidError(f"timeoutMs must be between 0 and {EXPECT_LIMIT * 1000:g}", field="timeoutMs")
    if not body.patterns:
        raise InvalidError("patterns required", field="patterns")
    start = None if body.start in (None, "end") else _offset(str(body.start))
    call = _pty(api, request).expect.options(timeout=seconds + _SLACK)
    pending = call.remote(body.patterns, seconds, start, exact=body.exact)
    try:
        found: Expectation = request.wait(pending, None)
    finally:
        # Nobody is left to tell when the client has hung up.
        pending.cancel()
    return found


def attach(api: Api, request: Request[None, AttachQuery]) -> None:
    """Needs the headers of an upgrade. Text frames are JSON: `ServerFrame` to the viewer, `ClientFrame` from it. With
    `binary=1` output comes in binary frames: the byte 1, its offset in 8 bytes (big endian), the output.
    """
    query, pty_id = request.query, request.path["pty_id"]
    start = _offset(query.start)
    with WebSocket(request) as socket:
        try:
            pty = api.sessions.pty(pty_id)
        except WhiskError as error:
            refuse_viewer(socket, pty_id, error)
            return
        viewer = Viewer(
            socket,
            pty_id,
            pty,
            api.clock,
            api.floors.of(pty_id),
            request.environ.get("whisk.stopping"),
            binary=query.binary == "1",
            read_only=query.read_only,
        )
        viewer.serve(start, snapshot=query.snapshot)


def _pty(api: Api, request: Request[Any, Any]) -> PtyHandle:
    return api.sessions.pty(request.path["pty_id"])


def _offset(text: str) -> int:
    if text == "end":
        return _END
    # isdigit alone would take digits of every script, and what int() refuses.
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(_END)):
        raise InvalidError(f"from is an offset in bytes or 'end', not {text!r}", field="from")
    return min(int(text), _END)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidError(f"dataBase64 is not Base64: {error}", field="dataBase64") from error


_ONE = "/v1/ptys/{pty_id}"

ROUTES = (
    Route(
        "GET",
        "/v1/ptys",
        list_ptys,
        "List terminals, oldest first",
        query=Paged,
        reply=list[PtyInfo],
        operation="listPTYs",
    ),
    Route("GET", _ONE, show_pty, "Show one terminal", reply=PtyInfo, operation="getPTY"),
    Route(
        "DELETE",
        _ONE,
        delete_pty,
        "Delete a terminal that has ended, and its output",
        status=204,
        operation="deletePTY",
    ),
    Route("POST", f"{_ONE}/write", write_pty, "Type into a terminal", body=WritePty, status=204, operation="writePTY"),
    Route(
        "POST",
        f"{_ONE}/resize",
        resize_pty,
        "Change the size of a terminal",
        body=ResizePty,
        status=204,
        operation="resizePTY",
    ),
    Route(
        "POST",
        f"{_ONE}/kill",
        kill_pty,
        "End everything that runs in a terminal",
        body=KillPty,
        reply=KilledPty,
        operation="killPTY",
    ),
    Route(
        "GET",
        f"{_ONE}/output",
        read_output,
        "Read what a terminal has shown, from any byte",
        query=OutputQuery,
        reply=OutputSnapshot,
        operation="getPTYOutput",
    ),
    Route(
        "POST",
        f"{_ONE}/expect",
        expect,
        "Wait until a pattern shows in a terminal",
        body=ExpectPty,
        reply=Expectation,
        operation="expectPTY",
    ),
    Route(
        "GET",
        f"{_ONE}/attach",
        attach,
        "View a terminal and type into it, over a WebSocket",
        query=AttachQuery,
        token_in_query=True,
        stream=True,
        operation="attachPTY",
        frames=(ServerFrame, ClientFrame),
    ),
)
