"""A question about a work item, asked by an agent through the CLI and answered by whoever knows."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from whisk.clock import Instant
from whisk.errors import ConflictError, InvalidError
from whisk.values import Record, check_text
from whisk.work.person import check_actor
from whisk.work.run import Run

TEXT_LIMIT = 65_536
QuestionStatus = Literal["open", "answered"]


class Question(Record, frozen=True):
    id: str
    project_id: str
    work_item_id: str
    prompt: str
    status: QuestionStatus
    created_at: Instant
    updated_at: Instant
    run_id: str | None = None
    session_id: str | None = None
    pty_id: str | None = None
    answer: str | None = None
    actor: str | None = None
    answered_by: str | None = None
    answered_at: Instant | None = None


class AskQuestion(Record, frozen=True):
    """The work item may be left to the run."""

    wire_name: ClassVar[str] = "AskQuestionRequest"

    prompt: str
    work_item_id: str = ""
    run_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    actor: str | None = None


class AnswerQuestion(Record, frozen=True):
    wire_name: ClassVar[str] = "AnswerQuestionRequest"

    answer: str
    actor: str | None = None
    id: str = ""


def new_question(
    request: AskQuestion, *, question_id: str, project_id: str, work_item_id: str, run: Run | None, now: Instant
) -> Question:
    """An open question. Session and terminal default to the run's. Raises `InvalidError`."""
    if run is not None and run.work_item_id != work_item_id:
        raise InvalidError(f"work item run {run.id} does not belong to work item {work_item_id}", field="runId")
    return Question(
        id=question_id,
        project_id=project_id,
        work_item_id=work_item_id,
        prompt=check_text(request.prompt.strip(), "question prompt", limit=TEXT_LIMIT, empty=False),
        status="open",
        created_at=now,
        updated_at=now,
        run_id=run.id if run is not None else None,
        session_id=check_text(request.session_id, "sessionId", limit=256) or (run.session_id if run else None),
        pty_id=check_text(request.pty_id, "ptyId", limit=256) or (run.pty_id if run else None),
        actor=check_actor(request.actor),
    )


def answer_question(question: Question, request: AnswerQuestion, now: Instant) -> Question:
    """The first answer stands; a second is a `ConflictError` that names the first."""
    if question.status != "open":
        raise ConflictError(
            f"question {question.id} is already answered",
            question=question.id,
            answer=question.answer,
            answeredBy=question.answered_by,
        )
    return msgspec.structs.replace(
        question,
        status="answered",
        answer=check_text(request.answer.strip(), "question answer", limit=TEXT_LIMIT, empty=False),
        answered_by=check_actor(request.actor),
        answered_at=now,
        updated_at=now,
    )
