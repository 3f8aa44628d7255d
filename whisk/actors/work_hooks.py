"""Hooks that are about the work: a plan that is presented is submitted, a turn's end may complete an execution.

A plan that is presented in a planning run is never let through: the answer "yes" would make the agent implement it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from structlog import get_logger

from whisk.actors.future import get
from whisk.bridges.work_hook import ends_turn, leaves_planning, not_submitted, plan_of, submitted, without_text
from whisk.errors import NotFoundError, RefusedError, WhiskError
from whisk.hooks.answer import ApprovalAsk, Denied
from whisk.hooks.entry import Result
from whisk.hooks.event import HookEvent
from whisk.hooks.provider import find_provider, write_answer
from whisk.storage import run as run_storage
from whisk.storage.database import Store
from whisk.storage.project import PROJECTS
from whisk.work.action import Press
from whisk.work.case import phase_of
from whisk.work.run import Run

if TYPE_CHECKING:
    from whisk.actors.work import Work

_log = get_logger("whisk.hooks")


class WorkAnswer(NamedTuple):
    """How the event appears in the hook log, and what the hook prints."""

    result: Result
    output: str = ""


@dataclass(frozen=True)
class WorkHooks:
    """`work` is asked at each event: hooks may come before the daemon has taken up its work."""

    store: Store
    work: Callable[[], Work]

    def concerns(self, event: HookEvent, run_id: str) -> bool:
        """Whether `take` may have something to say. Does not block."""
        return bool(run_id) and (leaves_planning(event) or ends_turn(event))

    def take(self, event: HookEvent, run_id: str) -> WorkAnswer | None:
        """What the work makes of an event of this run's agent; None to go on as with any other event.

        Blocks the calling greenlet until the step that follows is on disk. Raises nothing.
        """
        try:
            run = self.store.read(lambda db: run_storage.get(db, run_id))
            return self._plan(event, run) if leaves_planning(event) else self._end_turn(event, run)
        except NotFoundError:
            return None

    def _plan(self, event: HookEvent, run: Run) -> WorkAnswer | None:
        ask = find_provider(event.provider).ask_of(event)
        if (run.prompt_template_id, run.preset) != ("plan", "reader") or not isinstance(ask, ApprovalAsk):
            return None
        plan = plan_of(event)
        result: Result = "plan_submission_required"
        if not plan.body:
            message = without_text()
        else:
            wanted = Press(
                action="submit_draft_plan", actor="agent", title=plan.title, body=plan.body, run_id=run.id
            )  # fmt: skip
            try:
                pressed = get(self.work().item(run.work_item_id).press.remote(wanted, "hook"))
            except WhiskError as error:
                message = not_submitted(error.message)
            else:
                assert pressed.artifact is not None, "a plan that was submitted is an artifact"
                result, message = "draft_plan_submitted", submitted(pressed.artifact, pressed.item.number)
        return WorkAnswer(result, write_answer(Denied(ask=ask, message=message)).decode())

    def _end_turn(self, event: HookEvent, run: Run) -> WorkAnswer | None:
        """Only where the project wants it: an agent's turn ends whenever it has something to say or to ask."""
        if run.status != "running" or phase_of(run) != "execution":
            return None
        project = self.store.read(lambda db: PROJECTS.get(db, run.project_id))
        if not project.preferences.complete_runs_on_stop:
            return None
        message = event.response or "the agent's turn has ended"
        wanted = Press(action="complete_execution", actor="agent", run_id=run.id, reason=message)
        try:
            get(self.work().item(run.work_item_id).press.remote(wanted, "hook"))
        except RefusedError:
            # The item is elsewhere: blocked, or done with in another way.
            return None
        except WhiskError as error:
            _log.warning("an execution was not completed by its turn's end", run=run.id, why=error.message)
            return None
        return WorkAnswer("execution_completed")
