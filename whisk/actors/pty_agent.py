"""What the agent of a terminal is doing, kept up to date: told by hooks, read from the output, never polled.

Nothing here runs for every piece of output. A title and OSC 9999 are noticed where titles are read; the screen is
looked at once in `PtyServices.look_seconds` at most, only while nothing better tells, and only when an agent is, or may
be, there.
"""

from __future__ import annotations

import msgspec

from whisk.actors.handle import Handle, Method
from whisk.actors.offload import offload
from whisk.actors.pty_life import PtyLife, PtyServices
from whisk.errors import WhiskError
from whisk.hooks.turn import Turn
from whisk.storage.turn import last_turn
from whisk.terminal.agent import NAMES, AgentStatus
from whisk.terminal.agent_status import Evidence, agent_status, contradicts, needs_screen
from whisk.terminal.agent_title import still
from whisk.terminal.pty import PtyInfo
from whisk.terminal.screen import shown_lines

# The events of one step of an agent come in a burst.
_HOOK_SECONDS = 0.05
LOOK_BYTES = 4096
_NAMES = tuple(name.encode() for name in NAMES)


class PtyRunHandle(Handle):
    """What the actor of a terminal's run offers."""

    spoken_to: Method[[], None]


class PtyAgent(PtyLife):
    """Between the life of a terminal and what others ask of it."""

    def __init__(self, pty_id: str, services: PtyServices) -> None:
        super().__init__(pty_id, services)
        self._agent: AgentStatus | None = None
        self._turn: Turn | None = None
        self._tail: tuple[str, ...] = ()
        self._named: tuple[str, str | None] = ("", None)
        self._doubted = False
        self._reading = False
        self._readings = 0
        self._drawing = False

    def on_start(self) -> None:
        super().on_start()
        if self._record is not None and not self._record.ended:
            self._take_turn()

    def info(self) -> PtyInfo:
        """Refusal `NotFoundError`: it was never launched, or was removed."""
        found = super().info()
        return msgspec.structs.replace(found, agent_status=self._agent) if found.running else found

    def hooked(self) -> None:
        """From the keeper of bridges: an event of this terminal's agent, or the end of a prompt of it, is on disk."""
        if "hooks" not in self.timers:
            self.timers.start("hooks", _HOOK_SECONDS, self._read_turn)

    def _read_turn(self) -> None:
        if self._reading:
            # What is being read may be older than what this was told for.
            self.hooked()
        else:
            self._reading = True
            self.spawn_greenlet(self._take_turn)

    def _take_turn(self) -> None:
        before = self._turn
        try:
            self._turn = self._services.store.read(lambda db: last_turn(db, self._id))
            if self._turn != before:
                self._doubted = False
            self._weigh_and_tell()
            self._plan_look()
            if before is not None and before.state == "idle" and self._turn is not None:
                self._tell_run(self._turn)
        except WhiskError as error:
            self.log.warning("what the hooks tell could not be read", error=error.message)
        finally:
            self._reading = False
            self._readings += 1

    def _tell_run(self, turn: Turn) -> None:
        """An agent that was idle, and works or asks, has been spoken to."""
        run_id = self._current().run_id
        run = self.system.find(f"run:{run_id}", PtyRunHandle) if run_id else None
        if run is not None and turn.state in ("working", "waiting"):
            run.spoken_to.tell()

    def _run(self, fd: int) -> None:
        super()._run(fd)
        self._weigh()

    def _announce_output(self) -> None:
        self._plan_doubt()
        if self._title_changed:
            self._title_changed = self._weigh() | self._is_renamed()
        super()._announce_output()
        self._plan_look()

    def _plan_look(self) -> None:
        if needs_screen(self._agent) and "agent" not in self.timers:
            self.timers.start("agent", self._services.look_seconds, self._look_at_screen)

    def _plan_doubt(self) -> None:
        if not contradicts(self._evidence()):
            self._doubted = False
        elif "doubt" not in self.timers:
            self.timers.start("doubt", 2 * self._services.look_seconds, self._doubt)

    def _doubt(self) -> None:
        """The title still says otherwise than the hooks: let the screen decide."""
        if contradicts(self._evidence()):
            self._doubted = True
            self._draw_screen(self._output.ring.end - LOOK_BYTES)

    def _is_renamed(self) -> bool:
        """Whether title or directory say something else. A spinner that turns is a new title, and no news."""
        titles, before = self._output.titles, self._named
        self._named = (still(titles.title or ""), titles.directory)
        return self._named != before

    def _look_at_screen(self) -> None:
        if not needs_screen(self._agent):
            return
        begin = self._output.ring.end - LOOK_BYTES
        data = self._output.ring.read(max(begin, self._output.ring.start)).data.lower()
        if self._agent is None and not any(name in data for name in _NAMES):
            # A plain shell, as most terminals are; drawing would cost a thousand times as much as this look.
            self._see(())
        else:
            self._draw_screen(begin)

    def _draw_screen(self, begin: int) -> None:
        """See what the output from `begin` on has painted."""
        if not self._drawing:
            self._drawing = True
            ring = self._output.ring
            begin = max(begin, ring.start)
            self.spawn_greenlet(self._draw_tail, ring.read(begin).data, begin > 0)

    def _draw_tail(self, data: bytes, cut: bool) -> None:
        record = self._current()
        try:
            self._see(offload(shown_lines, data, record.cols, record.rows, cut=cut))
        finally:
            self._drawing = False

    def _see(self, lines: tuple[str, ...]) -> None:
        if lines != self._tail:
            self._tail = lines
            self._weigh_and_tell()

    def _weigh_and_tell(self) -> None:
        if self._record is not None and not self._record.ended and self._weigh():
            self._announce("pty.changed")

    def _weigh(self) -> bool:
        """Judge anew what the agent is doing; whether that is something else than before."""
        before, found = self._agent, agent_status(self._evidence())
        if found is not None:
            same = before is not None and (before.agent, before.state, before.source) == (
                found.agent, found.state, found.source
            )  # fmt: skip
            since = before.since if before is not None and same else found.since or self.clock.now()
            found = msgspec.structs.replace(found, since=since)
        self._agent = found
        if not needs_screen(found):
            # By the time it counts again, the screen will show something else.
            self._tail = ()
        return found != before

    def _evidence(self) -> Evidence:
        record, titles = self._current(), self._output.titles
        return Evidence(
            argv=record.argv,
            turn=self._turn,
            report=titles.report,
            title=titles.title,
            tail=self._tail,
            doubted=self._doubted,
        )
