"""The record of a terminal: what was asked for, what became of it, and the pure steps between its states.

`starting → running → exited | killed | lost`, or `starting → failed`. An ended terminal never changes again: an exit
that arrives after a kill leaves it `killed`. `lost` means that nobody can say how the child ended.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError
from whisk.terminal.agent import AgentStatus
from whisk.values import Record, check_text

PtyStatus = Literal["starting", "running", "exited", "killed", "failed", "lost"]

MAX_SIDE = 1000
UNKNOWN_EXIT = -1


class PtySpec(Record, frozen=True):
    """What to start, and for whom.

    `argv[0]` is looked up on the PATH of `env` unless it holds a slash; `env` is the child's whole environment.
    `owners` names the actors that are told `pty_ended(info)`; `typed` is typed into the terminal once the child runs.
    """

    argv: tuple[str, ...]
    working_dir: str
    env: dict[str, str]
    cols: int = 80
    rows: int = 24
    session_id: str = ""
    window_id: str = ""
    pane_id: str = ""
    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    owners: tuple[str, ...] = ()
    typed: str = ""


class PtyRecord(Record, frozen=True):
    """What is stored of a terminal. The environment is not: it holds the tokens of bridges."""

    id: str
    status: PtyStatus
    argv: tuple[str, ...]
    working_dir: str
    cols: int
    rows: int
    created_at: Instant
    session_id: str = ""
    window_id: str = ""
    pane_id: str = ""
    origin_window_id: str = ""
    origin_pane_id: str = ""
    project_id: str = ""
    work_item_id: str = ""
    run_id: str = ""
    owners: tuple[str, ...] = ()
    pid: int | None = None
    pid_started: float | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    exit_code: int | None = None
    signal: int | None = None
    title: str | None = None
    terminal_working_directory: str | None = None
    error: str | None = None
    # How much it printed; known once it has ended.
    output_offset: int = 0

    @property
    def ended(self) -> bool:
        return self.status not in ("starting", "running")


class PtyInfo(Record, frozen=True):
    """A terminal as clients see it. `exit_code` is -1 when it is not known, 128 + n after signal n.

    `agent_status` is what is known of an agent in a terminal that runs.
    """

    id: str
    working_dir: str
    cols: int
    rows: int
    running: bool
    status: PtyStatus
    session_id: str
    window_id: str
    pane_id: str
    origin_window_id: str
    origin_pane_id: str
    argv: tuple[str, ...]
    created_at: Instant
    output_offset: int
    exit_code: int | None = None
    signal: int | None = None
    ended_at: Instant | None = None
    pid: int | None = None
    project_id: str | None = None
    work_item_id: str | None = None
    run_id: str | None = None
    title: str | None = None
    terminal_working_directory: str | None = None
    error: str | None = None
    agent_status: AgentStatus | None = None


class Output(Record, frozen=True):
    """A piece of what a terminal printed: `data` covers the bytes `offset` to `offset + len(data)` since its start.

    `skipped` counts the bytes between the offset that was asked for and `offset` that are no longer kept. `end` is
    where the output ends for now; `ended` says that nothing will ever follow it.
    """

    offset: int
    data: bytes
    end: int
    skipped: int
    ended: bool

    @property
    def next(self) -> int:
        return self.offset + len(self.data)


class Expectation(Record, frozen=True):
    """What `expect` found: `index` says which pattern, `offset` is where the output goes on behind the match."""

    index: int
    match: str
    groups: tuple[str | None, ...]
    before: str
    offset: int


class Process(Record, frozen=True):
    """A process, identified across reuse of its number by the second it was started in (Unix time)."""

    pid: int
    started: float
    command: str


class KillReport(Record, frozen=True):
    """How a kill ended: the last signal that was needed, how many processes got one, and who is still there."""

    info: PtyInfo
    last_signal: Literal["", "HUP", "TERM", "KILL"]
    signalled: int
    left: tuple[Process, ...]


def check_size(cols: int, rows: int) -> None:
    """Refuse a size that no screen has; 0 and 65535 are what broken clients send. Raises `InvalidError`."""
    for field, value in (("cols", cols), ("rows", rows)):
        if not 1 <= value <= MAX_SIDE:
            raise InvalidError(f"{field} must be between 1 and {MAX_SIDE}, not {value}", field=field, value=value)


def check_spec(spec: PtySpec) -> None:
    """Refuse what `execve` or the terminal would choke on. Raises `InvalidError` naming the field."""
    check_size(spec.cols, spec.rows)
    if not spec.argv or not spec.argv[0]:
        raise InvalidError("a terminal needs a command", field="argv")
    for index, argument in enumerate(spec.argv):
        check_text(argument, f"argv[{index}]")
    if not check_text(spec.working_dir, "workingDir").startswith("/"):
        raise InvalidError(f"the working directory must be absolute: {spec.working_dir!r}", field="workingDir")
    for name, value in spec.env.items():
        if not name or "=" in name:
            raise InvalidError(f"not a name for an environment variable: {name!r}", field="env")
        check_text(name, "env")
        check_text(value, f"env.{name}")
    check_text(spec.typed, "typed")


def new_record(pty_id: str, spec: PtySpec, now: Instant) -> PtyRecord:
    return PtyRecord(
        id=pty_id,
        status="starting",
        argv=spec.argv,
        working_dir=spec.working_dir,
        cols=spec.cols,
        rows=spec.rows,
        created_at=now,
        session_id=spec.session_id,
        window_id=spec.window_id,
        pane_id=spec.pane_id,
        origin_window_id=spec.window_id,
        origin_pane_id=spec.pane_id,
        project_id=spec.project_id,
        work_item_id=spec.work_item_id,
        run_id=spec.run_id,
        owners=spec.owners,
    )


def run(record: PtyRecord, pid: int, pid_started: float | None, now: Instant) -> PtyRecord:
    """The child was started."""
    started_at = record.started_at or now
    return msgspec.structs.replace(record, status="running", pid=pid, pid_started=pid_started, started_at=started_at)


def end(record: PtyRecord, code: int | None, signal: int | None, killed: bool, now: Instant) -> PtyRecord:
    """The child has ended: with `code`, or by `signal`, or (both None) nobody knows how. `killed`: whisk ended it."""
    if record.ended:
        return record
    if signal is not None:
        code = 128 + signal
    status: PtyStatus = "killed" if killed else "lost" if code is None else "exited"
    exit_code = UNKNOWN_EXIT if code is None else code
    return msgspec.structs.replace(record, status=status, exit_code=exit_code, signal=signal, ended_at=now)


def fail(record: PtyRecord, why: str, now: Instant) -> PtyRecord:
    """The child could not be started."""
    if record.ended:
        return record
    return msgspec.structs.replace(record, status="failed", error=why, ended_at=now)


def info(record: PtyRecord, output_offset: int) -> PtyInfo:
    return PtyInfo(
        id=record.id,
        working_dir=record.working_dir,
        cols=record.cols,
        rows=record.rows,
        running=record.status == "running",
        status=record.status,
        session_id=record.session_id,
        window_id=record.window_id,
        pane_id=record.pane_id,
        origin_window_id=record.origin_window_id,
        origin_pane_id=record.origin_pane_id,
        argv=record.argv,
        created_at=record.created_at,
        output_offset=output_offset,
        exit_code=record.exit_code,
        signal=record.signal,
        ended_at=record.ended_at,
        pid=record.pid,
        project_id=record.project_id or None,
        work_item_id=record.work_item_id or None,
        run_id=record.run_id or None,
        title=record.title,
        terminal_working_directory=record.terminal_working_directory,
        error=record.error,
    )
