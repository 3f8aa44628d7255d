"""What an agent in a real terminal is doing: told by its output and its hooks, announced once for each change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.captured import load
from tests.mail_desk import until
from tests.session_desk import SECONDS, SessionDesk, run
from whisk.actors.actor import Actor
from whisk.actors.future import get
from whisk.actors.handle import Handle, Method
from whisk.actors.pty import PtyHandle
from whisk.actors.system import ActorSystem
from whisk.hooks.entry import HookContext, entry_of
from whisk.storage import hook_event
from whisk.terminal.agent import AgentStatus
from whisk.terminal.pty import PtyInfo
from whisk.work.start import LaunchContext


class Watched:
    """A terminal that types what it is told, and what is known of the agent in it."""

    def __init__(self, desk: SessionDesk, script: str, context: LaunchContext | None = None) -> None:
        self.desk = desk
        self._seen = get(desk.events.last.remote())
        made = desk.create(run("/bin/bash", "-c", script), context)
        assert made.pty_id is not None
        self.id = made.pty_id
        self.changes = 0

    def again(self) -> None:
        """The daemon is another one, with events of its own."""
        self._seen = 0

    @property
    def pty(self) -> PtyHandle:
        return self.desk.book.pty(self.id)

    @property
    def status(self) -> AgentStatus | None:
        return get(self.pty.info.remote()).agent_status

    @property
    def told(self) -> tuple[str, str, str] | None:
        status = self.status
        return None if status is None else (status.agent, status.state, status.source)

    def until(self, wanted: tuple[str, str, str] | None) -> None:
        """Follow the announcements until the status is this one; they must have said so."""
        self.follow(lambda: self.told == wanted)

    def follow(self, done: Callable[[], bool]) -> None:
        while not done():
            batch = self.desk.events.follow.options(timeout=SECONDS).remote(self._seen).get(timeout=SECONDS)
            self._seen = batch.next
            self.changes += sum(event.type == "pty.changed" for event in batch.events)

    @property
    def readings(self) -> int:
        return int(str(self.desk.system.describe(self.pty.name).facts["hookReadings"]))

    def type(self, text: str) -> None:
        get(self.pty.write.remote(text.encode() + b"\n"))

    def heard(self, name: str, provider: str = "claude") -> None:
        entry = entry_of(load(provider, name), HookContext(pty_id=self.id), "logged", self.desk.system.clock.now())
        get(self.desk.journal.write.remote(lambda db: hook_event.insert(db, entry)))
        self.pty.hooked.tell()


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[SessionDesk]:
    desk = SessionDesk(system, tmp_path)
    yield desk
    desk.close()


# Prints, as printf would, each line that is typed.
ECHO = 'stty -echo; while IFS= read -r line; do printf "$line"; done'


@pytest.fixture
def terminal(desk: SessionDesk) -> Watched:
    return Watched(desk, ECHO)


def test_a_plain_program_is_no_agent(desk: SessionDesk, terminal: Watched) -> None:
    terminal.type("make: done\\n")
    desk.expect(terminal.id, "done")
    assert terminal.status is None


def test_a_title_tells_until_the_programs_own_word_does(terminal: Watched) -> None:
    terminal.type("\\033]0;\u25c7  Ready (shop)\\007")
    terminal.until(("gemini", "idle", "osc-title"))
    terminal.type('\\033]9999;{"state":"waiting","prompt":"Which table?"}\\007')
    terminal.until(("unknown", "waiting", "osc9999"))
    assert terminal.status is not None
    assert (terminal.status.prompt, terminal.status.title) == ("Which table?", "\u25c7 Ready (shop)")
    terminal.type("\\033]9999;\\033\\\\\\\\")
    terminal.until(("gemini", "idle", "osc-title"))


def test_each_change_is_announced_once(terminal: Watched) -> None:
    terminal.type("\\033]9999;working\\007")
    terminal.until(("unknown", "working", "osc9999"))
    before = terminal.changes
    for _ in range(20):
        terminal.type("\\033]9999;working\\007 still at it\\n")
    terminal.type("\\033]9999;idle\\007")
    terminal.until(("unknown", "idle", "osc9999"))
    assert terminal.changes - before == 1


def test_a_spinner_that_turns_in_the_title_is_no_change(terminal: Watched) -> None:
    terminal.type("\\033]0;\u280b codex\\007")
    terminal.until(("codex", "working", "osc-title"))
    before = terminal.changes
    for mark in "\u2819\u2839\u2838\u283c\u2834":
        terminal.type(f"\\033]0;{mark} codex\\007")
        terminal.follow(lambda mark=mark: get(terminal.pty.info.remote()).title == f"{mark} codex")  # type: ignore[misc]
    terminal.type("\\033]0;codex\\007")
    terminal.until(("codex", "unknown", "process"))
    assert terminal.changes - before == 1


def test_a_state_says_since_when_it_holds(terminal: Watched) -> None:
    terminal.type("\\033]9999;idle\\007")
    terminal.until(("unknown", "idle", "osc9999"))
    first = terminal.status
    terminal.type('\\033]9999;{"state":"idle","label":"Bob"}\\007')
    terminal.follow(lambda: terminal.status is not None and terminal.status.label == "Bob")
    assert first is not None
    assert terminal.status is not None
    assert terminal.status.since == first.since


def test_a_status_line_tells_while_it_is_on_the_screen(terminal: Watched) -> None:
    terminal.type("Codex: working\\n")
    terminal.until(("codex", "working", "output-tail"))
    terminal.type("\\033[H\\033[2J")
    terminal.until(None)


def test_what_the_screen_showed_before_better_was_known_is_forgotten(terminal: Watched) -> None:
    terminal.type("Codex: idle\\n")
    terminal.until(("codex", "idle", "output-tail"))
    terminal.type("\\033]9999;working\\007")
    terminal.until(("unknown", "working", "osc9999"))
    # It is taken back, the screen is another one, and nobody has looked at it yet.
    before = terminal.changes
    terminal.type("\\033[H\\033[2J\\033]9999;\\007")
    terminal.until(None)
    assert terminal.changes - before == 1


def test_a_dialog_that_is_only_printed_is_not_waited_for(desk: SessionDesk, terminal: Watched) -> None:
    terminal.type("Claude is waiting for your permission\\nDo you want to proceed?\\n> 1. Yes\\n")
    terminal.type("OpenCode is idle\\n")
    terminal.until(("opencode", "idle", "output-tail"))
    terminal.type("\\033[H\\033[2JClaude needs your approval: waiting\\nCodex: working\\n")
    terminal.until(("codex", "working", "output-tail"))


def test_hooks_beat_everything_and_come_from_the_log(terminal: Watched) -> None:
    terminal.type("\\033]9999;idle\\007")
    terminal.until(("unknown", "idle", "osc9999"))
    terminal.heard("UserPromptSubmit")
    terminal.until(("claude", "working", "bridge"))
    assert terminal.status is not None
    assert not terminal.status.advisory
    terminal.heard("Stop")
    terminal.until(("claude", "idle", "bridge"))
    terminal.heard("SessionEnd-prompt_input_exit")
    terminal.until(("claude", "done", "bridge"))


def test_a_turn_that_was_broken_off_without_an_event_is_seen_by_title_and_screen(terminal: Watched) -> None:
    terminal.heard("UserPromptSubmit")
    terminal.until(("claude", "working", "bridge"))
    terminal.type("\\033]0;\u2733 Claude Code\\007? for shortcuts\\n")
    terminal.until(("claude", "idle", "output-tail"))
    terminal.heard("PreToolUse-Bash")
    terminal.until(("claude", "working", "bridge"))


def test_events_that_tell_nothing_new_are_no_change(terminal: Watched) -> None:
    terminal.heard("UserPromptSubmit")
    terminal.until(("claude", "working", "bridge"))
    first, before = terminal.status, terminal.changes
    for _ in range(3):
        readings = terminal.readings
        terminal.heard("PostToolUse-Bash")
        until(lambda seen=readings: terminal.readings > seen)  # type: ignore[misc]
    assert terminal.status == first
    terminal.heard("Stop")
    terminal.until(("claude", "idle", "bridge"))
    assert terminal.changes - before == 1


def test_a_terminal_that_has_ended_has_no_agent(desk: SessionDesk) -> None:
    terminal = Watched(desk, "printf '\\033]9999;idle\\007'; read line")
    terminal.until(("unknown", "idle", "osc9999"))
    terminal.type("")
    terminal.follow(lambda: not get(terminal.pty.info.remote()).running)
    assert terminal.status is None


def test_the_next_daemon_knows_what_the_last_one_did(desk: SessionDesk) -> None:
    hooked, printed = Watched(desk, ECHO), Watched(desk, ECHO)
    hooked.heard("Stop")
    hooked.until(("claude", "idle", "bridge"))
    since = hooked.status
    printed.type("\\033]9999;working\\007")
    printed.until(("unknown", "working", "osc9999"))
    shown = Watched(desk, ECHO)
    shown.type("Codex: idle\\n")
    shown.until(("codex", "idle", "output-tail"))
    desk.crash()
    desk.open(ActorSystem("next"))
    shown.again()
    assert desk.book.restore() == 3
    assert hooked.status == since
    assert printed.told == ("unknown", "working", "osc9999")
    shown.until(("codex", "idle", "output-tail"))


class Run(Actor):
    """A run that remembers how often its agent was spoken to."""

    def __init__(self) -> None:
        super().__init__()
        self._times = 0

    def spoken_to(self) -> None:
        self._times += 1

    def pty_ended(self, info: PtyInfo) -> None:
        pass

    def times(self) -> int:
        return self._times


class RunHandle(Handle):
    times: Method[[], int]


def test_a_run_is_told_when_its_idle_agent_is_given_something_to_do(desk: SessionDesk) -> None:
    its_run = desk.system.spawn(Run, name="run:run_1", handle=RunHandle)
    terminal = Watched(desk, ECHO, LaunchContext(run_id="run_1"))
    for name, state in (("UserPromptSubmit", "working"), ("Stop", "idle")):
        terminal.heard(name)
        terminal.until(("claude", state, "bridge"))
    assert get(its_run.times.remote()) == 0
    for name in ("UserPromptSubmit", "PostToolUse-Bash", "PermissionRequest-Bash"):
        terminal.heard(name)
    terminal.until(("claude", "waiting", "bridge"))
    assert get(its_run.times.remote()) == 1
