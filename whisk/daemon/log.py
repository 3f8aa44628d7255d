"""The daemon's log: JSON lines in a file that rotates, and readable lines on stderr in the foreground."""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import gevent
import structlog

from whisk.errors import UnavailableError

# Raw JSON lines stay useful in any tool; four old files of this size are kept beside the current one.
FILE_BYTES = 1024 * 1024
OLD_FILES = 4


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """Log lines can hold text of agents, so the file is its owner's alone."""

    def _open(self) -> Any:
        def opener(name: str, flags: int) -> int:
            return os.open(name, flags | os.O_CLOEXEC, 0o600)

        return open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=opener)

    def reopen(self) -> None:
        """Go on in a new file of the same name, after somebody moved the old one away."""
        self.acquire()
        try:
            self.close()
            self.stream = self._open()
        finally:
            self.release()


class Log:
    """What `start` installed; `close` takes it away again."""

    def __init__(self, handlers: list[logging.Handler], unwatch: Callable[[], None]) -> None:
        self._handlers = handlers
        self._unwatch = unwatch

    def reopen(self) -> None:
        for handler in self._handlers:
            if isinstance(handler, _PrivateFile):
                handler.reopen()

    def close(self) -> None:
        root = logging.getLogger()
        for handler in self._handlers:
            root.removeHandler(handler)
            handler.close()
        self._unwatch()


def start(path: Path, *, level: str = "info", size: int = FILE_BYTES, stderr: TextIO | None = None) -> Log:
    """Send everything that is logged to `path`, and to `stderr` as well when it is given.

    Also takes over what gevent would print when a greenlet dies. Raises `UnavailableError` when the file cannot be
    opened.
    """
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.PositionalArgumentsFormatter(),
    ]
    try:
        file = _PrivateFile(path, maxBytes=size, backupCount=OLD_FILES, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UnavailableError(f"cannot write the log {path}: {error.strerror}", path=str(path)) from error
    file.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.dict_tracebacks,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=shared,
        )
    )
    handlers: list[logging.Handler] = [file]
    if stderr is not None:
        handlers.append(_console(stderr, shared))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.setLevel(level.upper())
    for handler in handlers:
        root.addHandler(handler)
    # A log line that cannot be written must not become a traceback on stderr for each line.
    logging.raiseExceptions = False
    return Log(handlers, _watch_greenlets())


def _console(stderr: TextIO, shared: list[Any]) -> logging.Handler:
    handler = logging.StreamHandler(stderr)
    renderer = structlog.dev.ConsoleRenderer(colors=stderr.isatty() and "NO_COLOR" not in os.environ)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=shared,
        )
    )
    return handler


def _watch_greenlets() -> Callable[[], None]:
    """Log the death of every greenlet and every error that Python cannot raise; returns the undo."""
    hub = gevent.get_hub()
    log = structlog.get_logger("whisk.daemon")

    def report(context: Any, kind: Any, value: Any, traceback: Any) -> None:
        name = getattr(context, "name", None) or repr(context)
        log.error("a greenlet died", greenlet=name, exc_info=(kind, value, traceback))

    def undo() -> None:
        del hub.print_exception
        sys.unraisablehook = sys.__unraisablehook__

    hub.print_exception = report
    sys.unraisablehook = lambda raised: report(raised.object, raised.exc_type, raised.exc_value, raised.exc_traceback)
    return undo
