"""One terminal: it reads the child's output, keeps it, writes to it, resizes it, ends it, and knows how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whisk.actors.actor import Actor
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.pty_host import PtyHostHandle
from whisk.terminal.pty import Expectation, KillReport, Output, PtyInfo, PtySpec
from whisk.terminal.screen import TerminalSnapshot


@dataclass(frozen=True)
class PtyServices:
    """What a terminal needs from the rest of the daemon. `journal`, `events` are handles; sizes are bytes."""

    transcripts: Path  # folder; one folder per pty inside
    ring_bytes: int = 256 * 1024
    transcript_bytes: int = 16 * 1024 * 1024
    # + store, journal handle, events handle, clock (names settle when those modules land)


class PtyActor(Actor):
    """system.spawn(PtyActor, pty_id, services, name=f"pty:{pty_id}", parent=..., handle=PtyHandle), then
    get(handle.start.remote(spec)). After a daemon restart spawn it again with the same id: it adopts by itself."""

    def __init__(self, pty_id: str, services: PtyServices) -> None: ...

    def start(self, spec: PtySpec) -> Future[PtyInfo]:
        """Store, spawn, store; once. Refusals: InvalidError, SpawnError (code spawn_failed; the record stays, `failed`), UnavailableError (no host), ConflictError (started before)."""

    def info(self) -> PtyInfo: ...

    def read(self, start: int, limit: int) -> Future[Output]:
        """At most `limit` bytes (<= 1 MiB) from `start`, clamped to what is kept (transcript on disk, then ring). Never waits for new output."""

    def follow(self, start: int, limit: int, wait: float) -> Future[Output]:
        """As read from the ring only, but waits up to `wait` s (<= 60) for output behind `start` or the end; empty data when none came.
        A slow caller is skipped forward: Output.skipped > 0. Loop: out = follow(at, 65536, 20.0); at = out.next; until out.ended and not out.data."""

    def write(self, data: bytes, *, whole_lines: bool = True) -> Future[int]:
        """Replies when the kernel took every byte. BusyError: over 1 MiB unread by the child. TooLargeError: line of more than 4,095 bytes to a terminal in line mode
        (the kernel would drop the rest); whole_lines=False skips that check (attach). RefusedError when ended.
        Use whisk.terminal.keys.typed(text) for the `data` of POST /write (trailing LF -> CR)."""

    def resize(self, cols: int, rows: int) -> PtyInfo:
        """1..1000 each, else InvalidError."""

    def kill(self, grace: float = 2.0) -> Future[KillReport]:
        """HUP, TERM, KILL (each `grace` s) to session + descendants + everything with WHISK_PTY_ID=<id>; replies when gone (or with report.left). Idempotent."""

    def expect(self, patterns: tuple[str, ...], timeout: float, start: int | None = None, *, exact: bool = False) -> Future[Expectation]:
        """DeadlineError(details seen, offset) / TerminalEndedError(details seen) / InvalidError (bad pattern). start None = from now."""

    def snapshot(self) -> Future[TerminalSnapshot]: ...

    def wait_exit(self) -> Future[PtyInfo]:
        """Done when the terminal has ended (at once if it has)."""

    def move(self, session_id: str, window_id: str, pane_id: str) -> PtyInfo:
        """Attach to / detach from ("" ids) a pane; the origin ids stay."""

    def remove(self) -> Future[None]:
        """Delete record and transcript; RefusedError while running. The caller then stops the actor."""


class PtyHandle(Handle):
    start: Method[[PtySpec], PtyInfo]
    info: Method[[], PtyInfo]
    read: Method[[int, int], Output]
    follow: Method[[int, int, float], Output]
    write: Method[..., int]
    resize: Method[[int, int], PtyInfo]
    kill: Method[..., KillReport]
    expect: Method[..., Expectation]
    snapshot: Method[[], TerminalSnapshot]
    wait_exit: Method[[], PtyInfo]
    move: Method[[str, str, str], PtyInfo]
    remove: Method[[], None]


class PtyOwnerHandle(Handle):
    """What the actor named by PtySpec.owner must offer."""

    pty_ended: Method[[PtyInfo], None]
