"""One terminal, as others speak to it: read, follow, type, resize, end, expect, look at the screen."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from typing import Any

import msgspec

from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.offload import offload
from whisk.actors.pty_agent import PtyAgent
from whisk.actors.pty_expect import MAX_SECONDS, RingSpawn, compile_patterns, expect
from whisk.actors.pty_input import PtyInput
from whisk.actors.pty_kill import Quarry, end_all
from whisk.actors.pty_life import PtyServices
from whisk.errors import (
    BusyError,
    InvalidError,
    RefusedError,
    TerminalEndedError,
    UnavailableError,
    WhiskError,
)
from whisk.storage import terminal as storage
from whisk.terminal import pty as domain
from whisk.terminal.pty import Expectation, KillReport, Output, PtyInfo, PtySpec
from whisk.terminal.screen import TerminalSnapshot

READ_LIMIT = 1024 * 1024
FOLLOW_SECONDS = 60.0
MAX_EXPECTS = 64

_SAVE_SECONDS = 1.0
_KILL_GRACE = 2.0
_MAX_GRACE = 30.0

__all__ = ["PtyActor", "PtyHandle", "PtyServices"]


class PtyActor(PtyAgent):
    """Named `pty:<id>`. Spawn it and ask `launch`; after a restart of the daemon spawn it again, and it adopts."""

    def read(self, start: int, limit: int) -> Future[Output]:
        """At most `limit` bytes (1 MiB) from `start` on, from the transcript or the ring; never waits for output.

        The offset is clamped to what is kept, and `Output.skipped` says by how much. A negative one counts from the
        end.
        """
        limit = _check_limit(limit)
        future: Future[Output] = Future()
        ring = self._output.ring
        if start < 0:
            start = max(0, ring.end + start)
        if start >= ring.start or self._transcript.start >= ring.start:
            future.set(self._output.piece(start, limit))
        else:
            self.spawn_greenlet(self._read_transcript, start, limit, future)
        return future

    def _read_transcript(self, start: int, limit: int, future: Future[Output]) -> None:
        try:
            offset, data, skipped = offload(self._transcript.read, start, limit)
        except OSError as error:
            future.set_error(UnavailableError(f"the transcript cannot be read: {error.strerror}"))
            return
        end, ended = self._output.ring.end, self._output.ended
        future.set(Output(offset=offset, data=data, end=end, skipped=skipped, ended=ended))

    def follow(self, start: int, limit: int, wait: float) -> Future[Output]:
        """As `read`, but from the ring only, and waits up to `wait` seconds (60) for output behind `start` or for the
        end; empty data when neither came. A reader that is too slow is moved forward: `Output.skipped` > 0.

        Go on at `output.next` until `output.ended` and no data. Cancel the future to stop waiting.
        """
        return self._output.follow(max(start, 0), _check_limit(limit), min(wait, FOLLOW_SECONDS))

    def write(self, data: bytes, *, whole_lines: bool = True) -> Future[int]:
        """Type `data`; replies with its length once the kernel has taken every byte of it.

        Refusals: `TerminalEndedError`, `BusyError` (1 MiB is waiting), and with `whole_lines` `TooLargeError` for a
        line that a terminal in line mode would cut. Give a long time-out, or none: a child may not read for long.
        """
        return self._running_input().write(data, whole_lines=whole_lines)

    def resize(self, cols: int, rows: int) -> PtyInfo:
        """The child's foreground processes get SIGWINCH. Refusals: `InvalidError` (1 to 1000), `TerminalEndedError`."""
        domain.check_size(cols, rows)
        self._running_input()
        record = self._current()
        if (record.cols, record.rows) != (cols, rows):
            fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            self._view.resize(cols, rows)
            self._record = msgspec.structs.replace(record, cols=cols, rows=rows)
            # A window that is dragged changes its size many times a second.
            if "save" not in self.timers:
                self.timers.start("save", _SAVE_SECONDS, self._save)
            self._announce("pty.changed")
        return self.info()

    def kill(self, grace: float = _KILL_GRACE) -> Future[KillReport]:
        """End everything that runs in the terminal: HUP, TERM, KILL, each given `grace` seconds (0 to 30).

        Replies when all are gone, or with those who are left, after 3 * `grace` seconds or little more: give that
        time-out. Killing an ended terminal ends what it left behind in the background.
        """
        if not 0 <= grace <= _MAX_GRACE:
            raise InvalidError(f"grace must be 0 to {_MAX_GRACE:g} seconds, not {grace:g}", field="grace")
        record = self._current()
        if record.status == "starting":
            raise RefusedError(f"terminal {self._id} is still starting", pty=self._id)
        future: Future[KillReport] = Future()
        self._kills.append(future)
        if len(self._kills) == 1:
            self._killing = not record.ended
            self.spawn_greenlet(self._kill, grace)
        return future

    def _kill(self, grace: float) -> None:
        record = self._current()
        before = None if record.ended_at is None else int(record.ended_at) / 1e9
        link = self.system.find(self._services.host.name)
        host = self.system.describe(link.name).facts.get("host") if link else None
        # Either may carry our mark: a daemon that was started from inside one of its own terminals.
        spared = frozenset({os.getpid(), *([host] if isinstance(host, int) else [])})
        outcome = end_all(Quarry(self._id, record.pid, before, spared), grace, self._services.census)
        leader_left = any(process.pid == record.pid for process in outcome.left)
        if not leader_left and not self._current().ended:
            if self._host_lost:
                self.post(self._look)
            # Our own future, for a moment: the host tells of the exit as soon as it has reaped it.
            try:
                self.wait_exit().get(timeout=_KILL_GRACE)
            except WhiskError as error:
                self.log.warning("the end of a killed child is not known yet", error=error.message)
        report = KillReport(
            info=self.info(), last_signal=outcome.last_signal, signalled=outcome.signalled, left=outcome.left
        )
        if outcome.left:
            self.log.warning("processes were left after a kill", left=[process.pid for process in outcome.left])
        asked, self._kills = self._kills, []
        for future in asked:
            future.set(report)

    def expect(
        self, patterns: tuple[str, ...], timeout: float, start: int | None = None, *, exact: bool = False
    ) -> Future[Expectation]:
        """Wait for the first of `patterns` (regular expressions; `exact`: plain text) in the output from `start` on,
        from now on when that is None.

        Refusals: `InvalidError`, `BusyError`, `DeadlineError` and `TerminalEndedError`, the last two with `seen`.
        """
        compiled = compile_patterns(patterns, exact)
        if not 0 <= timeout <= MAX_SECONDS:
            raise InvalidError(f"timeout must be 0 to {MAX_SECONDS:g} seconds, not {timeout:g}", field="timeout")
        if self._expects >= MAX_EXPECTS:
            raise BusyError(f"{MAX_EXPECTS} are waiting for a pattern in this terminal", limit=MAX_EXPECTS)
        self._current()
        reply: Future[Expectation] = Future()
        spawn = RingSpawn(self._output, self._fd, self._output.ring.end if start is None else max(start, 0))
        greenlet = self.spawn_greenlet(self._expect, spawn, compiled, timeout, reply)
        reply.on_cancel(lambda: greenlet.kill(block=False))
        return reply

    def _expect(self, spawn: RingSpawn, patterns: list[Any], timeout: float, reply: Future[Expectation]) -> None:
        self._expects += 1
        try:
            reply.set(expect(spawn, patterns, timeout))
        except WhiskError as refusal:
            reply.set_error(refusal)
        finally:
            self._expects -= 1

    def snapshot(self) -> Future[TerminalSnapshot]:
        """The screen as it is now; takes up to half a second of a thread's time."""
        self._current()
        return self._draw()

    def join(self, viewer: str, at: int) -> None:
        """Somebody's terminal shows the output from `at` on. Until it has left, what a program asks its terminal is
        for that one to answer, and whisk keeps silent.
        """
        self._answers.join(viewer, at)

    def leave(self, viewer: str) -> None:
        self._answers.leave(viewer)

    def move(self, session_id: str, window_id: str, pane_id: str) -> Future[PtyInfo]:
        """Put it in another pane, or in none (""); where it came from stays known."""
        record = self._with_titles()
        changed = msgspec.structs.replace(record, session_id=session_id, window_id=window_id, pane_id=pane_id)
        reply: Future[PtyInfo] = Future()
        self.spawn_greenlet(self._answer, self._change(changed), reply)
        return reply

    def _answer(self, stored: Future[None], reply: Future[PtyInfo]) -> None:
        try:
            stored.get()
            reply.set(self.info())
        except WhiskError as refusal:
            reply.set_error(refusal)

    def remove(self) -> Future[None]:
        """Delete the record and the transcript; stop the actor afterwards. Refusal `RefusedError`: it still runs."""
        if not self._current().ended or self._ending:
            raise RefusedError(f"terminal {self._id} is still running", pty=self._id)
        reply: Future[None] = Future()
        self.spawn_greenlet(self._remove, reply)
        return reply

    def _remove(self, reply: Future[None]) -> None:
        try:
            self._services.journal.write.remote(lambda db: storage.delete(db, self._id)).get()
            offload(self._transcript.remove)
        except WhiskError as refusal:
            reply.set_error(refusal)
            return
        self._record = None
        self._announce("pty.changed")
        reply.set(None)

    def describe(self) -> dict[str, object]:
        record, output = self._record, self._output
        return {
            "status": "new" if record is None else record.status,
            "pid": None if record is None else record.pid,
            "outputOffset": output.ring.end,
            "followers": output.followers,
            "viewers": self._answers.viewers,
            "expecting": self._expects,
            "inputWaiting": 0 if self._input is None else self._input.queued,
            "hostLost": self._host_lost,
            "agent": None if self._agent is None else f"{self._agent.agent} {self._agent.state}",
            "hookReadings": self._readings,
            "transcriptError": None if output.transcript_error is None else str(output.transcript_error),
        }

    def may_passivate(self) -> bool:
        return (self._record is None or self._record.ended) and not (
            self._ending or self._kills or self._output.followers or self._answers.viewers
        )

    def _running_input(self) -> PtyInput:
        if self._input is None:
            raise TerminalEndedError(f"terminal {self._id} is {self._current().status}", pty=self._id)
        return self._input

    def _save(self) -> None:
        self._change(self._current())


def _check_limit(limit: int) -> int:
    if limit < 0:
        raise InvalidError(f"limit must not be negative: {limit}", field="limit")
    return min(limit, READ_LIMIT)


class PtyHandle(Handle):
    launch: Method[[PtySpec], PtyInfo]
    info: Method[[], PtyInfo]
    read: Method[[int, int], Output]
    follow: Method[[int, int, float], Output]
    write: Method[..., int]
    resize: Method[[int, int], PtyInfo]
    kill: Method[..., KillReport]
    expect: Method[..., Expectation]
    snapshot: Method[[], TerminalSnapshot]
    join: Method[[str, int], None]
    leave: Method[[str], None]
    wait_exit: Method[[], PtyInfo]
    move: Method[[str, str, str], PtyInfo]
    remove: Method[[], None]
    exited: Method[[int | None, int | None], None]
    host_lost: Method[[], None]
    hooked: Method[[], None]
