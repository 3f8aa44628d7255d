"""A work item: its runs are started here, questions about it are asked, answered and waited for, gates are decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from peewee import Database

from whisk.actors.actor import Actor
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.item_end import end_item
from whisk.actors.run import RunActor, RunHandle
from whisk.actors.work_services import WorkServices
from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.ids import new_id
from whisk.storage import case as case_storage
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage.project import PROJECTS
from whisk.values import Record
from whisk.work.action import Press, Taken, move_to, press
from whisk.work.artifact import Artifact
from whisk.work.availability import WorkflowActionAvailability, list_actions
from whisk.work.case import Case, Stamp
from whisk.work.gate import CompleteGate, GateReport, OpenGate, new_gate
from whisk.work.inquiry import Asked, Judged, answer, ask, judge
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

S = TypeVar("S", Taken, Asked, Judged)


class Pressed(Record, frozen=True):
    """The item after an action, and the run and the artifact that the action was about."""

    item: WorkItem
    run: Run | None = None
    artifact: Artifact | None = None


class WorkItemActor(Actor):
    """Named `work-item:<id>`. The item must be in storage before the actor starts."""

    def __init__(self, item_id: str, services: WorkServices) -> None:
        super().__init__()
        self._id = item_id
        self._services = services
        self._waiting: dict[str, list[Future[Question]]] = {}

    def on_start(self) -> None:
        try:
            self._project_id, living = self._services.store.read(lambda db: _load(db, self._id))
        except NotFoundError:
            # Asked for while it was being deleted.
            self.end()
            return
        for run_id in living:
            self.run(run_id)

    def describe(self) -> dict[str, Any]:
        return {"project": self._project_id, "awaitedQuestions": len(self._waiting)}

    def may_passivate(self) -> bool:
        return not self._waiting

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
        return self._start(run, LaunchRun(actor=request.actor) if request.launch else None)

    def actions(self) -> list[WorkflowActionAvailability]:
        """What may be done with the item now, by the rules of the workflow it is pinned to."""
        return list_actions(self._services.store.read(lambda db: case_storage.load(db, self._id)))

    def press(self, wanted: Press) -> Pressed:
        """Take an action, with everything that it does, in one write. Raises refusals, and then nothing has changed."""
        return self._take(lambda case, stamp: press(case, wanted, stamp), wanted)

    def move(self, stage_id: str, actor: str | None) -> Pressed:
        """Take the one action that leads to that stage. Raises `RefusedError` when it needs more than a move says."""
        return self._take(lambda case, stamp: move_to(case, stage_id, actor, stamp), Press(action="", actor=actor))

    def press_and_launch(self, wanted: Press, launch: LaunchRun) -> Future[Run]:
        """Take an action that makes a run, then launch that run; the reply comes when the agent's terminal runs.

        A launch that fails does not undo the action: the run has failed, and the refusal names it.
        """
        run = self.press(wanted).run
        assert run is not None, "only actions that make a run are launched"
        return self._start(run, launch)

    def ask_question(self, request: AskQuestion) -> Question:
        """Store a question, and what the workflow makes of it: usually the run that asks waits from now on."""

        def write(db: Database) -> Asked:
            _check_known(db, request.run_id)
            return self._saved(db, lambda case: ask(case, request, self._stamp()))

        return self._told(self._services.write(write)).question

    def answer_question(self, question_id: str, request: AnswerQuestion) -> Question:
        """The first answer stands and wakes everybody who waits for it; a second is a `ConflictError`."""

        def write(db: Database) -> Asked:
            question = question_storage.QUESTIONS.get(db, question_id)
            return self._saved(db, lambda case: answer(case, question, request, self._stamp()))

        answered = self._told(self._services.write(write)).question
        for waiter in self._waiting.pop(question_id, ()):
            waiter.set(answered)
        return answered

    def await_answer(self, question_id: str) -> Future[Question]:
        """The question once it is answered. Cancel the future to wait no longer."""
        waiter: Future[Question] = Future()
        question = self._question(question_id)
        if question.status == "answered":
            waiter.set(question)
        else:
            self._waiting.setdefault(question_id, []).append(waiter)
            waiter.on_cancel(lambda: self._forget(question_id, waiter))
        return waiter

    def open_gate(self, request: OpenGate) -> GateReport:
        """A pending gate; the one there is already when the same source has asked before."""
        for known in self._services.store.read(lambda db: gate_storage.select(db, work_item_id=self._id)):
            if request.source and known.source == request.source:
                return known
        gate = new_gate(
            request, gate_id=new_id("gate"), project_id=self._project_id, work_item_id=self._id, now=self.clock.now()
        )
        self._services.write(lambda db: gate_storage.GATES.insert(db, gate))
        self._services.changed(gate.id)
        return gate

    def complete_gate(self, gate_id: str, request: CompleteGate) -> GateReport:
        def write(db: Database) -> Judged:
            gate = gate_storage.GATES.get(db, gate_id)
            judged = self._saved(db, lambda case: judge(case, gate, request, self._stamp()))
            gate_storage.complete(db, judged.gate, request.surface)
            return judged

        return self._told(self._services.write(write)).gate

    def _take(self, step: Callable[[Case, Stamp], Taken], wanted: Press) -> Pressed:
        def write(db: Database) -> Taken:
            _check_known(db, wanted.run_id)
            return self._saved(db, lambda case: step(case, self._stamp()))

        taken = self._told(self._services.write(write))
        return Pressed(item=taken.case.item, run=taken.run, artifact=taken.artifact)

    def _saved(self, db: Database, step: Callable[[Case], S]) -> S:
        """Take a step and store it; inside one write, so that two steps at once are one after the other."""
        before = case_storage.load(db, self._id)
        taken = step(before)
        case_storage.save(db, before, taken.case)
        return taken

    def _told(self, taken: S) -> S:
        """Announce what a step has changed, to the runs too: their records may have."""
        for run in taken.case.runs:
            handle = self.system.find(f"run:{run.id}", handle=RunHandle)
            if handle is not None:
                handle.refresh.tell()
        self._services.changed(self._id)
        return taken

    def _stamp(self) -> Stamp:
        return Stamp(self.clock.now(), new_id)

    def _start(self, run: Run, launch: LaunchRun | None) -> Future[Run]:
        handle = self.run(run.id)
        if launch is not None:
            return handle.launch.options(timeout=LAUNCH_SECONDS).remote(launch)
        queued: Future[Run] = Future()
        queued.set(run)
        return queued

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

    def _question(self, question_id: str) -> Question:
        return self._services.store.read(lambda db: question_storage.QUESTIONS.get(db, question_id))

    def _forget(self, question_id: str, waiter: Future[Question]) -> None:
        left = [each for each in self._waiting.get(question_id, ()) if each is not waiter]
        if left:
            self._waiting[question_id] = left
        else:
            self._waiting.pop(question_id, None)


class WorkItemHandle(Handle):
    show: Method[[], WorkItem]
    update: Method[[UpdateItem], WorkItem]
    attach: Method[[AttachToItem], WorkItem]
    bind_worktree: Method[[BindWorktree], WorkItem]
    delete: Method[[DeleteItem], WorkItem]
    run: Method[[str], RunHandle]
    start_run: Method[[StartRun], Run]
    actions: Method[[], list[WorkflowActionAvailability]]
    press: Method[[Press], Pressed]
    move: Method[[str, str | None], Pressed]
    press_and_launch: Method[[Press, LaunchRun], Run]
    ask_question: Method[[AskQuestion], Question]
    answer_question: Method[[str, AnswerQuestion], Question]
    await_answer: Method[[str], Question]
    open_gate: Method[[OpenGate], GateReport]
    complete_gate: Method[[str, CompleteGate], GateReport]


def _load(db: Database, item_id: str) -> tuple[str, list[str]]:
    return item_storage.get(db, item_id).project_id, run_storage.living_of_item(db, item_id)


def _check_known(db: Database, run_id: str) -> None:
    """A run that nobody has is not found; one that is another item's is refused by the step."""
    if run_id:
        run_storage.get(db, run_id)


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
