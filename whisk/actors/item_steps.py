"""The steps of a work item: actions of its workflow, questions about it, gates. Half of the work item's actor.

Each step reads what it needs, takes it by a pure function, and stores what came of it, all inside one write of the
journal. So there is no moment between before and after, two steps at once are one after the other, and nothing that a
failed write would leave wrong is kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from peewee import Database

from whisk.actors.actor import Actor
from whisk.actors.feedback import Feedback
from whisk.actors.future import Future
from whisk.actors.run import RunHandle
from whisk.actors.work_services import WorkServices
from whisk.errors import BusyError, NotFoundError, WhiskError
from whisk.ids import new_id
from whisk.matters.audit import Surface
from whisk.storage import case as case_storage
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage import status as status_storage
from whisk.values import Record
from whisk.work.action import Press, Taken, move_to, press, take
from whisk.work.artifact import Artifact
from whisk.work.availability import WorkflowActionAvailability, completion_of, list_actions
from whisk.work.case import Case, Stamp, find_run, is_dismissed
from whisk.work.gate import CompleteGate, GateReport, OpenGate, new_gate
from whisk.work.inquiry import Asked, Judged, answer, ask, judge
from whisk.work.item import WorkItem
from whisk.work.question import AnswerQuestion, AskQuestion, Question
from whisk.work.run import Run, complete, need_open
from whisk.work.status import StatusEvent

# An agent that a decision has left nothing to do may still print its last words.
CLOSE_SECONDS = 2.0
# At the start of a daemon the post office comes after the work.
MAIL_SECONDS = 1.0

S = TypeVar("S", Taken, Asked, Judged)


class Pressed(Record, frozen=True):
    """The item after an action, and the run and the artifact that the action was about."""

    item: WorkItem
    run: Run | None = None
    artifact: Artifact | None = None


class ItemSteps(Actor):
    """Every refusal of a step leaves everything as it was."""

    def __init__(self, item_id: str, services: WorkServices) -> None:
        super().__init__()
        self._id = item_id
        self._services = services
        self._project_id = ""
        self._waiting: dict[str, list[Future[Question]]] = {}
        self._closing: set[str] = set()

    def actions(self) -> list[WorkflowActionAvailability]:
        """What may be done with the item now, by the rules of the workflow it is pinned to."""
        return list_actions(self._case())

    def press(self, wanted: Press, surface: Surface = "") -> Pressed:
        """Take an action, with everything that it does, in one write."""
        return self._take(lambda case, stamp: press(case, wanted, stamp), wanted, surface)

    def move(self, stage_id: str, actor: str | None, surface: Surface = "") -> Pressed:
        """Take the one action that leads to that stage. Raises `RefusedError` when it needs more than a move says."""
        wanted = Press(action="", actor=actor)
        return self._take(lambda case, stamp: move_to(case, stage_id, actor, stamp), wanted, surface)

    def report_done(self, event: StatusEvent, surface: Surface = "") -> Pressed:
        """`finish_run` by a report, which is stored with it."""
        assert event.run_id is not None, "only what is about a run comes here"
        return self._finish(event.run_id, event.actor, event.message, surface, event)

    def finish_run(self, run_id: str, actor: str | None, message: str, surface: Surface = "") -> Pressed:
        """A run says that it is done: it is completed, and the item moves on if its workflow lets a program do that.

        Raises `RefusedError` for a run that has ended.
        """
        return self._finish(run_id, actor, message, surface, None)

    def _finish(
        self, run_id: str, actor: str | None, message: str, surface: Surface, event: StatusEvent | None
    ) -> Pressed:
        wanted = Press(action="", actor=actor, run_id=run_id, reason=message)
        event_id = new_id("wev")

        def step(case: Case, stamp: Stamp) -> Taken:
            action = completion_of(case, find_run(case, run_id))
            return take(case, action, wanted, stamp) if action is not None else Taken(case)

        def write(db: Database) -> tuple[Taken, Run, WorkItem]:
            if event is not None:
                status_storage.insert(db, event)
            need_open(run_storage.get(db, run_id))
            taken = self._saved(db, lambda case: step(case, self._stamp()))
            if taken.action is None:
                done = partial(complete, actor=actor, message=message, now=self.clock.now())
                run_storage.advance(db, run_id, done, event_id)
            case_storage.audit_action(db, taken, wanted, surface, self.clock.now())
            return taken, run_storage.get(db, run_id), item_storage.get(db, self._id)

        taken, run, item = self._services.write(write)
        self._told(taken)
        return Pressed(item=item, run=run)

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
        question = self._services.store.read(lambda db: question_storage.QUESTIONS.get(db, question_id))
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
        """A person's decision; see `whisk.work.gate.complete_gate`."""

        def write(db: Database) -> Judged:
            gate = gate_storage.GATES.get(db, gate_id)
            judged = self._saved(db, lambda case: judge(case, gate, request, self._stamp()))
            gate_storage.complete(db, judged.gate, request.surface)
            return judged

        return self._told(self._services.write(write)).gate

    # -- inside ------------------------------------------------------------------------------------------------------

    def _case(self) -> Case:
        return self._services.store.read(lambda db: case_storage.load(db, self._id))

    def _take(self, step: Callable[[Case, Stamp], Taken], wanted: Press, surface: Surface) -> Pressed:
        def write(db: Database) -> tuple[Taken, WorkItem]:
            _check_known(db, wanted.run_id)
            taken = self._saved(db, lambda case: step(case, self._stamp()))
            case_storage.audit_action(db, taken, wanted, surface, self.clock.now())
            return taken, item_storage.get(db, self._id)

        taken, item = self._services.write(write)
        self._told(taken)
        if taken.run is not None and taken.artifact is not None and taken.artifact.kind == "feedback":
            # In its own time: the terminal of an agent may take seconds, and who reviews should not wait for it.
            self.spawn_greenlet(self._send_on, taken.run, taken.artifact)
        return Pressed(item=item, run=taken.run, artifact=taken.artifact)

    def _saved(self, db: Database, step: Callable[[Case], S]) -> S:
        """Take a step from what is stored now, and store what came of it."""
        before = case_storage.load(db, self._id)
        taken = step(before)
        case_storage.save(db, before, taken.case)
        return taken

    def _told(self, taken: S) -> S:
        """Announce what a step has changed, to the runs too: their records may have."""
        for run in taken.case.runs:
            handle = self.system.find(f"run:{run.id}", handle=RunHandle)
            if handle is not None:
                try:
                    handle.refresh.tell()
                except BusyError:
                    # Whatever it does next begins with what is stored.
                    continue
        self._close_dismissed(taken.case.runs)
        self._services.changed(self._id)
        return taken

    def _close_dismissed(self, runs: tuple[Run, ...]) -> None:
        """Close the sessions of agents that are done with, in a moment: who asked for it is answered first."""
        for run in runs:
            session_id = run.session_id
            if session_id and is_dismissed(run) and run.exit_code is None and session_id not in self._closing:
                self._closing.add(session_id)
                self.timers.start(f"close {session_id}", CLOSE_SECONDS, self._close, session_id)

    def _close(self, session_id: str) -> None:
        # Terminals take their time to end; the item must not.
        self.spawn_greenlet(self._end_session, session_id)

    def _end_session(self, session_id: str) -> None:
        try:
            self._services.close_session(session_id)
        except NotFoundError:
            # Somebody was faster.
            return
        except WhiskError as error:
            self.log.warning("a session was left open", session=session_id, why=error.message)
        finally:
            self._closing.discard(session_id)

    def _send_on(self, run: Run, artifact: Artifact) -> None:
        try:
            way = Feedback(self.system, self._services.store).deliver(run, artifact)
        except WhiskError as error:
            # It is an artifact of the item in any case; its mail is sent when the item's actor starts the next time.
            self.log.warning("feedback was not sent on", artifact=artifact.id, why=error.message)
        else:
            self.log.info("feedback is on its way", artifact=artifact.id, run=run.id, way=way)

    def _mail_feedback(self) -> None:
        """Send the mail of the newest feedback, if the daemon was killed between the step and the mail."""
        case = self._case()
        artifact = case.artifacts[-1] if case.artifacts else None
        if artifact is None or artifact.kind != "feedback" or artifact.run_id is None:
            return
        run = find_run(case, artifact.run_id)
        try:
            Feedback(self.system, self._services.store).mail(run, artifact)
        except WhiskError as error:
            self.log.warning("feedback was not sent on", artifact=artifact.id, why=error.message)

    def _stamp(self) -> Stamp:
        return Stamp(self.clock.now(), new_id)

    def _forget(self, question_id: str, waiter: Future[Question]) -> None:
        left = [each for each in self._waiting.get(question_id, ()) if each is not waiter]
        if left:
            self._waiting[question_id] = left
        else:
            self._waiting.pop(question_id, None)


def _check_known(db: Database, run_id: str) -> None:
    """A run that nobody has is not found; one that is another item's is refused by the step."""
    if run_id:
        run_storage.get(db, run_id)
