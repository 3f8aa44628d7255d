"""Answers to what a program asks its terminal, while nobody is attached whose terminal would answer.

A program that asks where the cursor is waits for the answer, some for ever. The answer comes from the emulated screen
at the very place of the question, which costs a thread some time; so it is worked out when the program has fallen
silent, as one that waits does, and never for a flood.
"""

from __future__ import annotations

from collections.abc import Callable

from whisk.actors.pty_output import PtyOutput
from whisk.actors.pty_view import PtyView
from whisk.actors.timer import Timers
from whisk.clock import Clock
from whisk.terminal.query import QueryWatch

# A program that waits prints nothing for this long; one that draws something meanwhile is answered a little later.
QUIET_SECONDS = 0.02
PATIENCE_SECONDS = 0.25
GIVE_UP_SECONDS = 5.0
# What is drawn for an answer while output goes on: a tenth of a second's work.
_BEHIND_BYTES = 128 * 1024


class PtyAnswers:
    """`draw` brings the screen up to date; the view then hands over the answers. `hear` and timers run in the hub."""

    def __init__(
        self, output: PtyOutput, view: PtyView, timers: Timers, clock: Clock, draw: Callable[[], object]
    ) -> None:
        self._output = output
        self._view = view
        self._timers = timers
        self._clock = clock
        self._draw = draw
        self._watch = QueryWatch()
        self._viewers: set[str] = set()
        self._asked_at = 0.0
        self._heard = 0
        output.listener = self.hear

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    def join(self, viewer: str, at: int) -> None:
        """A terminal shows the output from `at` on, and answers what is asked there; before, nobody else has."""
        self._viewers.add(viewer)
        self._view.unmark(at)

    def leave(self, viewer: str) -> None:
        self._viewers.discard(viewer)

    def hear(self, begin: int, data: bytes) -> None:
        """At every burst."""
        if self._watch.feed(data) and not self._viewers:
            self._view.mark(begin, begin + len(data))
            if "answer" not in self._timers:
                self._asked_at = self._clock.monotonic()
                self._wait()

    def _wait(self) -> None:
        self._heard = self._output.ring.end
        self._timers.start("answer", QUIET_SECONDS, self._look)

    def _look(self) -> None:
        if not self._view.marked:
            return
        end, waited = self._output.ring.end, self._clock.monotonic() - self._asked_at
        patient = waited < PATIENCE_SECONDS or end - self._view.offset > _BEHIND_BYTES
        if end == self._heard or not patient:
            self._draw()
        elif waited < GIVE_UP_SECONDS:
            self._wait()
        else:
            self._view.unmark(0)
