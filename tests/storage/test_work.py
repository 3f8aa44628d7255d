"""Projects, work items, runs, questions and gates in a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from peewee import IntegrityError

from whisk.clock import Instant
from whisk.errors import NotFoundError
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import project as project_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage.database import Store
from whisk.storage.journal import GroupWriter
from whisk.work import run as runs
from whisk.work.gate import OpenGate, new_gate
from whisk.work.item import CreateWorkItem, WorkItem, new_item
from whisk.work.project import CreateProject, Project, new_project
from whisk.work.question import AnswerQuestion, AskQuestion, Question, answer_question, new_question

NOW = Instant(1_800_000_000_000_000_000)
TABLES = [
    *project_storage.MIGRATIONS,
    *item_storage.MIGRATIONS,
    *run_storage.MIGRATIONS,
    *question_storage.MIGRATIONS,
    *gate_storage.MIGRATIONS,
]


def project(number: int) -> Project:
    request = CreateProject(root_dir=f"/src/é{number}", description="一")
    return new_project(request, project_id=f"proj_{number}", now=NOW.plus(number))


def item(number: int, project_id: str = "proj_1") -> WorkItem:
    request = CreateWorkItem(project_id=project_id, title=f"Item {number}", body_markdown="*ü*")
    return new_item(
        request, project(1).workflow, item_id=f"item_{project_id}_{number}", number=number, now=NOW.plus(-number)
    )


def run(number: int, owner: WorkItem, status: runs.RunStatus = "queued") -> runs.Run:
    made = runs.new_run(
        runs.StartRun(work_item_id=owner.id),
        run_id=f"run_{number}",
        project_id=owner.project_id,
        preset="writer",
        template_id="implement",
        prompt="Do",
        now=NOW.plus(number),
    )
    return msgspec.structs.replace(made, status=status, pty_id=f"pty_{number}")


def question(number: int, of: runs.Run) -> Question:
    return new_question(
        AskQuestion(prompt="Which?"),
        question_id=f"q_{number}",
        project_id=of.project_id,
        work_item_id=of.work_item_id,
        run=of,
        now=NOW.plus(number),
    )


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path, migrations=TABLES)
    yield store
    store.close()


@pytest.fixture
def writer(store: Store) -> GroupWriter:
    return GroupWriter(store)


def test_everything_is_there_after_the_file_is_opened_again(path: Path, store: Store, writer: GroupWriter) -> None:
    made = item(1)
    opened = new_gate(OpenGate(name="Ship?"), gate_id="gate_1", project_id="proj_1", work_item_id=made.id, now=NOW)
    writer.write(lambda db: project_storage.PROJECTS.insert(db, project(1)))
    writer.write(lambda db: item_storage.insert(db, made))
    writer.write(lambda db: run_storage.insert(db, run(1, made)))
    writer.write(lambda db: question_storage.QUESTIONS.insert(db, question(1, run(1, made))))
    writer.write(lambda db: gate_storage.GATES.insert(db, opened))
    store.close()
    again = Store.open(path, migrations=TABLES)
    assert again.read(project_storage.select) == [project(1)]
    assert again.read(run_storage.select) == [run(1, made)]
    assert again.read(question_storage.select) == [question(1, run(1, made))]
    assert again.read(gate_storage.select) == [opened]
    [stored] = again.read(item_storage.select)
    assert (stored.title, stored.body_markdown, stored.run_state) == ("Item 1", "*ü*", "queued")
    again.close()


def test_items_come_by_project_and_number(store: Store, writer: GroupWriter) -> None:
    for number in (3, 1, 10, 2):
        writer.write(lambda db, number=number: item_storage.insert(db, item(number)))  # type: ignore[misc]
    writer.write(lambda db: item_storage.insert(db, item(1, "proj_0")))
    listed = store.read(item_storage.select)
    assert [(each.project_id, each.number) for each in listed] == [
        ("proj_0", 1),
        ("proj_1", 1),
        ("proj_1", 2),
        ("proj_1", 3),
        ("proj_1", 10),
    ]
    assert len(store.read(lambda db: item_storage.select(db, "proj_1"))) == 4


def test_a_number_is_given_once_in_a_project(writer: GroupWriter) -> None:
    writer.write(lambda db: item_storage.insert(db, item(1)))
    twin = msgspec.structs.replace(item(1), id="item_other")
    with pytest.raises(IntegrityError):
        writer.write(lambda db: item_storage.insert(db, twin))


def test_the_items_run_state_follows_its_runs_and_survives_a_change_of_the_item(
    store: Store, writer: GroupWriter
) -> None:
    made = item(1)
    writer.write(lambda db: item_storage.insert(db, made))
    first, second = run(1, made), run(2, made)
    writer.write(lambda db: run_storage.insert(db, first))
    writer.write(lambda db: run_storage.insert(db, second))
    writer.write(lambda db: run_storage.update(db, runs.complete(first, "a", "", NOW)))
    # The item wrote itself from what it knew before its run ended.
    writer.write(lambda db: item_storage.update(db, msgspec.structs.replace(made, title="New")))
    stored = store.read(lambda db: item_storage.get(db, made.id))
    assert (stored.title, stored.run_state) == ("New", "completed")
    writer.write(lambda db: run_storage.advance(db, second.id, lambda run: runs.see(run, NOW), "wev_1"))
    assert store.read(lambda db: item_storage.get(db, made.id)).run_state == "completed"


def test_open_runs_are_those_that_have_not_ended(store: Store, writer: GroupWriter) -> None:
    made, other = item(1), item(2)
    statuses: list[runs.RunStatus] = ["queued", "completed", "running", "failed", "awaiting_input", "lost", "cancelled"]
    for number, status in enumerate(statuses):
        writer.write(lambda db, n=number, s=status: run_storage.insert(db, run(n, made, s)))  # type: ignore[misc]
    writer.write(lambda db: run_storage.insert(db, run(9, other)))
    opened = store.read(lambda db: run_storage.select_open(db, work_item_id=made.id))
    assert [each.status for each in opened] == ["queued", "running", "awaiting_input"]
    assert len(store.read(lambda db: run_storage.select_open(db, project_id="proj_1"))) == 4
    assert len(store.read(lambda db: run_storage.select(db, work_item_id=other.id))) == 1


def test_open_questions_of_a_run_are_counted(store: Store, writer: GroupWriter) -> None:
    mine = run(1, item(1))
    for number in (1, 2):
        writer.write(lambda db, n=number: question_storage.QUESTIONS.insert(db, question(n, mine)))  # type: ignore[misc]
    answered = answer_question(question(1, mine), AnswerQuestion(answer="Red"), NOW)
    writer.write(lambda db: question_storage.QUESTIONS.update(db, answered))
    assert store.read(lambda db: question_storage.count_open(db, "run_1")) == 1
    assert store.read(lambda db: question_storage.select(db, status="answered")) == [answered]


@pytest.mark.parametrize("noun", ["project", "work item", "work item run", "question", "gate report"])
def test_an_unknown_id_is_named(store: Store, noun: str) -> None:
    getters = {
        "project": project_storage.PROJECTS.get,
        "work item": item_storage.get,
        "work item run": run_storage.get,
        "question": question_storage.QUESTIONS.get,
        "gate report": gate_storage.GATES.get,
    }
    with pytest.raises(NotFoundError, match=f"^{noun} x_1 not found$"):
        store.read(lambda db: getters[noun](db, "x_1"))


def test_a_late_change_does_not_bring_a_deleted_record_back(store: Store, writer: GroupWriter) -> None:
    made = item(1)
    with pytest.raises(NotFoundError):
        writer.write(lambda db: run_storage.update(db, run(1, made)))
    with pytest.raises(NotFoundError):
        writer.write(lambda db: item_storage.update(db, made))
    assert store.read(run_storage.select) == []
