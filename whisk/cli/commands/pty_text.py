"""`whisk session pty output|tail|write|expect`: a terminal's text, out and in."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Iterator
from typing import Any

from whisk.cli.argument import Arguments
from whisk.cli.client import path
from whisk.cli.command import Command
from whisk.cli.context import Context
from whisk.cli.failure import UsageError
from whisk.cli.plain import PlainStream

_WRITE_SECONDS = 60.0
_WRITE_PIECE = 65_536
# How long the daemon holds a request of `tail` open when there is nothing new.
_TAIL_WAIT = 20


def output(context: Context, args: Arguments) -> None:
    forms = [name for name in ("plain", "base64", "json") if args.flag(name)]
    if len(forms) > 1:
        raise UsageError(f"give -{forms[0]} or -{forms[1]}, not both")
    pty, at = args.need("pty"), _offset(args, "0")
    pieces = list(_pieces(context, pty, at))
    data = b"".join(base64.b64decode(piece["outputBase64"]) for piece in pieces)
    out = context.out
    if args.flag("json"):
        out.json({**pieces[-1], "output": data.decode("utf-8", "replace"), "outputBase64": _base64(data)})
    elif args.flag("base64"):
        out.line(_base64(data))
    elif args.flag("plain"):
        # Cleaned already, and without a line end of our own: what the terminal shows is what is printed.
        out.raw(PlainStream().feed(data, final=True).encode())
    else:
        out.raw(data)


def tail(context: Context, args: Arguments) -> None:
    pty, at = args.need("pty"), _offset(args, "end")
    stream = PlainStream() if args.flag("plain") else None
    poll = args.seconds("poll")
    if poll is not None and poll <= 0:
        raise UsageError("-poll must be more than nothing")
    while True:
        query = {"from": at, "wait": None if args.flag("once") or poll else _TAIL_WAIT}
        piece = context.client.get(path("ptys", pty, "output"), query, timeout=_TAIL_WAIT + 10.0)
        if skipped := piece.get("skipped"):
            context.out.note(f"whisk: {skipped} bytes were skipped; they are no longer kept")
        data = base64.b64decode(piece["outputBase64"])
        at = piece["offset"]
        done = bool(piece.get("ended")) and at >= piece.get("end", at)
        done = done or (args.flag("once") and at >= piece.get("end", at))
        context.out.raw(stream.feed(data, final=done).encode() if stream else data)
        if done:
            return
        if poll is not None and not data:
            time.sleep(poll)  # noqa: TID251 (a command has no hub)


def write(context: Context, args: Arguments) -> None:
    if args.given("data") == args.flag("stdin"):
        raise UsageError("give exactly one of -data and -stdin")
    at = path("ptys", args.need("pty"), "write")
    enter = "\r" if args.flag("enter") else ""
    if args.given("data"):
        context.client.post(at, {"data": f"{args.text('data')}{enter}"}, timeout=_WRITE_SECONDS)
        return
    for piece in _split(sys.stdin.buffer.read() + enter.encode()):
        try:
            body = {"data": piece.decode()}
        except UnicodeDecodeError:
            body = {"dataBase64": _base64(piece)}
        context.client.post(at, body, timeout=_WRITE_SECONDS)


def expect(context: Context, args: Arguments) -> None:
    seconds = args.seconds("timeout", 30.0) or 0.0
    start_at = _offset(args, "0")
    body: dict[str, Any] = {
        "patterns": args.many("pattern"),
        "timeoutMs": round(seconds * 1000),
        "exact": args.flag("exact"),
        "from": None if start_at == "end" else start_at,
    }
    found = context.client.post(path("ptys", args.need("pty"), "expect"), body, timeout=seconds + 10.0)
    context.out.json(found) if args.flag("json") else context.out.line(found["match"])


def _offset(args: Arguments, default: str) -> str:
    at = args.text("from") or default
    if at != "end" and not at.isdigit():
        raise UsageError(f"-from is an offset in bytes or 'end', not {at!r}")
    return at


def _pieces(context: Context, pty: str, at: str) -> Iterator[dict[str, Any]]:
    """What is kept from `at` to the end as it was when asked first, however many requests it takes."""
    end = None
    while True:
        piece = context.client.get(path("ptys", pty, "output"), {"from": at}, timeout=30.0)
        yield piece
        end = piece.get("end", piece["offset"]) if end is None else end
        at = str(piece["offset"])
        if piece["offset"] >= end or not piece["outputBase64"]:
            return


def _split(data: bytes) -> Iterator[bytes]:
    """Pieces that do not end in the middle of a character, or in a line end that is not the last: it would be Enter."""
    while data:
        size = min(len(data), _WRITE_PIECE)
        while size < len(data) and size > 1 and (data[size] & 0xC0 == 0x80 or data[size - 1] in b"\r\n"):
            size -= 1
        yield data[:size]
        data = data[size:]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


OUTPUT = Command(
    words="session pty output",
    usage="""
Usage:
  whisk session pty output [options] <pty>

Prints what the terminal has shown: the bytes as they are, unless -plain or -base64.

Options:
  --from=<offset>   Begin at this byte; `end` prints nothing but tells the offset with -json. [default: 0]
  --plain           Without escape sequences and control characters.
  --base64          As Base64, for programs.

Examples:
  whisk session pty output -plain pty_01
  whisk session pty output pty_01 -from end -json
""",
    run=output,
)

TAIL = Command(
    words="session pty tail",
    usage="""
Usage:
  whisk session pty tail [options] <pty>

Follows the output until the terminal ends or Ctrl-C.

Options:
  --from=<offset>   Begin at this byte, or at the `end`. [default: end]
  --plain           Without escape sequences and control characters.
  --once            Print what is there and end.
  --poll=<time>     Look this often, instead of being woken when there is something.

Examples:
  whisk session pty tail pty_01
  whisk session pty tail -plain -from 0 pty_01
""",
    run=tail,
    common=("url",),
)

WRITE = Command(
    words="session pty write",
    usage="""
Usage:
  whisk session pty write [options] <pty>

Types into the terminal. A line end at the very end is the Enter key.

Options:
  --data=<text>   What to type.
  --stdin         Type what is read from stdin.
  --enter         Press Enter afterwards.

Examples:
  whisk session pty write pty_01 -data "ls -l" -enter
  git diff | whisk session pty write pty_01 -stdin
""",
    run=write,
    common=("url",),
)

EXPECT = Command(
    words="session pty expect",
    usage="""
Usage:
  whisk session pty expect [options] <pty> <pattern>...

Waits until one of the patterns (regular expressions) shows in the terminal and prints what matched. Fails with the code
`deadline` when none did in time.

Options:
  --timeout=<time>   How long. [default: 30s]
  --from=<offset>    Look from this byte on, or only at what follows the `end`. [default: 0]
  --exact            The patterns are plain text.

Examples:
  whisk session pty expect pty_01 "tests? passed" -timeout 10s
  whisk session pty expect pty_01 -exact -from end "$ "
""",
    run=expect,
)
