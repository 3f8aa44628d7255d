"""A work item: its text, its worktree and its end, the runs that are started on it; its steps are in `item_steps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peewee import Database

from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.item_end import end_item
from whisk.actors.item_steps import MAIL_SECONDS, ItemSteps, Pressed
from whisk.actors.run import RunActor, RunHandle
from whisk.clock import Instant
from whisk.errors import NotFoundError, RefusedError
from whisk.ids import new_id
from whisk.matters.audit import Surface
from whisk.storage import item as item_storage
from whisk.storage import run as run_storage
from whisk.storage.project import PROJECTS
from whisk.work.action import Press
from whisk.work.availability import WorkflowActionAvailability, executing_stages
from whisk.work.case import execution_run
from whisk.work.gate import CompleteGate, GateReport, OpenGate
from whisk.work.item import WorkItem
from whisk.work.item_change import (
    AttachToItem,
    BindWorktree,
    DeleteItem,
    UpdateItem,
    attach,
    bind_worktree,
    update_item,
)
from whisk.work.prompt_template import find_template, render
from whisk.work.question import AnswerQuestion, AskQuestion, Question
from whisk.work.run import LaunchRun, Run, StartRun, check_preset, new_run

# A work item or run that nobody has spoken to for this long, and that owns nothing alive, gives its memory back.
IDLE_SECONDS = 120.0
# Starting an agent means starting processes; on a loaded machine that takes its time.
LAUNCH_SECONDS = 60.0


class WorkItemActor(ItemSteps):
    """Named `work-item:<id>`. The item must be in storage before the actor starts."""

    def on_start(self) -> None:
        try:
            self._project_id, living = self._services.store.read(lambda db: _load(db, self._id))
        except NotFoundError:
            # Asked for while it was being deleted.
            self.end()
            return
        for run in living:
            self.run(run.id)
        self._close_dismissed(tuple(living))
        if living:
            self.timers.start("feedback", MAIL_SECONDS, self._mail_feedback)

    def describe(self) -> dict[str, Any]:
        return {
            "project": self._project_id,
            "awaitedQuestions": len(self._waiting),
            "closing": len(self._closing),
        }

    def may_passivate(self) -> bool:
        return not self._waiting and not self._closing

    def show(self) -> WorkItem:
        return self._services.store.read(lambda db: item_storage.get(db, self._id))

    def update(self, request: UpdateItem) -> WorkItem:
        return self._change(lambda item: update_item(item, request, self.clock.now()))

    def attach(self, request: AttachToItem) -> WorkItem:
        id = new_id("att")
        return self._change(lambda item: attach(item, request, attachment_id=id, now=self.clock.now()))

    def bind_worktree(self, request: BindWorktree) -> WorkItem:
        return self._change(lambda item: bind_worktree(item, request, self.clock.now()))

    def delete(self, request: DeleteItem) -> WorkItem:
        """Close the sessions of its runs that whisk made, then forget the item and all that is about it.

        Blocks this actor meanwhile, so that nothing is started; what is queued after it is refused. Raises refusals
        of sessions that do not end, and then the item is still there.
        """
        gone = end_item(self.system, self._services, self._id, request, self.clock.now())
        self.end()
        return gone

    def run(self, run_id: str) -> RunHandle:
        """The handle of one of this item's runs, whose actor is started when there is none. It must be in storage."""
        return self.system.spawn(
            RunActor,
            run_id,
            self._services,
            name=f"run:{run_id}",
            parent=self.name,
            labels={"project": self._project_id, "work-item": self._id},
            restart="permanent",
            idle_after=IDLE_SECONDS,
            get_if_exists=True,
            handle=RunHandle,
        )

    def start_run(self, request: StartRun) -> Future[Run]:
        """Queue a run and, when asked, launch it; the reply comes when the agent's terminal runs."""
        now, run_id = self.clock.now(), new_id("run")
        run = self._services.write(lambda db: _insert_run(db, self._id, request, run_id, now))
        self._services.changed(run.id)
        if request.launch:
            return self._launch(run, LaunchRun(actor=request.actor))
        queued: Future[Run] = Future()
        self.run(run.id)
        queued.set(run)
        return queued

    def press_and_launch(self, wanted: Press, launch: LaunchRun, surface: Surface = "") -> Future[Run]:
        """Take an action that makes a run, then launch that run; the reply comes when the agent's terminal runs.

        A launch that fails does not undo the action: the run has failed, and the refusal names it.
        """
        run = self.press(wanted, surface).run
        if run is None or run.ended:
            raise RefusedError(f"workflow action {wanted.action} makes no run to launch", action=wanted.action)
        return self._launch(run, launch)

    def launch_execution(self, launch: LaunchRun, surface: Surface = "") -> Future[Run]:
        """Launch the execution that waits in the queue; where none does, start one, and launch that."""
        case = self._case()
        run = execution_run(case)
        if run is not None and run.status == "queued" and case.item.stage_id in executing_stages(case):
            return self._launch(run, launch)
        return self.press_and_launch(Press(action="start_execution", actor=launch.actor), launch, surface)

    def _launch(self, run: Run, launch: LaunchRun) -> Future[Run]:
        return self.run(run.id).launch.options(timeout=LAUNCH_SECONDS).remote(launch)

    def _change(self, change: Callable[[WorkItem], WorkItem]) -> WorkItem:
        """Store the changed item, then announce it; a change that returns the very same record stores nothing."""

        def write(db: Database) -> tuple[WorkItem, bool]:
            item = item_storage.get(db, self._id)
            changed = change(item)
            if changed is not item:
                item_storage.update(db, changed)
            return changed, changed is not item

        item, differs = self._services.write(write)
        if differs:
            self._services.changed(self._id)
        return item


class WorkItemHandle(Handle):
    show: Method[[], WorkItem]
    update: Method[[UpdateItem], WorkItem]
    attach: Method[[AttachToItem], WorkItem]
    bind_worktree: Method[[BindWorktree], WorkItem]
    delete: Method[[DeleteItem], WorkItem]
    run: Method[[str], RunHandle]
    start_run: Method[[StartRun], Run]
    actions: Method[[], list[WorkflowActionAvailability]]
    press: Method[..., Pressed]
    move: Method[..., Pressed]
    press_and_launch: Method[..., Run]
    launch_execution: Method[..., Run]
    report_done: Method[..., Pressed]
    finish_run: Method[..., Pressed]
    ask_question: Method[[AskQuestion], Question]
    answer_question: Method[[str, AnswerQuestion], Question]
    await_answer: Method[[str], Question]
    open_gate: Method[[OpenGate], GateReport]
    complete_gate: Method[[str, CompleteGate], GateReport]


def _load(db: Database, item_id: str) -> tuple[str, list[Run]]:
    """The item's project, and its runs that have not ended or whose terminal has not."""
    living = run_storage.living_of_item(db, item_id)
    return item_storage.get(db, item_id).project_id, [run_storage.get(db, run_id) for run_id in living]


def _insert_run(db: Database, item_id: str, request: StartRun, run_id: str, now: Instant) -> Run:
    item = item_storage.get(db, item_id)
    project = PROJECTS.get(db, item.project_id)
    # The item may be pinned to a workflow that the project has left since; then the stage says nothing.
    stage = next((stage for stage in project.workflow.stages if stage.id == item.stage_id), None)
    usual_preset = stage.default_run_preset if stage is not None else None
    usual_template = stage.default_prompt_template_id if stage is not None else None
    template = find_template(request.prompt_template_id or usual_template or "plan")
    run = new_run(
        request,
        run_id=run_id,
        project_id=project.id,
        preset=check_preset(request.preset or usual_preset or "reader"),
        template_id=template.id,
        prompt=render(template, project, item),
        now=now,
    )
    run_storage.insert(db, run)
    return run
