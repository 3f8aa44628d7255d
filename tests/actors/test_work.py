"""Projects, work items and runs: real actors over a real journal; only the agent's terminal is stood in for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import msgspec
import pytest

from tests.work_desk import Desk
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.errors import ConflictError, InvalidError, NotFoundError, RefusedError, SpawnError
from whisk.storage import gate as gate_storage
from whisk.storage import item as item_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage import terminal as terminal_storage
from whisk.work.gate import CompleteGate, OpenGate
from whisk.work.item import CreateWorkItem
from whisk.work.question import AnswerQuestion, AskQuestion
from whisk.work.run import LaunchRun
from whisk.work.session import CreateSession
from whisk.work.start import LaunchContext


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


# -- projects and items ---------------------------------------------------------------------------------------------


def test_a_project_is_stored_and_has_an_actor_of_its_name(desk: Desk) -> None:
    made = desk.project()
    assert get(desk.work.project(made.id).show.remote()) == made
    assert desk.system.describe(f"project:{made.id}").labels == {"project": made.id}
    assert desk.changes == [made.id]


def test_items_are_numbered_in_the_order_they_came(desk: Desk) -> None:
    project = desk.project()
    handle = desk.work.project(project.id)
    asked = [handle.create_item.remote(CreateWorkItem(project_id=project.id, title=f"T{n}")) for n in range(20)]
    made = get(asked, timeout=10)
    assert [(each.title, each.number) for each in made] == [(f"T{n}", n + 1) for n in range(20)]
    assert desk.store.read(lambda db: item_storage.select(db, project.id)) == made


def test_a_refused_item_uses_no_number_up(desk: Desk) -> None:
    project = desk.project()
    handle = desk.work.project(project.id)
    with pytest.raises(InvalidError):
        get(handle.create_item.remote(CreateWorkItem(project_id=project.id, title=" ")))
    assert get(handle.create_item.remote(CreateWorkItem(project_id=project.id, title="T"))).number == 1


@pytest.mark.parametrize("noun", ["project", "item", "run", "item_of_question", "item_of_gate"])
def test_an_id_that_nobody_has_is_not_found(desk: Desk, noun: str) -> None:
    with pytest.raises(NotFoundError, match="x_1 not found"):
        getattr(desk.work, noun)("x_1")
    assert [info.name for info in desk.system.list()] == ["events", "journal"]


# -- runs -----------------------------------------------------------------------------------------------------------


def test_a_run_that_is_not_launched_waits_in_the_queue(desk: Desk) -> None:
    item = desk.item()
    run = desk.start(item, actor="ann")
    assert (run.status, run.preset, run.prompt_template_id) == ("queued", "reader", "plan")
    assert "#1: Fix it" in run.prompt_snapshot
    assert desk.stored(run) == run
    assert desk.state(item) == "queued"
    assert desk.launches == []


def test_the_stage_chooses_preset_and_template(desk: Desk) -> None:
    run = desk.start(desk.item(stage_id="review"))
    assert (run.preset, run.prompt_template_id) == ("reviewer", "review")


def test_a_launched_run_has_a_session_made_for_it(desk: Desk) -> None:
    item = desk.item()
    run = desk.start(item, launch=True, agent_profile_id="claude", preset="writer", actor="ann")
    assert (run.status, run.agent_profile_id) == ("running", "claude")
    assert desk.stored(run) == run
    [(order, context)] = desk.launches
    assert (order.name, order.root_dir, order.project_id) == ("#1 Planning - Fix it", "/src/app", item.project_id)
    assert order.initial_pty is not None
    assert order.initial_pty.prompt == run.prompt_snapshot
    assert order.initial_pty.agent_bridge is not None
    assert order.initial_pty.agent_bridge.provider == "claude"
    assert (context.run_id, context.work_item_id, context.actor) == (run.id, item.id, "agent")
    assert desk.system.describe(f"run:{run.id}").parent == f"work-item:{item.id}"
    assert desk.state(item) == "running"


def test_a_shell_gets_no_bridge_and_no_text_of_the_item_to_run_as_commands(desk: Desk) -> None:
    run = desk.start(desk.item(), launch=True, agent_profile_id="plain-shell")
    order = desk.launches[0][0].initial_pty
    assert order is not None
    assert (order.agent_bridge, order.prompt) == (None, "")
    assert run.prompt_snapshot


def test_a_launch_that_is_refused_fails_the_run_and_says_why(desk: Desk) -> None:
    item = desk.item()
    desk.refusal = SpawnError("claude is not installed")
    with pytest.raises(SpawnError, match="claude is not installed"):
        desk.start(item, launch=True)
    [run] = desk.store.read(run_storage.select)
    assert (run.status, run.history[-1].message) == ("failed", "launch failed: claude is not installed")
    assert desk.state(item) == "failed"


def test_an_unknown_profile_fails_the_run(desk: Desk) -> None:
    with pytest.raises(InvalidError, match='unknown agent profile "nobody"'):
        desk.start(desk.item(), launch=True, agent_profile_id="nobody")
    assert [run.status for run in desk.store.read(run_storage.select)] == ["failed"]


@pytest.mark.parametrize("fields", [{"preset": "boss"}, {"prompt_template_id": "dance"}])
def test_a_run_of_an_unknown_kind_is_refused_and_not_stored(desk: Desk, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidError):
        desk.start(desk.item(), **fields)
    assert desk.store.read(run_storage.select) == []


def test_a_queued_run_is_launched_later_and_only_once(desk: Desk) -> None:
    run = desk.start(desk.item(), agent_profile_id="codex")
    handle = desk.work.run(run.id)
    assert get(handle.launch.remote(LaunchRun())).agent_profile_id == "codex-plan"
    with pytest.raises(RefusedError, match="is running, not queued"):
        get(handle.launch.remote(LaunchRun()))
    assert len(desk.launches) == 1


def test_worker_done_ends_the_run_once(desk: Desk) -> None:
    item = desk.item()
    run = desk.start(item, launch=True)
    handle = desk.work.item(item.id)
    asked = [handle.finish_run.remote(run.id, "agent", f"done {n}") for n in range(5)]
    outcomes = [future.error() if future.done() else _outcome(future) for future in asked]
    assert [type(each) for each in outcomes[1:]] == [RefusedError] * 4
    assert (desk.stored(run).status, desk.stored(run).history[-1].message) == ("completed", "done 0")
    assert desk.state(item) == "completed"


def test_a_cancelled_run_keeps_its_terminal(desk: Desk) -> None:
    run = desk.start(desk.item(), launch=True)
    cancelled = get(desk.work.run(run.id).cancel.remote("ann"))
    assert (cancelled.status, cancelled.history[-1].actor) == ("cancelled", "ann")
    record = desk.store.read(lambda db: terminal_storage.get(db, str(run.pty_id)))
    assert record.status == "running"


def test_a_heartbeat_is_stored_and_is_no_event(desk: Desk) -> None:
    run = desk.start(desk.item(), launch=True)
    before = len(desk.changes)
    seen = get(desk.work.run(run.id).heartbeat.remote())
    assert seen.last_seen_at is not None
    assert seen.last_seen_at > run.created_at
    assert desk.stored(run).last_seen_at == seen.last_seen_at
    assert len(desk.changes) == before


@pytest.mark.parametrize(
    ("code", "killed", "status"),
    [(0, False, "completed"), (2, False, "failed"), (None, False, "lost"), (9, True, "cancelled")],
)
def test_the_end_of_the_terminal_ends_the_run(desk: Desk, code: int | None, killed: bool, status: str) -> None:
    item = desk.item()
    run = desk.start(item, launch=True)
    handle = desk.work.run(run.id)
    handle.pty_ended.tell(desk.end_terminal(str(run.pty_id), code, killed=killed))
    ended = get(handle.show.remote())
    assert (ended.status, ended.exit_code) == (status, -1 if code is None else code)
    assert desk.stored(run) == ended
    assert desk.state(item) == status


def test_the_end_of_some_other_terminal_means_nothing_to_a_run(desk: Desk) -> None:
    first, second = desk.start(desk.item(), launch=True), desk.start(desk.item(), launch=True)
    handle = desk.work.run(first.id)
    handle.pty_ended.tell(desk.end_terminal(str(second.pty_id), 0))
    assert get(handle.show.remote()).status == "running"


# -- questions and gates --------------------------------------------------------------------------------------------


def test_a_question_makes_its_run_wait_and_the_answer_lets_it_go_on(desk: Desk) -> None:
    item = desk.item()
    run = desk.start(item, launch=True)
    handle = desk.work.item(item.id)
    first = get(handle.ask_question.remote(AskQuestion(prompt="A?", run_id=run.id, actor="agent")))
    second = get(handle.ask_question.remote(AskQuestion(prompt="B?", run_id=run.id, actor="agent")))
    assert (first.session_id, first.pty_id) == (run.session_id, run.pty_id)
    assert desk.state(item) == "awaiting_input"
    get(handle.answer_question.remote(second.id, AnswerQuestion(answer="b", actor="ann")))
    assert desk.state(item) == "awaiting_input"
    answered = get(handle.answer_question.remote(first.id, AnswerQuestion(answer="a", actor="ann")))
    assert (answered.answer, answered.answered_by) == ("a", "ann")
    assert desk.state(item) == "running"
    assert desk.stored(run).history[-1].type == "resumed"


def test_a_question_may_stand_alone(desk: Desk) -> None:
    item = desk.item()
    asked = get(desk.work.item(item.id).ask_question.remote(AskQuestion(prompt="Why?")))
    handle = desk.work.item_of_question(asked.id)
    assert get(handle.answer_question.remote(asked.id, AnswerQuestion(answer="so"))).status == "answered"
    assert desk.store.read(question_storage.select) == [
        msgspec.structs.replace(
            asked,
            status="answered",
            answer="so",
            answered_at=desk.store.read(question_storage.select)[0].answered_at,
            updated_at=desk.store.read(question_storage.select)[0].updated_at,
        )
    ]


def test_everybody_who_waits_gets_the_answer(desk: Desk) -> None:
    item = desk.item()
    handle = desk.work.item(item.id)
    asked = get(handle.ask_question.remote(AskQuestion(prompt="Why?")))
    waiting = [handle.await_answer.options(timeout=None).remote(asked.id) for _ in range(3)]
    get(handle.answer_question.remote(asked.id, AnswerQuestion(answer="so")))
    assert [each.answer for each in get(waiting)] == ["so"] * 3
    assert get(handle.await_answer.remote(asked.id)).answer == "so"


def test_who_waits_no_longer_leaves_nothing_behind(desk: Desk) -> None:
    item = desk.item()
    handle = desk.work.item(item.id)
    asked = get(handle.ask_question.remote(AskQuestion(prompt="Why?")))
    waiting = [handle.await_answer.options(timeout=None).remote(asked.id) for _ in range(2)]
    assert get(handle.show.remote()).id == item.id
    assert desk.system.describe(f"work-item:{item.id}").facts["awaitedQuestions"] == 1
    for each in waiting:
        each.cancel()
    assert desk.system.describe(f"work-item:{item.id}").facts["awaitedQuestions"] == 0


def test_two_answers_at_once_have_one_winner(desk: Desk) -> None:
    item = desk.item()
    run = desk.start(item, launch=True)
    handle = desk.work.item(item.id)
    for _ in range(20):
        asked = get(handle.ask_question.remote(AskQuestion(prompt="Which?", run_id=run.id)))
        pair = [handle.answer_question.remote(asked.id, AnswerQuestion(answer=text, actor=text)) for text in "ab"]
        outcomes = [_outcome(each) for each in pair]
        assert sorted(type(each).__name__ for each in outcomes) == ["ConflictError", "Question"]
        [loser] = [each for each in outcomes if isinstance(each, ConflictError)]
        winner = desk.store.read(lambda db, id=asked.id: question_storage.QUESTIONS.get(db, id))  # type: ignore[misc]
        assert loser.details["answeredBy"] == winner.answered_by


def test_a_run_that_has_ended_asks_nothing(desk: Desk) -> None:
    item = desk.item()
    run = desk.start(item, launch=True)
    get(desk.work.run(run.id).cancel.remote(None))
    with pytest.raises(RefusedError, match="already cancelled"):
        get(desk.work.item(item.id).ask_question.remote(AskQuestion(prompt="?", run_id=run.id)))
    assert desk.store.read(question_storage.select) == []


def test_a_run_of_another_item_is_refused(desk: Desk) -> None:
    run = desk.start(desk.item())
    other = desk.item()
    with pytest.raises(InvalidError, match="does not belong to work item"):
        get(desk.work.item(other.id).ask_question.remote(AskQuestion(prompt="?", run_id=run.id)))


def test_a_gate_is_opened_and_decided_once(desk: Desk) -> None:
    item = desk.item()
    opened = get(desk.work.item(item.id).open_gate.remote(OpenGate(name="Ship?", actor="agent")))
    handle = desk.work.item_of_gate(opened.id)
    outcomes = [
        _outcome(each)
        for each in [handle.complete_gate.remote(opened.id, CompleteGate(status="passed", actor="ann")) for _ in "ab"]
    ]
    assert [type(each).__name__ for each in outcomes] == ["GateReport", "ConflictError"]
    assert [gate.status for gate in desk.store.read(gate_storage.select)] == ["passed"]


def test_mail_that_is_handled_again_after_a_crash_opens_no_second_gate(desk: Desk) -> None:
    handle = desk.work.item(desk.item().id)
    first = get(handle.open_gate.remote(OpenGate(name="Ship?", source="mail_1")))
    get(handle.complete_gate.remote(first.id, CompleteGate(status="passed", actor="ann")))
    assert get(handle.open_gate.remote(OpenGate(name="Ship?", source="mail_1"))).status == "passed"
    get(handle.open_gate.remote(OpenGate(name="Ship?", source="mail_2")))
    get(handle.open_gate.remote(OpenGate(name="Ship?")))
    get(handle.open_gate.remote(OpenGate(name="Ship?")))
    assert len(desk.store.read(gate_storage.select)) == 4


# -- crashes and restarts -------------------------------------------------------------------------------------------


def test_a_daemon_that_was_killed_finds_its_open_work_again(desk: Desk) -> None:
    item, quiet = desk.item(), desk.item()
    run = desk.start(item, launch=True)
    asked = get(desk.work.item(item.id).ask_question.remote(AskQuestion(prompt="Why?", run_id=run.id)))
    desk.crash()
    desk.open(ActorSystem("next"))
    desk.work.start()
    assert get(desk.work.run(run.id).show.remote()).status == "awaiting_input"
    names = {info.name for info in desk.system.list()}
    assert {f"project:{quiet.project_id}", f"run:{run.id}", f"work-item:{item.id}"} <= names
    assert f"work-item:{quiet.id}" not in names
    get(desk.work.item_of_question(asked.id).answer_question.remote(asked.id, AnswerQuestion(answer="so")))
    assert desk.state(item) == "running"


@pytest.mark.parametrize(("code", "status"), [(0, "completed"), (3, "failed")])
def test_a_terminal_that_ended_while_no_daemon_ran_ends_its_run_at_the_next_start(
    desk: Desk, code: int, status: str
) -> None:
    run = desk.start(desk.item(), launch=True)
    desk.end_terminal(str(run.pty_id), code)
    desk.crash()
    desk.open(ActorSystem("next"))
    desk.work.start()
    assert get(desk.work.run(run.id).show.remote()).status == status


def test_a_launch_that_was_cut_short_before_it_was_recorded_is_found_by_its_terminal(desk: Desk) -> None:
    item = desk.item()
    run = desk.start(item)
    made = desk.launch(CreateSession(root_dir="/src/app"), LaunchContext(run_id=run.id))
    desk.crash()
    desk.open(ActorSystem("next"))
    desk.work.start()
    found = get(desk.work.run(run.id).show.remote())
    assert (found.status, found.pty_id, found.session_id) == ("running", made.pty_id, made.session.id)


def test_a_running_run_whose_terminal_nobody_knows_is_lost(desk: Desk) -> None:
    run = desk.start(desk.item(), launch=True)
    get(desk.journal.write.remote(lambda db: terminal_storage.delete(db, str(run.pty_id))))
    desk.crash()
    desk.open(ActorSystem("next"))
    desk.work.start()
    assert get(desk.work.run(run.id).show.remote()).status == "lost"


def test_a_run_actor_that_crashes_goes_on_from_storage(desk: Desk) -> None:
    run = desk.start(desk.item(), launch=True)
    get(desk.system.restart(f"run:{run.id}"))
    assert get(desk.work.run(run.id).show.remote()) == run
    assert get(desk.work.run(run.id).cancel.remote("ann")).status == "cancelled"


def test_actors_that_own_nothing_give_their_memory_back(
    system: ActorSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whisk.actors.work_item.IDLE_SECONDS", 0.05)
    monkeypatch.setattr("whisk.actors.project.IDLE_SECONDS", 0.05)
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    item, busy = desk.item(), desk.item()
    done, running = desk.start(item), desk.start(busy, launch=True)
    get(desk.work.run(done.id).cancel.remote(None))
    ended = []
    for name in (f"run:{done.id}", f"work-item:{item.id}"):
        system.watch(name, ended.append)
    with gevent.Timeout(10):
        while len(ended) < 2:
            gevent.sleep(0.01)
    names = system.names()
    assert {f"run:{running.id}", f"work-item:{busy.id}"} <= set(names)
    # They are there again when somebody asks.
    assert get(desk.work.run(done.id).show.remote()).status == "cancelled"
    system.close(timeout=5.0)
    desk.store.close()


def _outcome(future: Any) -> Any:
    try:
        return future.get(timeout=10)
    except Exception as error:  # noqa: BLE001  the error is the outcome
        return error
