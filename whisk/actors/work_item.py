"""A work item: its runs are started here, questions about it are asked, answered and waited for, gates are decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from peewee import Database

from whisk.actors.actor import Actor
from whisk.actors.future import Future, get
from whisk.actors.handle import Handle, Method
from whisk.actors.item_end import end_item
from whisk.actors.run import RunActor, RunHandle
from whisk.actors.work_services import WorkServices
from whisk.errors import NotFoundError
from whisk.ids import new_id
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage.project import PROJECTS
from whisk.work.gate import CompleteGate, GateReport, OpenGate, complete_gate, new_gate
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
from whisk.work.question import AnswerQuestion, AskQuestion, Question, answer_question, new_question
from whisk.work.run import LaunchRun, Run, StartRun, check_preset, new_run
from whisk.work.workflow import find_stage

# A work item or run that nobody has spoken to for this long, and that owns nothing alive, gives its memory back.
IDLE_SECONDS = 120.0
# Starting an agent means starting processes; on a loaded machine that takes its time.
LAUNCH_SECONDS = 60.0


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
        project, item = self._services.store.read(lambda db: (PROJECTS.get(db, self._project_id), self._get(db)))
        stage = find_stage(project.workflow, item.stage_id)
        preset = check_preset(request.preset or stage.default_run_preset or "reader")
        template = find_template(request.prompt_template_id or stage.default_prompt_template_id or "plan")
        run = new_run(
            request,
            run_id=new_id("run"),
            project_id=project.id,
            preset=preset,
            template_id=template.id,
            prompt=render(template, project, item),
            now=self.clock.now(),
        )
        self._services.write(lambda db: run_storage.insert(db, run))
        self._services.changed(run.id)
        handle = self.run(run.id)
        if request.launch:
            return handle.launch.options(timeout=LAUNCH_SECONDS).remote(LaunchRun(actor=request.actor))
        queued: Future[Run] = Future()
        queued.set(run)
        return queued

    def ask_question(self, request: AskQuestion) -> Question:
        """Store a question; the run that asks it, if any, waits from now on."""
        run = self._services.store.read(lambda db: run_storage.get(db, request.run_id)) if request.run_id else None
        question = new_question(
            request,
            question_id=new_id("q"),
            project_id=self._project_id,
            work_item_id=self._id,
            run=run,
            now=self.clock.now(),
        )
        if run is not None:
            get(self.run(run.id).ask.remote(question))
        else:
            self._services.write(lambda db: question_storage.QUESTIONS.insert(db, question))
        self._services.changed(question.id)
        return question

    def answer_question(self, question_id: str, request: AnswerQuestion) -> Question:
        """The first answer stands and wakes everybody who waits for it; a second is a `ConflictError`."""
        question = self._question(question_id)
        if question.run_id is not None:
            answered = get(self.run(question.run_id).answer.remote(question_id, request))
        else:
            answered = answer_question(question, request, self.clock.now())
            self._services.write(lambda db: question_storage.QUESTIONS.update(db, answered))
        self._services.changed(question_id)
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
        gate = self._services.store.read(lambda db: gate_storage.GATES.get(db, gate_id))
        done = complete_gate(gate, request, self.clock.now())
        self._services.write(lambda db: gate_storage.complete(db, done, request.surface))
        self._services.changed(gate_id)
        return done

    def _change(self, change: Callable[[WorkItem], WorkItem]) -> WorkItem:
        """Store the changed item, then announce it; a change that returns the very same record stores nothing."""
        item = self.show()
        changed = change(item)
        if changed is not item:
            self._services.write(lambda db: item_storage.update(db, changed))
            self._services.changed(self._id)
        return changed

    def _get(self, db: Database) -> WorkItem:
        return item_storage.get(db, self._id)

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
    ask_question: Method[[AskQuestion], Question]
    answer_question: Method[[str, AnswerQuestion], Question]
    await_answer: Method[[str], Question]
    open_gate: Method[[OpenGate], GateReport]
    complete_gate: Method[[str, CompleteGate], GateReport]


def _load(db: Database, item_id: str) -> tuple[str, list[str]]:
    return item_storage.get(db, item_id).project_id, run_storage.living_of_item(db, item_id)
