from __future__ import annotations

import pytest

from whisk.clock import Instant
from whisk.errors import ConflictError, InvalidError, RefusedError, TooLargeError
from whisk.work import run as runs
from whisk.work.gate import CompleteGate, GateReport, OpenGate, complete_gate, new_gate
from whisk.work.person import is_person
from whisk.work.question import AnswerQuestion, AskQuestion, Question, answer_question, new_question

NOW = Instant(1_800_000_000_000_000_000)
LATER = NOW.plus(5)
RUN = runs.mark_running(
    runs.new_run(
        runs.StartRun(work_item_id="item_1"),
        run_id="run_1",
        project_id="proj_1",
        preset="writer",
        template_id="implement",
        prompt="",
        now=NOW,
    ),
    session_id="sess_1",
    pty_id="pty_1",
    profile_id="claude",
    actor=None,
    now=NOW,
)


def ask(prompt: str = "Which?", work_item_id: str = "item_1", run: runs.Run | None = RUN, **fields: str) -> Question:
    return new_question(
        AskQuestion(prompt=prompt, **fields),
        question_id="q_1",
        project_id="proj_1",
        work_item_id=work_item_id,
        run=run,
        now=NOW,
    )


def test_a_question_takes_session_and_terminal_from_its_run() -> None:
    asked = ask(" Which? ", actor="agent")
    assert (asked.prompt, asked.status, asked.actor) == ("Which?", "open", "agent")
    assert (asked.run_id, asked.session_id, asked.pty_id) == ("run_1", "sess_1", "pty_1")
    assert ask(pty_id="pty_9").pty_id == "pty_9"


def test_a_question_may_have_no_run() -> None:
    assert ask(run=None).run_id is None


def test_a_run_of_another_item_is_refused() -> None:
    with pytest.raises(InvalidError, match="work item run run_1 does not belong to work item item_2"):
        ask(work_item_id="item_2")


@pytest.mark.parametrize("prompt", ["", "  \n", "a\0", "\ud800"])
def test_a_question_needs_a_prompt_that_can_be_stored(prompt: str) -> None:
    with pytest.raises(InvalidError):
        ask(prompt)
    with pytest.raises(TooLargeError):
        ask("x" * 65_537)


def test_the_first_answer_stands() -> None:
    answered = answer_question(ask(), AnswerQuestion(answer=" Red ", actor="ann"), LATER)
    assert (answered.status, answered.answer, answered.answered_by, answered.answered_at) == (
        "answered",
        "Red",
        "ann",
        LATER,
    )
    with pytest.raises(ConflictError) as caught:
        answer_question(answered, AnswerQuestion(answer="Blue", actor="bob"), LATER)
    assert caught.value.details == {"question": "q_1", "answer": "Red", "answeredBy": "ann"}


def test_an_empty_answer_is_refused() -> None:
    with pytest.raises(InvalidError, match="question answer required"):
        answer_question(ask(), AnswerQuestion(answer="  "), LATER)


def gate() -> GateReport:
    request = OpenGate(name="Ship it?", run_id="run_1", reason="see #7", actor="agent")
    return new_gate(request, gate_id="gate_1", project_id="proj_1", work_item_id="item_1", now=NOW)


def test_a_gate_opens_pending_and_blocking() -> None:
    opened = gate()
    assert (opened.status, opened.blocking, opened.requested_by, opened.reason) == ("pending", True, "agent", "see #7")


def test_a_person_completes_a_gate_once() -> None:
    passed = complete_gate(gate(), CompleteGate(status="passed", actor="ann"), LATER)
    assert (passed.status, passed.completed_by, passed.completed_at) == ("passed", "ann", LATER)
    with pytest.raises(ConflictError, match="already passed"):
        complete_gate(passed, CompleteGate(status="failed", actor="bob"), LATER)


def test_a_failed_gate_may_be_passed_later() -> None:
    failed = complete_gate(gate(), CompleteGate(status="failed", actor="ann"), LATER)
    assert complete_gate(failed, CompleteGate(status="passed", actor="ann"), LATER).status == "passed"


def test_an_override_needs_a_reason() -> None:
    with pytest.raises(InvalidError, match="override reason required"):
        complete_gate(gate(), CompleteGate(status="overridden", actor="ann"), LATER)
    request = CompleteGate(status="overridden", override_reason="hotfix", actor="ann")
    assert complete_gate(gate(), request, LATER).override_reason == "hotfix"


@pytest.mark.parametrize("actor", [None, "", " ", "agent", "Agent:claude", "plugin:x", "daemon", "runtime"])
def test_a_program_cannot_complete_a_gate(actor: str | None) -> None:
    assert not is_person(actor)
    with pytest.raises(RefusedError, match="gate completion requires human actor"):
        complete_gate(gate(), CompleteGate(status="passed", actor=actor), LATER)


@pytest.mark.parametrize("status", ["", "pending", "approved"])
def test_an_unknown_decision_is_refused(status: str) -> None:
    with pytest.raises(InvalidError, match="passed, failed or overridden"):
        complete_gate(gate(), CompleteGate(status=status, actor="ann"), LATER)
