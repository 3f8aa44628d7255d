"""Questions about work items: asked by agents, answered by whoever knows, and waited for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from whisk.actors.future import get
from whisk.errors import DeadlineError, InvalidError
from whisk.http.api import Api
from whisk.http.page import Paged
from whisk.http.route import Request, Route
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.values import Record
from whisk.work.question import AnswerQuestion, AskQuestion, Question

_DAY_MS = 86_400_000


class QuestionFilter(Paged, frozen=True):
    work_item_id: str | None = None
    status: Literal["open", "answered"] | None = None


class AnswerWait(Record, frozen=True):
    """How long to wait; 0 answers at once."""

    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=_DAY_MS)] = 30_000


def list_questions(api: Api, request: Request[None, QuestionFilter]) -> list[Question]:
    wanted = request.query
    return api.store.read(
        lambda db: question_storage.select(db, work_item_id=wanted.work_item_id, status=wanted.status, page=wanted.page)
    )


def ask_question(api: Api, request: Request[AskQuestion, None]) -> Question:
    asked = request.body
    if not asked.work_item_id and not asked.run_id:
        raise InvalidError("work item required", field="workItemId")
    item_id = asked.work_item_id or api.store.read(lambda db: run_storage.get(db, asked.run_id)).work_item_id
    return get(api.work.item(item_id).ask_question.remote(asked))


def answer_question(api: Api, request: Request[AnswerQuestion, None]) -> Question:
    question_id = request.path["question_id"]
    return get(api.work.item_of_question(question_id).answer_question.remote(question_id, request.body))


def await_answer(api: Api, request: Request[None, AnswerWait]) -> Question:
    """The question as soon as it is answered, or as it is when the time is over."""
    question_id = request.path["question_id"]
    waiting = api.work.item_of_question(question_id).await_answer.options(timeout=None).remote(question_id)
    try:
        return request.wait(waiting, request.query.timeout_ms / 1000)
    except DeadlineError:
        return api.store.read(lambda db: question_storage.QUESTIONS.get(db, question_id))
    finally:
        waiting.cancel()


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/questions",
        list_questions,
        "List questions",
        query=QuestionFilter,
        reply=list[Question],
        operation="listQuestions",
    ),
    Route(
        "POST",
        "/v1/questions",
        ask_question,
        "Ask a question",
        body=AskQuestion,
        reply=Question,
        status=201,
        operation="askQuestion",
    ),
    Route(
        "POST",
        "/v1/questions/{question_id}/answer",
        answer_question,
        "Answer a question; the first answer stands",
        body=AnswerQuestion,
        reply=Question,
        operation="answerQuestion",
    ),
    Route(
        "GET",
        "/v1/questions/{question_id}/wait",
        await_answer,
        "Wait for the answer to a question",
        query=AnswerWait,
        reply=Question,
        operation="awaitAnswer",
    ),
)
