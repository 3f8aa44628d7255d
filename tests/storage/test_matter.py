"""Matters: every change that somebody may want to hear of is numbered in its own transaction, whoever makes it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.captured import NOW, request
from whisk.bridges.request import answered, close
from whisk.bridges.resolution import Resolution, resolve
from whisk.matters.matter import MATTER_TYPES, Matter, Numbered
from whisk.storage import bridge as bridge_storage
from whisk.storage import item as item_storage
from whisk.storage import matter as matter_storage
from whisk.storage import run as run_storage
from whisk.storage import status as status_storage
from whisk.storage.artifact import ARTIFACTS
from whisk.storage.gate import GATES
from whisk.storage.matter import KEPT
from whisk.storage.question import QUESTIONS
from whisk.storage.statement import run
from whisk.work import run as run_steps
from whisk.work.artifact import Artifact
from whisk.work.gate import GateReport
from whisk.work.item import WorkItem
from whisk.work.question import Question
from whisk.work.run import Run
from whisk.work.status import StatusEvent


def an_item() -> WorkItem:
    return WorkItem(
        id="item_1", project_id="proj_1", workflow_id="w", workflow_version=1, number=1, title="Login",
        body_markdown="", stage_id="todo", run_state="idle", attachments=(), history=(), created_at=NOW, updated_at=NOW,
    )  # fmt: skip


class Book:
    """A database in which things happen, and what is told of them."""

    def __init__(self, post: Any) -> None:
        self.post = post

    def write(self, *changes: Any) -> None:
        for change in changes:
            self.post.writer.write(change)

    def told(self, after: int = 0) -> list[Matter | None]:
        found = self.post.read(lambda db: matter_storage.after(db, after, 100))
        return [self.post.read(lambda db, each=each: matter_storage.tell(db, each)) for each in found]

    def types(self) -> list[str]:
        return [each.type for each in self.post.read(lambda db: matter_storage.after(db, 0, 100))]


@pytest.fixture
def book(post: Any) -> Book:
    return Book(post)


def test_a_prompt_is_told_when_it_opens_and_when_it_closes(book: Book) -> None:
    asked = request("claude", "PermissionRequest-Bash")
    book.write(lambda db: bridge_storage.insert_request(db, asked))
    (opened,) = book.told()
    assert opened is not None
    assert (opened.type, opened.noun, opened.id, opened.needs_person) == ("prompt.opened", "approval", asked.id, True)
    assert opened.title.startswith("Bash: ")
    assert opened.command == f"whisk prompt show {asked.id}"
    closed = close(asked, answered(asked, resolve(asked.ask, Resolution(answer="deny")), NOW.plus(5), "ada"))
    book.write(lambda db: bridge_storage.close_request(db, closed))
    # What was opened is told as it is now.
    again, ended = book.told()
    assert again is not None
    assert ended is not None
    assert (again.type, again.needs_person, again.outcome) == ("prompt.opened", False, "denied")
    assert (ended.type, ended.who, ended.at) == ("prompt.closed", "ada", NOW.plus(5))


def test_what_a_rule_decides_is_no_matter(book: Book) -> None:
    asked = request("claude", "PermissionRequest-Bash")
    decided = close(asked, answered(asked, resolve(asked.ask, Resolution(answer="allow")), NOW, "rule", "pol_1"))
    book.write(lambda db: bridge_storage.insert_request(db, decided))
    assert book.types() == []


def test_a_question_and_its_answer_are_told_without_the_answer(book: Book) -> None:
    asked = Question(
        id="q_1", project_id="proj_1", work_item_id="item_1", prompt="Which\nport?", status="open", created_at=NOW,
        updated_at=NOW, actor="agent",
    )  # fmt: skip
    done = msgspec.structs.replace(asked, status="answered", answer="4711", answered_by="ada", answered_at=NOW.plus(1))
    book.write(lambda db: QUESTIONS.insert(db, asked), lambda db: QUESTIONS.update(db, done))
    assert book.types() == ["question.asked", "question.answered"]
    told = book.told()[1]
    assert told is not None
    assert (told.title, told.outcome, told.who, told.work_item_id) == ("Which port?", "answered", "ada", "item_1")
    assert "4711" not in str(told)


def test_a_gate_is_told_when_it_opens_and_when_it_is_decided(book: Book) -> None:
    gate = GateReport(
        id="gate_1", project_id="proj_1", work_item_id="item_1", name="Ship it?", blocking=True, status="pending",
        created_at=NOW, updated_at=NOW, requested_by="agent",
    )  # fmt: skip
    passed = msgspec.structs.replace(gate, status="passed", completed_by="ada")
    book.write(lambda db: GATES.insert(db, gate))
    book.write(*[lambda db: GATES.update(db, passed)] * 2)
    assert book.types() == ["gate.opened", "gate.completed"]


def test_a_report_of_an_agent_is_told_until_it_is_read(book: Book) -> None:
    event = StatusEvent(
        id="ev_1", scope="run", kind="blocked", message="no network", requires_attention=True, created_at=NOW,
        notification_key="k", notification_severity="warning", run_id="run_1",
    )  # fmt: skip
    book.write(lambda db: status_storage.insert(db, event))
    (told,) = book.told()
    assert told is not None
    assert (told.type, told.outcome, told.needs_person, told.run_id) == ("status.reported", "blocked", True, "run_1")
    book.write(lambda db: status_storage.read(db, "ev_1", NOW))
    assert [each.needs_person for each in book.told() if each] == [False]


def test_a_run_is_told_once_when_it_ends(book: Book) -> None:
    item = an_item()
    started = Run(
        id="run_1", work_item_id="item_1", project_id="proj_1", preset="writer", prompt_template_id="plan",
        prompt_snapshot="", status="running", created_at=NOW, updated_at=NOW, history=(),
    )  # fmt: skip
    done = run_steps.complete(started, "agent", "all green", NOW.plus(9))
    late = msgspec.structs.replace(done, exit_code=0)
    book.write(
        lambda db: item_storage.insert(db, item),
        lambda db: run_storage.insert(db, started),
        lambda db: run_storage.update(db, done),
        lambda db: run_storage.update(db, late),
    )
    (told,) = book.told()
    assert told is not None
    assert (told.type, told.title, told.outcome, told.done) == ("run.ended", "Login", "completed", True)
    assert (told.run_id, told.who) == ("run_1", "agent")


def test_a_draft_waits_for_a_person_until_it_is_decided(book: Book) -> None:
    plan = Artifact(
        id="art_1", project_id="proj_1", work_item_id="item_1", kind="plan", status="draft", created_at=NOW,
        updated_at=NOW, title="Plan", body="First", created_by="agent",
    )  # fmt: skip
    book.write(lambda db: item_storage.insert(db, an_item()), lambda db: ARTIFACTS.insert(db, plan))
    (told,) = book.told()
    assert told is not None
    assert (told.type, told.title, told.needs_person, told.key) == (
        "artifact.drafted",
        "Plan: Login",
        True,
        "plan:item_1",
    )
    book.write(lambda db: ARTIFACTS.update(db, msgspec.structs.replace(plan, status="approved", decided_by="ada")))
    assert [each.needs_person for each in book.told() if each] == [False]


def test_a_work_item_that_is_put_aside_waits_until_it_goes_on(book: Book) -> None:
    aside = msgspec.structs.replace(an_item(), stage_id="blocked", previous_stage_id="todo")
    book.write(lambda db: item_storage.insert(db, an_item()), lambda db: item_storage.update(db, aside))
    (told,) = book.told()
    assert told is not None
    assert (told.type, told.noun, told.outcome, told.needs_person) == ("item.blocked", "item", "blocked", True)
    assert told.command == "whisk work-item show item_1"
    book.write(lambda db: item_storage.update(db, an_item()))
    assert [each.needs_person for each in book.told() if each] == [False]


def test_only_mail_that_escalates_is_a_matter(book: Book) -> None:
    book.post.send(type="status")
    mail = book.post.send(type="escalation", subject="Help", work_item_id="item_1")
    (told,) = book.told()
    assert told is not None
    assert (told.type, told.id, told.title, told.who) == ("mail.escalated", mail.id, "Help", "run:a")


def test_of_what_is_deleted_nothing_is_told(book: Book) -> None:
    asked = request("claude", "PermissionRequest-Bash")
    book.write(lambda db: bridge_storage.insert_request(db, asked), lambda db: run(db, "DELETE FROM bridge_request"))
    assert book.told() == [None]


def test_a_change_that_fails_is_no_matter(book: Book) -> None:
    def write(db: Any) -> None:
        bridge_storage.insert_request(db, request("claude", "PermissionRequest-Bash"))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        book.write(write)
    assert (book.types(), book.post.read(matter_storage.last)) == ([], 0)


def test_old_matters_are_forgotten_and_their_numbers_never_used_again(book: Book) -> None:
    def many(db: Any) -> None:
        for _ in range(KEPT + 150):
            run(db, "INSERT INTO matter (type, id) VALUES ('mail.escalated', 'mail_1')")

    book.write(many)
    read = book.post.read
    assert (read(matter_storage.first), read(matter_storage.last)) == (101, KEPT + 150)
    book.write(lambda db: run(db, "DELETE FROM matter"))
    assert (read(matter_storage.first), read(matter_storage.last)) == (KEPT + 151, KEPT + 150)


def test_every_type_of_matter_can_be_told(book: Book) -> None:
    for number, kind in enumerate(MATTER_TYPES):
        assert (
            book.post.read(lambda db, n=number, k=kind: matter_storage.tell(db, Numbered(seq=n, type=k, id="x")))
            is None
        )
