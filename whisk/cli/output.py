"""What a command prints. Text that agents wrote is data: control characters never reach the person's terminal."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from whisk.cli.failure import OutputError

# Whole escape sequences first, so that their visible rest ("[31m") goes too; then single controls and the
# characters that reorder text (a file name shown backwards is a lie as well).
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|$)|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]", re.DOTALL
)
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_UNSHOWN = re.compile(f"[\x7f-\x9f{_BIDI}]")


def plain(text: str) -> str:
    """`text` without escape sequences and control characters; newlines and tabs stay."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """`plain`, with every run of white space made one space."""
    return " ".join(plain(text).split())


class Output:
    """Stdout for results, stderr for everything said beside them."""

    def __init__(self, env: Mapping[str, str], stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.stdout = stdout or _buffered(sys.stdout)
        self.stderr = stderr or sys.stderr
        self.is_tty = self.stdout.isatty()
        self.colours = self.is_tty and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        self._env = env

    @property
    def columns(self) -> int | None:
        """Cells a line may take, or None when stdout is no terminal."""
        if not self.is_tty:
            return None
        try:
            return os.get_terminal_size(self.stdout.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    @property
    def rows(self) -> int:
        """Lines of the window."""
        try:
            return os.get_terminal_size(self.stdout.fileno()).lines or 24
        except (OSError, ValueError):
            return 24

    def line(self, text: str = "") -> None:
        """One line (or several) of text, cleaned."""
        self._write(plain(text) + "\n")

    def fields(self, *values: object) -> None:
        """One tab-separated line, as scripts read it."""
        self._write("\t".join(one_line(_shown(value)) for value in values) + "\n")

    def raw(self, data: bytes) -> None:
        """Bytes as they are; only for output that the person asked for raw."""
        with _told():
            self.stdout.flush()
            self.stdout.buffer.write(data)
            self.stdout.buffer.flush()

    def json(self, value: Any) -> None:
        """Two-space indented JSON. Controls are escaped by JSON itself, so nothing is lost."""
        import json

        text = json.dumps(value, indent=2, ensure_ascii=False)
        # These are legal in JSON, but terminals obey the first (C1) and show the others' text in another order.
        self._write(_UNSHOWN.sub(lambda m: f"\\u{ord(m[0]):04x}", text) + "\n")

    def json_lines(self, values: Iterable[Any]) -> None:
        """One compact JSON document in each line, as programs read it."""
        import json

        for value in values:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            self._write(_UNSHOWN.sub(lambda m: f"\\u{ord(m[0]):04x}", text) + "\n")

    def table(
        self,
        header: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        flexible: Sequence[str] | None = None,
        optional: Sequence[str] = (),
    ) -> None:
        """Aligned columns under a header row; on a terminal they fit the window, and ids are never cut.

        `flexible` are the columns that are cut first (the last one unless said otherwise), `optional` those that a
        narrow window goes without; see `whisk.cli.table.lay_out`.
        """
        from whisk.cli.table import lay_out

        lines = [[one_line(_shown(cell)) for cell in row] for row in rows]
        for line in lay_out(header, lines, self.columns, flexible=flexible or header[-1:], optional=optional):
            self._write(line + "\n")

    def style(self, text: str, code: str) -> str:
        """`text` in an SGR style such as "1" or "31" when colours are wanted; write the result with `styled`."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text

    def styled(self, text: str) -> None:
        """A line made with `style` from cleaned parts; it is written as it is."""
        self._write(text + "\n")

    def note(self, text: str) -> None:
        """Something beside the result, on stderr."""
        self.flush()
        self.stderr.write(plain(text) + "\n")
        self.stderr.flush()

    def flush(self) -> None:
        """Everything written so far has been taken when this returns; raises `OutputError` or `BrokenPipeError`."""
        with _told():
            self.stdout.flush()

    def _write(self, text: str) -> None:
        with _told():
            self.stdout.write(text)


@contextmanager
def _told() -> Iterator[None]:
    """A full disk behind stdout is a sentence, not a traceback. A closed pipe is another matter, see dispatch."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to stdout: {error.strerror or error}") from None


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _buffered(stream: TextIO) -> TextIO:
    """Under PYTHONUNBUFFERED, Python hands a write to the kernel once and forgets what a closing pipe left of it.

    A buffer in between writes all of it or raises, and what is acknowledged after a flush has really been said.
    """
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    # Not around `raw` itself: that would be closed together with the wrapper, while others may go on printing.
    own = io.BufferedWriter(io.FileIO(raw.fileno(), "w", closefd=False))
    return io.TextIOWrapper(own, stream.encoding, stream.errors, newline="", line_buffering=stream.isatty())


def prepare(stream: TextIO) -> None:
    """Let a stream print anything: a character that its encoding lacks becomes `?` instead of a traceback."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
