"""The life of one terminal: launched or adopted, read, and ended when its child has.

The child belongs to the pty host, so this actor may crash, and the daemon may be killed: the next incarnation adopts
the terminal and goes on where the transcript ends. A terminal ends when its child has exited, not when its output
has: a background process may hold the terminal open for ever.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import psutil

from whisk.actors.actor import Actor, control
from whisk.actors.census import Census
from whisk.actors.events import EventsHandle
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.journal import JournalHandle
from whisk.actors.offload import offload
from whisk.actors.pty_answer import PtyAnswers
from whisk.actors.pty_host import PtyHostHandle
from whisk.actors.pty_input import PtyInput
from whisk.actors.pty_output import PtyOutput
from whisk.actors.pty_view import PtyView
from whisk.errors import ConflictError, NotFoundError, UnavailableError, WhiskError
from whisk.events import EventType
from whisk.storage import terminal as storage
from whisk.storage.database import Store
from whisk.storage.landing import Landing
from whisk.storage.transcript import LIMIT_BYTES, Transcript
from whisk.terminal import pty as domain
from whisk.terminal.pty import KillReport, PtyInfo, PtyRecord, PtySpec
from whisk.terminal.ring import Ring
from whisk.terminal.screen import TerminalSnapshot

RING_BYTES = 256 * 1024
# Told of every end, if there is one: whoever keeps transcripts within their bounds.
KEEPER = "history"

_SPAWN_SECONDS = 30.0
# How long output is still read after the exit when somebody else keeps the terminal open.
_LAST_WORDS = 0.25
_ANNOUNCE_SECONDS = 0.1
_LOOK_SECONDS = 1.0
_FINISH_SECONDS = 3.0
_SCREEN_SECONDS = 60.0


@dataclass(frozen=True)
class PtyServices:
    """What a terminal needs from the rest of the daemon. `transcripts` is a folder; one folder per pty inside.

    `look_seconds` is how often, at most, a screen is looked at for what its agent is doing. Make it once, and before
    any terminal is adopted: opening the `landing` saves what the last daemon had in hand.
    """

    store: Store
    journal: JournalHandle
    events: EventsHandle
    host: PtyHostHandle
    transcripts: Path
    landing: Landing = field(default_factory=Landing.unprotected)
    ring_bytes: int = RING_BYTES
    transcript_bytes: int = LIMIT_BYTES
    census: Census = field(default_factory=Census)
    look_seconds: float = 2.0


class PtyOwnerHandle(Handle):
    """What each actor that is named in `PtySpec.owners` offers."""

    pty_ended: Method[[PtyInfo], None]


class PtyLife(Actor):
    """How a terminal comes to be, is adopted, and ends. `PtyActor` adds what others ask of it."""

    def __init__(self, pty_id: str, services: PtyServices) -> None:
        super().__init__()
        self._id = pty_id
        self._services = services
        self._record: PtyRecord | None = None
        self._fd = -1
        self._input: PtyInput | None = None
        self._exit: tuple[int | None, int | None] | None = None
        self._killing = False
        self._ending = False
        self._host_lost = False
        self._kills: list[Future[KillReport]] = []
        self._exit_waiters: list[Future[PtyInfo]] = []
        self._expects = 0
        self._title_changed = False
        self._transcript_told = False
        self._finisher: Any = None
        self._begun = False

    def on_start(self) -> None:
        services = self._services
        self._transcript = Transcript(services.transcripts / self._id, services.transcript_bytes)
        offset, tail, _ = offload(self._transcript.tail, services.ring_bytes)
        ring = Ring(services.ring_bytes, offset)
        ring.append(tail)
        self._output = PtyOutput(
            self._id, ring, self._transcript, services.landing, self._printed, self._at_eof, self._reading_failed
        )
        self._begun = True
        self._record = services.store.read(lambda db: storage.find(db, self._id))
        record = self._record
        size = (record.cols, record.rows) if record else (80, 24)
        self._view = PtyView(self._output, *size, self._type_reply)
        self._answers = PtyAnswers(self._output, self._view, self.timers, self.clock, self._draw)
        if record is not None and record.ended:
            self._output.finish()
        elif record is not None:
            self._adopt()

    def on_stop(self) -> None:
        if self._finisher is not None:
            # What is half told must not be left for the next daemon to find out.
            self._finisher.join(timeout=_FINISH_SECONDS)
        self._let_go(f"the actor of terminal {self._id} was stopped")

    def on_failure(self, *_: object) -> None:
        self._let_go(f"the actor of terminal {self._id} crashed")

    # -- life ----------------------------------------------------------------------------------------------------

    def launch(self, spec: PtySpec) -> Future[PtyInfo]:
        """Start the child, once; the reply comes when it runs and that is stored.

        Refusals: `InvalidError`, `ConflictError` (launched before), `SpawnError` and `UnavailableError` (no pty host);
        after the last two the terminal is `failed` and says why.
        """
        if self._record is not None:
            raise ConflictError(f"terminal {self._id} was launched before", pty=self._id)
        domain.check_spec(spec)
        self._record = domain.new_record(self._id, spec, self.clock.now())
        self._view.resize(spec.cols, spec.rows)
        reply: Future[PtyInfo] = Future()
        self.spawn_greenlet(self._launch, spec, reply)
        return reply

    def _launch(self, spec: PtySpec, reply: Future[PtyInfo]) -> None:
        now = self.clock.now()
        record = self._current()
        try:
            self._services.journal.write.remote(lambda db: storage.insert(db, record, now)).get(timeout=_SPAWN_SECONDS)
        except WhiskError as refusal:
            self._record = None
            reply.set_error(refusal)
            return
        self._announce("pty.changed")
        try:
            spawning = self._services.host.spawn.options(timeout=None).remote(self._id, spec)
            spawned = spawning.get(timeout=_SPAWN_SECONDS)
        except WhiskError as refusal:
            self._output.finish()
            _wait(self._change(domain.fail(self._current(), refusal.message, self.clock.now())))
            self._settle_exit()
            reply.set_error(refusal)
            return
        self._run(spawned.descriptor.take())
        if spec.typed:
            self._type(spec.typed)
        _wait(self._change(domain.run(self._current(), spawned.pid, _started(spawned.pid), self.clock.now())))
        reply.set(self.info())
        self._end_if_over()

    def _adopt(self) -> None:
        record = self._current()
        try:
            child = self._services.host.adopt.options(timeout=None).remote(self._id).get(timeout=_SPAWN_SECONDS)
        except NotFoundError:
            # Its host died, or it never came to be started: nobody can say how it ended.
            self.log.warning("terminal lost", pid=record.pid)
            self._exit = (None, None)
            self.post(self._end_if_over)
            return
        self._run(child.descriptor.take())
        if record.status == "starting":
            self._change(domain.run(record, child.pid, _started(child.pid), self.clock.now()))
        if child.ended:
            self._exit = (child.code, child.signal)
            self.timers.start("last words", _LAST_WORDS, self._conclude)

    def _draw(self) -> Future[TerminalSnapshot]:
        future = self._view.ask()
        if not self._view.running:
            self.spawn_greenlet(self._view.run)
        self.timers.start("screen", _SCREEN_SECONDS, self._view.drop)
        return future

    def _type_reply(self, reply: bytes) -> None:
        """What the screen says to a program that asked it; nothing is piled up for one that does not read."""
        if self._input is not None and not self._input.queued:
            self._input.write(reply, whole_lines=False)

    def _type(self, text: str) -> None:
        if self._input is not None:
            self._input.write(text.encode(), whole_lines=False)

    def _run(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._input = PtyInput(fd)
        self._output.attach(fd)

    @control
    def exited(self, code: int | None, signal: int | None) -> None:
        """From the pty host: the child has ended."""
        if self._exit is None:
            self._exit = (code, signal)
            self._end_if_over()

    @control
    def host_lost(self) -> None:
        """From the pty host's actor: nobody will tell how the child ends. Until it does, the terminal goes on."""
        record = self._record
        if record is not None and not record.ended and self._exit is None and self._fd >= 0:
            self._host_lost = True
            self._look()

    def _look(self) -> None:
        """Without a host, the child's end shows in that it is not there any more."""
        record = self._current()
        if record.ended or self._ending:
            return
        if record.pid is not None and not _is_running(record.pid, record.pid_started):
            self.exited(None, None)
        else:
            self.timers.start("look", _LOOK_SECONDS, self._look)

    def _at_eof(self) -> None:
        """In the hub: no process has the terminal open any more."""
        self.post(self._look if self._host_lost else self._end_if_over)

    def _end_if_over(self) -> None:
        record = self._record
        if self._exit is None or record is None or record.ended or self._ending:
            return
        if record.status == "starting" and self._fd >= 0:
            return  # it ended before its start was stored; asked again behind that
        if self._fd < 0 or self._output.at_eof:
            self._conclude()
        else:
            self.timers.start("last words", _LAST_WORDS, self._conclude)

    def _conclude(self) -> None:
        if not self._ending and not self._current().ended:
            self._ending = True
            self._finisher = self.spawn_greenlet(self._finish)

    def _finish(self) -> None:
        """Take the last output, store the end, and only then let the host forget it and tell the world."""
        code, signal = self._exit or (None, None)
        self._output.drain()
        self._close_terminal("the terminal has ended")
        self._output.finish()
        self._transcript.close()
        record = msgspec.structs.replace(self._with_titles(), output_offset=self._output.ring.end)
        ended = domain.end(record, code, signal, self._killing, self.clock.now())
        if _wait(self._change(ended)):
            self._services.host.forget.tell(self._id)
        self._tell_owners()
        self._settle_exit()

    # -- what both halves use ------------------------------------------------------------------------------------

    def _current(self) -> PtyRecord:
        if self._record is None:
            raise NotFoundError(f"pty {self._id} not found", pty=self._id)
        return self._record

    def _with_titles(self) -> PtyRecord:
        titles = self._output.titles
        return msgspec.structs.replace(self._current(), title=titles.title, terminal_working_directory=titles.directory)

    def info(self) -> PtyInfo:
        """Refusal `NotFoundError`: it was never launched, or was removed."""
        return domain.info(self._with_titles(), self._output.ring.end)

    def wait_exit(self) -> Future[PtyInfo]:
        """Done when the terminal has ended and that is stored; at once if it has."""
        future: Future[PtyInfo] = Future()
        if self._current().ended and not self._ending:
            future.set(self.info())
        else:
            self._exit_waiters.append(future)
        return future

    def _change(self, record: PtyRecord) -> Future[None]:
        """Hand the next state to the journal, then show it; the future says when, and whether, it is on disk."""
        now = self.clock.now()
        stored = self._services.journal.write.options(timeout=None).remote(lambda db: storage.update(db, record, now))
        self._record = record
        stored.then(self._stored)
        return stored

    def _stored(self, done: Future[None]) -> None:
        if (error := done.error()) is not None:
            self.log.error("the state of a terminal could not be stored", error=str(error))
        self._announce("pty.changed")

    def _announce(self, kind: EventType) -> None:
        try:
            self._services.events.publish.tell(kind, id=self._id, pty_id=self._id, offset=self._output.ring.end)
        except WhiskError as error:
            self.log.warning("an event was not published", kind=kind, error=error.message)

    def _printed(self, title_changed: bool) -> None:
        """In the hub, at every burst: one event stands for all that is printed within a tenth of a second."""
        self._title_changed |= title_changed
        if "announce" not in self.timers:
            self.timers.start("announce", _ANNOUNCE_SECONDS, self._announce_output)

    def _announce_output(self) -> None:
        self._announce("pty.output")
        if self._title_changed:
            self._title_changed = False
            self._announce("pty.changed")
        error = self._output.transcript_error
        if error is not None and not self._transcript_told:
            self._transcript_told = True
            self.log.error("the transcript has a hole", error=str(error))

    def _reading_failed(self, error: Exception) -> None:
        self.post(self._crash, error)

    def _tell_owners(self) -> None:
        info = self.info()
        for name in (*self._current().owners, KEEPER):
            owner = self.system.find(name, PtyOwnerHandle)
            try:
                if owner is not None:
                    owner.pty_ended.tell(info)
            except WhiskError as error:
                self.log.error("an owner was not told of the end", owner=name, error=error.message)

    def _settle_exit(self) -> None:
        self._ending = False
        waiting, self._exit_waiters = self._exit_waiters, []
        for future in waiting:
            future.set(self.info())

    def _close_terminal(self, why: str) -> None:
        self._output.detach()
        if self._input is not None:
            self._input.close(why)
            self._input = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _let_go(self, why: str) -> None:
        """This incarnation ends; the terminal does not."""
        if not self._begun:
            return
        self._close_terminal(why)
        self._output.fail(why)
        self._transcript.close()
        waiting: list[Future[Any]] = [*self._exit_waiters, *self._kills]
        for future in waiting:
            future.set_error(UnavailableError(why))


def _wait(stored: Future[None]) -> bool:
    """Whether it is on disk; a disk that fails is logged elsewhere and must not cost the person the terminal."""
    try:
        stored.get(timeout=_SPAWN_SECONDS)
    except WhiskError:
        return False
    return True


def _started(pid: int) -> float | None:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return None


def _is_running(pid: int, started: float | None) -> bool:
    """Whether that very process is still there; a number may have been given to another one."""
    try:
        process = psutil.Process(pid)
        same = started is None or abs(process.create_time() - started) < 1.0
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
