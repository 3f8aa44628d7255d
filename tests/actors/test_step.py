"""The steps of a work item as its actor takes them: one write each, one winner, nothing in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import msgspec
import pytest
from peewee import Database

from tests.mail_desk import Gate, MailDesk
from tests.work_desk import Desk
from whisk.actors.future import Future, get
from whisk.actors.system import ActorSystem
from whisk.errors import (
    ConflictError,
    DeadlineError,
    DiskFullError,
    NotFoundError,
    RefusedError,
    SpawnError,
)
from whisk.storage import artifact as artifact_storage
from whisk.storage import case as case_storage
from whisk.storage import item as item_storage
from whisk.storage import mail_list
from whisk.storage import run as run_storage
from whisk.storage import workflow_event as event_storage
from whisk.storage.mail_list import MailFilter
from whisk.values import encode
from whisk.work import run as runs
from whisk.work.action import Press
from whisk.work.gate import CompleteGate
from whisk.work.item import WorkItem
from whisk.work.item_change import DeleteItem
from whisk.work.question import AskQuestion
from whisk.work.run import LaunchRun


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


class Way:
    """One item on its way; `press` takes an action as ann, or as whoever is named."""

    def __init__(self, desk: Desk, item: WorkItem) -> None:
        self.desk = desk
        self.id = item.id

    def ask(self, action: str, **fields: Any) -> Future[Any]:
        wanted = Press(**{"action": action, "actor": "ann", **fields})
        return self.desk.work.item(self.id).press.remote(wanted)

    def press(self, action: str, **fields: Any) -> Any:
        return get(self.ask(action, **fields))

    def launched(self, action: str, **fields: Any) -> Any:
        wanted = Press(**{"action": action, "actor": "ann", **fields})
        return get(self.desk.work.item(self.id).press_and_launch.remote(wanted, LaunchRun(actor="ann")))

    def pass_gate(self) -> None:
        [gate] = [each for each in self.case.gates if each.status == "pending"]
        get(self.desk.work.item(self.id).complete_gate.remote(gate.id, CompleteGate(status="passed", actor="ann")))

    @property
    def case(self) -> Any:
        return self.desk.store.read(lambda db: case_storage.load(db, self.id))

    @property
    def everything(self) -> tuple[bytes, ...]:
        """All that is stored about the item."""
        events = self.desk.store.read(lambda db: event_storage.select(db, work_item_id=self.id))
        return (encode(self.case), encode(events))

    def to(self, stage: str) -> Way:
        """On to that stage, by the usual steps."""
        for step in STEPS.values():
            if self.case.item.stage_id == stage:
                break
            step(self)
        return self


def _approve(way: Way) -> Any:
    return way.ask("approve_plan", artifact_id=way.case.artifacts[-1].id)


def _submit(way: Way) -> Any:
    return way.ask("submit_draft_plan", actor="agent", body="The plan", run_id=way.case.runs[-1].id)


def _complete(way: Way) -> Any:
    return way.ask("complete_execution", actor="agent", run_id=way.case.runs[-1].id)


ASKS: dict[str, Callable[[Way], Future[Any]]] = {
    "start_planning": lambda way: way.ask("start_planning"),
    "submit_draft_plan": _submit,
    "approve_plan": _approve,
    "start_execution": lambda way: way.ask("start_execution"),
    "complete_execution": _complete,
    "submit_review_feedback": lambda way: way.ask("submit_review_feedback", body="More"),
    "complete_again": _complete,
    "report_blocked": lambda way: way.ask("report_blocked", actor="agent", reason="No key"),
    "unblock": lambda way: way.ask("unblock"),
    "complete_gate": lambda way: way.desk.work.item(way.id).complete_gate.remote(
        way.case.gates[-1].id, CompleteGate(status="passed", actor="ann")
    ),
    "approve_done": lambda way: way.ask("approve_done"),
}
STEPS: dict[str, Callable[[Way], Any]] = {
    name: (lambda way, ask=ask: get(ask(way))) for name, ask in ASKS.items()
}  # fmt: skip


@pytest.fixture
def way(desk: Desk) -> Way:
    return Way(desk, desk.item())


class Boundaries:
    """Breaks a write at each statement that changes something, as a kill at that moment would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        original = case_storage.save

        def save(db: Database, before: Any, after: Any) -> None:
            execute = db.execute_sql

            def counted(sql: str, *more: Any, **named: Any) -> Any:
                if sql.split(None, 1)[0] in ("INSERT", "UPDATE"):
                    if self.left == 0:
                        raise DiskFullError("the disk is full")
                    self.left -= 1
                return execute(sql, *more, **named)

            monkeypatch.setattr(db, "execute_sql", counted, raising=False)
            try:
                original(db, before, after)
            finally:
                monkeypatch.setattr(db, "execute_sql", execute, raising=False)

        monkeypatch.setattr("whisk.actors.item_steps.case_storage.save", save)


def test_every_step_is_all_or_nothing_wherever_its_write_breaks(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    at = Boundaries(monkeypatch)
    for name, ask in ASKS.items():
        before, broken = way.everything, 0
        while True:
            at.left = broken
            outcome = _outcome(ask(way))
            if not isinstance(outcome, DiskFullError):
                assert not isinstance(outcome, Exception), (name, outcome)
                break
            assert way.everything == before, f"{name} left something behind at statement {broken}"
            broken += 1
        at.left = -1
        assert broken >= 2, f"{name} was not broken anywhere"
        assert way.everything != before
    assert way.case.item.stage_id == "done"


@pytest.mark.parametrize("name", ASKS)
def test_a_step_whose_daemon_is_killed_is_before_or_after(way: Way, name: str) -> None:
    """Killed as soon as the step is asked for, and as soon as it has been answered."""
    desk = way.desk
    for step, take in STEPS.items():
        if step == name:
            break
        take(way)
    before = way.everything
    ASKS[name](way)
    desk.crash()
    desk.open(ActorSystem("next"))
    desk.work.start()
    after = way.everything
    if after == before:
        STEPS[name](way)
        after = way.everything
    desk.crash()
    desk.open(ActorSystem("third"))
    desk.work.start()
    assert way.everything == after != before


def test_a_step_that_fails_leaves_nothing_behind_in_memory(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    way.to("execution")
    run = way.case.runs[-1]
    handle = way.desk.work.run(run.id)
    at = Boundaries(monkeypatch)
    at.left = 1
    with pytest.raises(DiskFullError):
        get(_complete(way))
    assert get(handle.show.remote()).status == "queued"
    at.left = -1
    assert get(_complete(way)).item.stage_id == "review"
    assert get(handle.show.remote()).status == "completed"


# -- two at once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["start_planning", "start_execution", "complete_execution", "unblock"])
def test_two_people_press_one_button_and_one_of_them_is_told(way: Way, name: str) -> None:
    for step, take in STEPS.items():
        if step == name:
            break
        take(way)
    outcomes = [_outcome(each) for each in [ASKS[name](way), ASKS[name](way)]]
    assert sorted(type(each).__name__ for each in outcomes) == ["Pressed", "RefusedError"]
    refusal = next(each for each in outcomes if isinstance(each, RefusedError))
    assert "is not available in stage" in refusal.message


@pytest.mark.parametrize("name", ["approve_plan", "approve_done"])
def test_two_decisions_at_once_have_one_winner_who_is_named(way: Way, name: str) -> None:
    for step, take in STEPS.items():
        if step == name:
            break
        take(way)
    fields = {"artifact_id": way.case.artifacts[-1].id} if name == "approve_plan" else {}
    outcomes = [_outcome(each) for each in [way.ask(name, actor=who, **fields) for who in ("ann", "bob")]]
    winner = next(each for each in outcomes if not isinstance(each, Exception))
    [loser] = [each for each in outcomes if isinstance(each, ConflictError)]
    assert loser.details["by"] == winner.item.history[-1].actor


def test_two_different_buttons_at_once_have_one_winner(way: Way) -> None:
    way.to("review")
    way.pass_gate()
    outcomes = [_outcome(each) for each in [way.ask("approve_done"), way.ask("submit_review_feedback", body="More")]]
    assert [isinstance(each, Exception) for each in outcomes] == [False, True]
    assert "not available in stage done" in str(outcomes[1])
    assert [each.kind for each in way.case.artifacts] == ["plan"]


def test_a_step_whose_answer_comes_too_late_is_not_undone_by_the_next(way: Way) -> None:
    gate = Gate(way.desk.journal)
    slow = way.desk.work.item(way.id).press.options(timeout=0.02)
    with pytest.raises(DeadlineError):
        get(slow.remote(Press(action="start_planning", actor="ann")), timeout=10)
    blocked = way.ask("report_blocked")
    gate.open()
    get(blocked)
    moves = [each.stage_id for each in way.case.item.history if each.type == "stage_moved"]
    assert moves == ["planning", "blocked"]


# -- runs -----------------------------------------------------------------------------------------------------------


def test_a_launch_that_fails_leaves_the_step_and_a_failed_run(way: Way) -> None:
    way.desk.refusal = SpawnError("claude is not installed")
    with pytest.raises(SpawnError, match=r"claude is not installed \(run run_\w+ has failed\)") as caught:
        way.launched("start_planning")
    case = way.case
    assert (case.item.stage_id, case.item.run_state) == ("planning", "failed")
    assert caught.value.details["run"] == case.runs[-1].id
    assert case.runs[-1].history[-1].message == "launch failed: claude is not installed"
    events = way.desk.store.read(event_storage.select)
    assert [(each.type, each.message) for each in events][-1] == (
        "run_failed",
        "launch failed: claude is not installed",
    )


def test_a_run_that_is_called_off_while_its_agent_starts_is_not_revived(way: Way) -> None:
    desk = way.desk
    launch = desk.launch

    def slow(order: Any, context: Any) -> Any:
        made = launch(order, context)
        get(desk.journal.write.remote(lambda db: run_storage.advance(db, context.run_id, _cancelled, "wev_x")))
        return made

    object.__setattr__(desk.services, "launch", slow)
    with pytest.raises(RefusedError, match="is cancelled, not queued"):
        way.launched("start_planning")
    assert way.case.runs[-1].status == "cancelled"
    assert len(desk.closed) == 1


def _cancelled(run: Any) -> Any:
    return runs.cancel(run, "ann", "", run.updated_at)


def test_a_late_sign_of_life_does_not_bring_a_completed_run_back(way: Way) -> None:
    run = way.launched("start_planning")
    handle = way.desk.work.run(run.id)
    get(way.ask("submit_draft_plan", actor="agent", body="The plan", run_id=run.id))
    get(handle.heartbeat.remote())
    assert way.desk.stored(run).status == "completed"


def test_a_run_of_a_late_exit_keeps_what_the_workflow_said(way: Way) -> None:
    run = way.launched("start_planning")
    get(way.ask("submit_draft_plan", actor="agent", body="The plan", run_id=run.id))
    handle = way.desk.work.run(run.id)
    handle.pty_ended.tell(way.desk.end_terminal(str(run.pty_id), 1))
    ended = get(handle.show.remote())
    assert (ended.status, ended.exit_code) == ("completed", 1)


def test_an_agent_that_says_it_is_done_takes_its_item_to_review(way: Way) -> None:
    way.to("ready")
    run = way.launched("start_execution")
    done = get(way.desk.work.item(way.id).finish_run.remote(run.id, f"run:{run.id}", "Built", "mail"))
    assert (done.item.stage_id, done.run.status) == ("review", "completed")
    assert [gate.status for gate in way.case.gates] == ["pending"]


def test_a_planner_that_says_it_is_done_leaves_its_item_where_it_is(way: Way) -> None:
    run = way.launched("start_planning")
    done = get(way.desk.work.item(way.id).finish_run.remote(run.id, f"run:{run.id}", "Read it all", "mail"))
    assert (done.item.stage_id, done.run.status) == ("planning", "completed")


# -- sessions -------------------------------------------------------------------------------------------------------


def closed(desk: Desk, count: int) -> list[str]:
    """Wait until so many sessions have been closed."""
    with gevent.Timeout(10):
        while len(desk.closed) < count:
            gevent.sleep(0.005)
    return desk.closed


def test_a_planners_session_is_open_after_its_plan_and_closed_when_that_is_approved(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whisk.actors.item_steps.CLOSE_SECONDS", 0.01)
    run = way.launched("start_planning")
    plan = get(way.ask("submit_draft_plan", actor="agent", body="The plan", run_id=run.id)).artifact
    assert way.desk.stored(run).status == "completed"
    assert way.desk.system.describe(f"work-item:{way.id}").facts["closing"] == 0
    way.press("approve_plan", artifact_id=plan.id)
    assert closed(way.desk, 1) == [run.session_id]
    assert way.desk.stored(run).status == "completed"


def test_an_executors_session_stays_for_the_review_and_is_closed_when_the_work_is_approved(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whisk.actors.item_steps.CLOSE_SECONDS", 0.01)
    way.to("ready")
    run = way.launched("start_execution")
    way.press("complete_execution", actor="agent", run_id=run.id)
    way.pass_gate()
    assert way.desk.closed == []
    way.press("approve_done")
    assert closed(way.desk, 1) == [run.session_id]


def test_a_session_that_was_bound_by_hand_is_left_alone(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whisk.actors.item_steps.CLOSE_SECONDS", 0.0)
    run = way.press("start_planning", session_id="sess_mine", pty_id="pty_mine").run
    plan = get(way.ask("submit_draft_plan", body="The plan", run_id=run.id)).artifact
    way.press("approve_plan", artifact_id=plan.id)
    assert way.desk.system.describe(f"work-item:{way.id}").facts["closing"] == 0
    assert not way.case.runs[0].metadata.get("whisk.workflow/dismissed")


def test_a_session_that_was_to_be_closed_when_the_daemon_was_killed_is_closed_by_the_next(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = way.launched("start_planning")
    plan = get(way.ask("submit_draft_plan", actor="agent", body="The plan", run_id=run.id)).artifact
    way.press("approve_plan", artifact_id=plan.id)
    way.desk.crash()
    monkeypatch.setattr("whisk.actors.item_steps.CLOSE_SECONDS", 0.01)
    way.desk.open(ActorSystem("next"))
    way.desk.work.start()
    assert closed(way.desk, 1) == [run.session_id]


def test_a_feedback_goes_on_in_the_terminal_that_still_runs(way: Way) -> None:
    way.to("ready")
    run = way.launched("start_execution")
    way.press("complete_execution", actor="agent", run_id=run.id)
    again = way.press("submit_review_feedback", body="More").run
    assert (again.id, again.status, again.pty_id) == (run.id, "running", run.pty_id)
    assert way.case.item.run_state == "running"


def test_a_feedback_to_an_agent_that_has_ended_queues_its_run_to_be_launched_again(way: Way) -> None:
    way.to("ready")
    run = way.launched("start_execution")
    handle = way.desk.work.run(run.id)
    handle.pty_ended.tell(way.desk.end_terminal(str(run.pty_id), 0))
    assert get(handle.show.remote()).status == "completed"
    way.press("complete_execution", actor="agent", run_id=run.id)
    assert way.press("submit_review_feedback", body="Handle errors").run.status == "queued"
    relaunched = get(way.desk.work.run(run.id).launch.remote(LaunchRun()))
    assert (relaunched.status, relaunched.pty_id != run.pty_id) == ("running", True)
    order = way.desk.launches[-1][0].initial_pty
    assert order is not None
    assert "Handle errors" in order.prompt


def test_a_relaunch_that_was_cut_short_is_found_by_its_terminal(way: Way) -> None:
    way.to("ready")
    run = way.launched("start_execution")
    way.desk.work.run(run.id).pty_ended.tell(way.desk.end_terminal(str(run.pty_id), 0))
    way.press("complete_execution", actor="ann", run_id=run.id)
    way.press("submit_review_feedback", body="More")
    order, context = way.desk.launches[-1]
    made = way.desk.launch(order, context)
    way.desk.crash()
    way.desk.open(ActorSystem("next"))
    way.desk.work.start()
    found = get(way.desk.work.run(run.id).show.remote())
    assert (found.status, found.pty_id) == ("running", made.pty_id)


def test_feedback_whose_mail_was_not_sent_before_a_kill_is_sent_by_the_next_daemon_once(
    system: ActorSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = MailDesk(system, tmp_path / "whisk.sqlite3")
    way = Way(desk, desk.item()).to("ready")
    run = way.launched("start_execution")
    way.press("complete_execution", actor="agent", run_id=run.id)
    # Without a post office the mail cannot be sent, which does not keep the step from being taken.
    get(desk.system.stop("post-office"))
    way.press("submit_review_feedback", body="More")
    monkeypatch.setattr("whisk.actors.work_item.MAIL_SECONDS", 0.02)
    for life, counted in (("second", "sent"), ("third", "repeated")):
        desk.crash()
        desk.open(ActorSystem(life))
        desk.work.start()
        with gevent.Timeout(10):
            while not desk.system.describe("post-office").facts.get(counted):
                gevent.sleep(0.005)
        [sent] = desk.store.read(lambda db: mail_list.select(db, MailFilter()))
        assert (sent.subject, sent.body, sent.run_id) == ("Review feedback", "More", run.id)
    desk.system.close(timeout=5.0)
    desk.store.close()


# -- the rest -------------------------------------------------------------------------------------------------------


def test_an_item_of_a_workflow_that_is_not_there_says_so(way: Way) -> None:
    lost = msgspec.structs.replace(way.case.item, workflow_id="gone", workflow_version=3)
    get(way.desk.journal.write.remote(lambda db: item_storage.update(db, lost)))
    with pytest.raises(NotFoundError, match="gone@3"):
        way.press("start_planning")


def test_questions_and_their_events_are_one_write(way: Way) -> None:
    run = way.launched("start_planning")
    get(way.desk.work.item(way.id).ask_question.remote(AskQuestion(prompt="?", run_id=run.id, actor="agent")))
    assert way.case.item.run_state == "awaiting_input"
    events = way.desk.store.read(event_storage.select)
    assert (events[-1].type, events[-1].run_id) == ("question_asked", run.id)


def test_what_was_done_is_announced(way: Way) -> None:
    before = len(way.desk.changes)
    way.press("start_planning")
    assert way.id in way.desk.changes[before:]


def test_a_deleted_item_takes_its_artifacts_and_events_with_it(way: Way) -> None:
    way.to("ready")
    get(way.desk.work.item(way.id).delete.remote(DeleteItem(actor="ann")))
    assert way.desk.store.read(artifact_storage.select) == []
    assert way.desk.store.read(event_storage.select) == []


def _outcome(future: Any) -> Any:
    try:
        return future.get(timeout=10)
    except Exception as error:  # noqa: BLE001  the error is the outcome
        return error
