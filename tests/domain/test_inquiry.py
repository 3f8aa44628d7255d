from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.case_kit import NOW, STAMP, case, executing
from whisk.errors import ConflictError, InvalidError, RefusedError
from whisk.work import run as runs
from whisk.work.case import Case
from whisk.work.definition import BUILTIN
from whisk.work.inquiry import Asked, answer, ask
from whisk.work.question import AnswerQuestion, AskQuestion


def at_work(**policy: Any) -> Case:
    """In execution with a running run, under a question policy that differs so from the built-in one."""
    definition = msgspec.structs.replace(BUILTIN, questions=msgspec.structs.replace(BUILTIN.questions, **policy))
    before = executing()
    run = runs.mark_running(before.runs[-1], session_id="s", pty_id="p", profile_id="claude", actor=None, now=NOW)
    return msgspec.structs.replace(before, definition=definition, runs=(*before.runs[:-1], run), events=())


def asked(before: Case, prompt: str = "Which?", with_run: bool = True) -> Asked:
    run_id = before.runs[-1].id if with_run else ""
    return ask(before, AskQuestion(prompt=prompt, run_id=run_id, actor="agent"), STAMP)


def answered(before: Asked, after: Case | None = None) -> Asked:
    return answer(after or before.case, before.question, AnswerQuestion(answer="This", actor="ann"), STAMP)


def test_a_question_makes_its_run_wait_until_the_last_one_is_answered() -> None:
    first = asked(at_work())
    assert first.case.runs[-1].status == "awaiting_input"
    assert first.question.pty_id == "p"
    second = asked(first.case)
    one = answered(first, second.case)
    assert one.case.runs[-1].status == "awaiting_input"
    left = msgspec.structs.replace(one.case, questions=(second.question,))
    both = answered(second, left)
    assert both.case.runs[-1].status == "running"
    assert [event.type for event in first.case.events] == ["question_asked"]
    assert both.case.events[-1].type == "question_answered"


def test_a_workflow_without_questions_refuses_them() -> None:
    with pytest.raises(RefusedError, match=r"^workflow questions are disabled$"):
        asked(at_work(enabled=False))


@pytest.mark.parametrize(("state", "status"), [("", "running"), ("running", "running"), ("awaiting_input",) * 2])
def test_the_policy_says_what_a_question_does_to_its_run(state: str, status: str) -> None:
    assert asked(at_work(sets_run_state=state)).case.runs[-1].status == status


def test_an_answer_leaves_the_run_waiting_where_the_policy_says_so() -> None:
    before = asked(at_work(answer_clears_awaiting_input_when_no_open_questions_remain=False))
    assert answered(before).case.runs[-1].status == "awaiting_input"


def test_a_question_may_block_its_item() -> None:
    after = asked(at_work(move_to_blocked=True), "No key?").case
    assert (after.item.stage_id, after.item.previous_stage_id) == ("blocked", "execution")
    assert [event.type for event in after.events] == ["question_asked", "blocked"]
    assert after.events[0].at < after.events[1].at
    backlog = msgspec.structs.replace(at_work(move_to_blocked=True), item=case().item)
    assert asked(backlog).case.item.stage_id == "backlog"


def test_a_run_that_has_ended_asks_nothing() -> None:
    before = at_work()
    ended = runs.cancel(before.runs[-1], "ann", "", NOW)
    with pytest.raises(RefusedError, match="already cancelled"):
        asked(msgspec.structs.replace(before, runs=(ended,)))


def test_a_question_of_a_foreign_run_is_invalid_and_one_without_a_run_changes_none() -> None:
    with pytest.raises(InvalidError, match="does not belong"):
        ask(at_work(), AskQuestion(prompt="?", run_id="run_x"), STAMP)
    before = at_work()
    assert asked(before, with_run=False).case.runs is before.runs


def test_the_first_answer_stands() -> None:
    first = answered(asked(at_work()))
    with pytest.raises(ConflictError, match="already answered") as caught:
        answered(first)
    assert caught.value.details["answeredBy"] == "ann"
