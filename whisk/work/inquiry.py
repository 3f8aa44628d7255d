"""Asking and answering as steps of a work item: what its workflow makes of a question, and of a gate's decision."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from whisk.errors import RefusedError
from whisk.work import run as runs
from whisk.work.availability import reason_against
from whisk.work.case import Case, Stamp, find_run, move, put, report
from whisk.work.gate import CompleteGate, GateReport, complete_gate
from whisk.work.question import AnswerQuestion, AskQuestion, Question, answer_question, new_question
from whisk.work.run import Run


class Asked(NamedTuple):
    case: Case
    question: Question


class Judged(NamedTuple):
    case: Case
    gate: GateReport


def ask(case: Case, request: AskQuestion, stamp: Stamp) -> Asked:
    """Ask; the run that asks waits from now on, and the item is blocked, if the workflow says so.

    Raises `RefusedError` where the workflow takes no questions, or when the run has ended; `InvalidError` for a run of
    another item or no text.
    """
    policy = case.definition.questions
    if not policy.enabled:
        raise RefusedError("workflow questions are disabled", workItem=case.item.id)
    run = find_run(case, request.run_id) if request.run_id else None
    question = new_question(
        request,
        question_id=stamp.new_id("q"),
        project_id=case.project.id,
        work_item_id=case.item.id,
        run=run,
        now=stamp.now,
    )
    after = msgspec.structs.replace(case, questions=put(case.questions, question))
    if run is not None:
        after = _with_run(after, _asking(case, run, question, stamp))
    after = report(after, "question_asked", stamp, actor=question.actor, run_id=question.run_id)
    if policy.move_to_blocked:
        after = _block(after, question, stamp)
    return Asked(after, question)


def answer(case: Case, question: Question, request: AnswerQuestion, stamp: Stamp) -> Asked:
    """The first answer stands (`ConflictError`). With the last one that was missing, the run goes on if the workflow
    says so; what had been blocked stays so until somebody unblocks it.
    """
    answered = answer_question(question, request, stamp.now)
    after = msgspec.structs.replace(case, questions=put(case.questions, answered))
    left = any(each.run_id == question.run_id and each.id != question.id for each in case.questions)
    clears = case.definition.questions.answer_clears_awaiting_input_when_no_open_questions_remain
    if question.run_id is not None and clears and not left:
        run = find_run(case, question.run_id)
        after = _with_run(after, runs.resume(run, answered.answered_by, stamp.now))
    after = report(after, "question_answered", stamp, actor=answered.answered_by, run_id=question.run_id)
    return Asked(after, answered)


def judge(case: Case, gate: GateReport, request: CompleteGate, stamp: Stamp) -> Judged:
    """A person decides about a gate; see `complete_gate` for who may and how often."""
    done = complete_gate(gate, request, stamp.now)
    after = msgspec.structs.replace(case, gates=put(case.gates, done))
    message = f"{done.name} {done.status}" + (f": {done.override_reason}" if done.override_reason else "")
    after = report(after, "gate_completed", stamp, actor=done.completed_by, run_id=done.run_id, message=message)
    return Judged(after, done)


def _asking(case: Case, run: Run, question: Question, stamp: Stamp) -> Run:
    waiting = runs.await_input(run, question.actor, question.prompt, stamp.now)
    match case.definition.questions.sets_run_state:
        case "awaiting_input":
            return waiting
        case "running":
            return runs.resume(run, question.actor, stamp.now)
        case _:
            return run


def _block(case: Case, question: Question, stamp: Stamp) -> Case:
    """Off to the side stage that leads from here, where there is one."""
    here = case.item.stage_id
    ways = [each for each in case.definition.actions if each.side_stage and here in each.from_stages]
    if not ways or reason_against(case, ways[0]):
        return case
    moved = move(case, ways[0], question.actor, question.prompt, stamp.now)
    return report(moved, "blocked", stamp, actor=question.actor, run_id=question.run_id, message=question.prompt)


def _with_run(case: Case, run: Run) -> Case:
    return msgspec.structs.replace(case, runs=put(case.runs, run))
