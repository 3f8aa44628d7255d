from __future__ import annotations

import msgspec
import pytest

from tests.case_kit import NOW, STAMP, case, done, executing, judged, planned, ready, reviewed, taken
from whisk.errors import ConflictError, InvalidError, NotFoundError, RefusedError, TooLargeError
from whisk.work import run as runs
from whisk.work.action import move_to
from whisk.work.artifact import BODY_LIMIT
from whisk.work.case import Case, open_gates
from whisk.work.definition import BUILTIN, ActionDefinition
from whisk.work.gate import GateStatus


def with_run(before: Case, run: runs.Run) -> Case:
    return msgspec.structs.replace(before, runs=(*before.runs[:-1], run))


def test_the_built_in_workflow_goes_from_backlog_to_done() -> None:
    after = done(judged(reviewed()), "approve_done", reason="Good")
    assert after.item.stage_id == "done"
    assert [event.type for event in after.events] == [
        "planning_started",
        "draft_plan_submitted",
        "plan_approved",
        "execution_started",
        "execution_completed",
        "gate_completed",
        "done_approved",
    ]
    moves = [event for event in after.item.history if event.type == "stage_moved"]
    assert [event.stage_id for event in moves] == ["planning", "ready", "execution", "review", "done"]
    assert (moves[-1].actor, moves[-1].message) == ("ann", "Good")


def test_start_planning_queues_a_reader_with_the_plan_prompt() -> None:
    step = taken(case(), "start_planning", session_id="sess_1", pty_id="pty_1", agent_profile_id="codex")
    run = step.run
    assert run is not None
    assert (run.status, run.preset, run.prompt_template_id) == ("queued", "reader", "plan")
    assert (run.session_id, run.pty_id, run.agent_profile_id) == ("sess_1", "pty_1", "codex")
    assert "#7: Fix it" in run.prompt_snapshot
    assert run.metadata["whisk.workflow/working_dir"].text == "projectRoot"
    assert step.case.events[-1].run_id == run.id


def test_a_submitted_plan_is_a_draft_and_ends_the_planning_run() -> None:
    after = planned()
    [plan] = after.artifacts
    assert (plan.kind, plan.status, plan.title, plan.body, plan.created_by) == (
        "plan", "draft", "Plan", "The plan", "agent",
    )  # fmt: skip
    assert after.item.stage_id == "planning"
    assert after.runs[0].status == "completed"


def test_the_same_plan_submitted_again_is_the_one_there_is_and_no_event() -> None:
    before = planned()
    again = taken(before, "submit_draft_plan", actor="agent", body="The plan", run_id=before.runs[0].id)
    assert again.artifact == before.artifacts[0]
    assert again.case is before
    other = done(before, "submit_draft_plan", actor="agent", body="A better plan", run_id=before.runs[0].id)
    assert [each.body for each in other.artifacts] == ["The plan", "A better plan"]


def test_an_approved_plan_stands_in_the_prompt_of_the_execution() -> None:
    run = executing().runs[-1]
    assert (run.preset, run.prompt_template_id) == ("writer", "implement")
    assert "The approved plan:\n\nThe plan\n" in run.prompt_snapshot
    assert run.metadata["whisk.workflow/auto_provision_worktree"].flag is True


def test_a_plan_that_is_too_long_for_a_prompt_is_cut_there_and_says_where_the_rest_is() -> None:
    before = done(case(), "start_planning")
    drafted = done(before, "submit_draft_plan", body="é" * (BODY_LIMIT // 2))
    prompt = done(
        done(drafted, "approve_plan", artifact_id=drafted.artifacts[0].id), "start_execution"
    ).runs[-1].prompt_snapshot  # fmt: skip
    assert "(cut here; whisk workflow artifacts -json has all of it)" in prompt
    assert len(prompt.encode()) < runs.PROMPT_LIMIT


@pytest.mark.parametrize(
    ("before", "action", "fields", "message"),
    [
        (
            case(),
            "approve_plan",
            {"artifact_id": "x"},
            "not available in stage backlog; .*from planning",
        ),
        (done(case(), "start_planning"), "approve_plan", {"artifact_id": "x"}, "^plan draft required$"),
        (case("ready"), "start_execution", {}, "^approved plan required$"),
        (reviewed(), "approve_done", {}, "^blocking gates must pass or be overridden$"),
        (case("review"), "submit_review_feedback", {"body": "x"}, "^execution run required$"),
        (case("blocked"), "unblock", {}, "^no stage to go back to$"),
        (planned(), "submit_draft_plan", {"body": "  "}, "needs a text: whisk workflow submit-plan"),
        (planned(), "approve_plan", {}, "needs an artifact to be chosen: whisk workflow approve-plan"),
    ],
)
def test_what_is_missing_is_a_refusal_that_says_so(
    before: Case, action: str, fields: dict[str, str], message: str
) -> None:
    with pytest.raises(RefusedError, match=message):
        taken(before, action, **fields)


# The named steps of the reference did not look at the stage; here every action does, from every other stage.
@pytest.mark.parametrize("action", BUILTIN.actions, ids=lambda action: action.id)
def test_every_action_is_refused_in_every_stage_that_it_does_not_lead_from(action: ActionDefinition) -> None:
    for stage in set(BUILTIN.stages) - set(action.from_stages):
        before = case(stage)
        with pytest.raises((RefusedError, ConflictError)):
            taken(before, action.id, body="x", artifact_id="x")


@pytest.mark.parametrize("actor", ["", "agent", "agent:codex", "plugin:x", "daemon", "runtime", " Agent "])
@pytest.mark.parametrize("action", ["approve_plan", "approve_done"])
def test_a_program_cannot_take_what_only_people_may(action: str, actor: str) -> None:
    before = planned() if action == "approve_plan" else judged(reviewed())
    with pytest.raises(RefusedError, match=f"workflow action {action} requires human actor"):
        taken(before, action, actor=actor, artifact_id=before.artifacts[0].id)


def test_a_decision_that_was_taken_names_who_took_it() -> None:
    after = ready()
    with pytest.raises(ConflictError, match="approve_plan was taken already by ann") as caught:
        taken(after, "approve_plan", actor="bob", artifact_id=after.artifacts[0].id)
    assert caught.value.details["by"] == "ann"


def test_an_unknown_action_or_artifact_is_not_found_and_a_foreign_run_is_invalid() -> None:
    with pytest.raises(NotFoundError, match="plan-execute-review@1 has no action dance"):
        taken(case(), "dance")
    with pytest.raises(NotFoundError, match="no artifact art_x"):
        taken(planned(), "approve_plan", artifact_id="art_x")
    with pytest.raises(InvalidError, match="run run_x does not belong to work item item_1"):
        taken(executing(), "complete_execution", run_id="run_x")


def test_a_text_of_the_wrong_kind_is_not_approved_as_a_plan() -> None:
    before = done(reviewed(), "submit_review_feedback", body="More")
    feedback = before.artifacts[-1]
    back = msgspec.structs.replace(before, item=msgspec.structs.replace(before.item, stage_id="planning"))
    drafted = done(back, "submit_draft_plan", body="Again")
    with pytest.raises(RefusedError, match="is a feedback, not a plan"):
        taken(drafted, "approve_plan", artifact_id=feedback.id)


def test_a_body_over_the_limit_is_too_large() -> None:
    with pytest.raises(TooLargeError):
        taken(planned(), "submit_draft_plan", body="x" * (BODY_LIMIT + 1))


# -- runs -----------------------------------------------------------------------------------------------------------


def test_complete_execution_takes_the_newest_execution_run_when_none_is_named() -> None:
    after = done(executing(), "complete_execution", actor="agent", reason="Built")
    assert (after.runs[-1].status, after.runs[-1].history[-1].message) == ("completed", "Built")
    assert after.gates[-1].run_id == after.runs[-1].id


def test_a_run_that_ended_well_by_itself_is_completed_as_it_is() -> None:
    before = executing()
    run = runs.complete(before.runs[-1], "runtime", "exit 0", NOW)
    after = done(with_run(before, run), "complete_execution", actor="agent", run_id=run.id)
    assert after.runs[-1] is run
    assert after.item.stage_id == "review"


@pytest.mark.parametrize("end", [runs.fail, runs.cancel])
def test_only_a_person_goes_on_from_a_run_that_ended_badly_and_it_stays_so(end: object) -> None:
    before = executing()
    run = end(before.runs[-1], "runtime", "broke", NOW)  # type: ignore[operator]
    broken = with_run(before, run)
    with pytest.raises(RefusedError, match=f"is already {run.status}"):
        taken(broken, "complete_execution", actor="agent", run_id=run.id)
    after = done(broken, "complete_execution", actor="ann", run_id=run.id)
    assert (after.runs[-1].status, after.item.stage_id) == (run.status, "review")


def test_feedback_reopens_the_execution_run_with_the_feedback_in_its_prompt() -> None:
    step = taken(reviewed(), "submit_review_feedback", body="Handle errors")
    assert step.artifact is not None
    assert step.run is not None
    assert (step.artifact.kind, step.artifact.status, step.artifact.run_id) == ("feedback", "approved", step.run.id)
    assert (step.run.status, step.run.history[-1].type) == ("queued", "resumed")
    assert step.run.prompt_snapshot.endswith("Go on with this feedback:\n\nHandle errors\n")
    assert step.case.item.stage_id == "execution"


def test_the_reason_of_a_plain_action_is_the_text_of_what_it_makes() -> None:
    step = taken(reviewed(), "submit_review_feedback", reason="Handle errors")
    assert step.artifact is not None
    assert step.artifact.body == "Handle errors"
    assert step.case.events[-1].message is None


# -- gates ----------------------------------------------------------------------------------------------------------


def second_round(first: GateStatus | None) -> Case:
    """In review for the second time, after a first round whose gate was decided so."""
    before = judged(reviewed(), first) if first is not None else reviewed()
    executed = done(before, "submit_review_feedback", body="More")
    return done(executed, "complete_execution", actor="agent")


@pytest.mark.parametrize("first", ["passed", "failed"])
def test_each_round_of_work_is_judged_anew(first: GateStatus) -> None:
    after = second_round(first)
    assert [gate.status for gate in after.gates] == [first, "pending"]
    with pytest.raises(RefusedError, match="blocking gates"):
        taken(after, "approve_done")
    assert done(judged(after), "approve_done").item.stage_id == "done"


def test_a_gate_that_still_waits_is_not_opened_twice() -> None:
    assert [gate.status for gate in second_round(None).gates] == ["pending"]


def test_an_overridden_gate_lets_the_item_pass_and_a_failed_one_does_not() -> None:
    assert not open_gates(judged(reviewed(), "overridden", "No time"))
    assert open_gates(judged(reviewed(), "failed"))


def test_a_gate_that_mail_asked_for_counts_for_itself() -> None:
    before = judged(reviewed())
    asked = msgspec.structs.replace(
        before.gates[-1], id="gate_mail", phase=None, source="mail_1", status="pending"
    )  # fmt: skip
    with_mail = msgspec.structs.replace(before, gates=(asked, *before.gates))
    assert open_gates(with_mail) == (asked,)
    with pytest.raises(RefusedError, match="blocking gates") as caught:
        taken(with_mail, "approve_done")
    assert caught.value.details["gates"] == ["gate_mail"]


# -- side stages and moves ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["planning", "execution", "review"])
def test_a_blocked_item_goes_back_to_where_it_was(stage: str) -> None:
    blocked = done(case(stage), "report_blocked", actor="agent", reason="No key")
    assert (blocked.item.stage_id, blocked.item.previous_stage_id) == ("blocked", stage)
    assert (blocked.events[-1].type, blocked.events[-1].message) == ("blocked", "No key")
    back = done(blocked, "unblock")
    assert (back.item.stage_id, back.item.previous_stage_id, back.events[-1].type) == (stage, None, "unblocked")


@pytest.mark.parametrize(
    ("before", "stage", "effect"),
    [
        (case(), "planning", lambda after: after.runs[-1].preset == "reader"),
        (executing(), "review", lambda after: after.gates and after.runs[-1].status == "completed"),
        (judged(reviewed()), "done", lambda after: after.events[-1].type == "done_approved"),
        (done(case("review"), "report_blocked"), "review", lambda after: after.item.previous_stage_id is None),
    ],
    ids=["start_planning", "complete_execution", "approve_done", "unblock"],
)
def test_a_move_has_all_the_effects_of_its_action(before: Case, stage: str, effect: object) -> None:
    after = move_to(before, stage, "ann", STAMP).case
    assert after.item.stage_id == stage
    assert effect(after)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("before", "stage", "message"),
    [
        (case(), "done", "^workflow action from backlog to done not found$"),
        (case(), "backlog", "^workflow action from backlog to backlog not found$"),
        (planned(), "ready", "whisk workflow approve-plan -artifact"),
        (judged(reviewed(), "failed"), "execution", "whisk workflow feedback -body"),
        (case("ready"), "execution", "approved plan required"),
        (reviewed(), "done", "blocking gates must pass"),
    ],
)
def test_a_move_that_needs_more_is_refused_and_says_which_command_does_it(
    before: Case, stage: str, message: str
) -> None:
    with pytest.raises(RefusedError, match=message):
        move_to(before, stage, "ann", STAMP)


def test_a_move_to_no_stage_at_all_is_invalid_and_names_those_there_are() -> None:
    with pytest.raises(InvalidError, match="workflow stage nowhere not found") as caught:
        move_to(case(), "nowhere", "ann", STAMP)
    assert "done" in caught.value.details["known"]


def test_a_move_is_human_only_where_its_action_is() -> None:
    with pytest.raises(RefusedError, match="requires human actor"):
        move_to(judged(reviewed()), "done", "agent", STAMP)


def test_two_ways_to_one_stage_are_ambiguous_and_named() -> None:
    twice = (
        ActionDefinition(id="ship", from_stages=("backlog",), to="done"),
        ActionDefinition(id="drop", from_stages=("backlog",), to="done"),
    )
    before = case(definition=msgspec.structs.replace(BUILTIN, actions=twice))
    with pytest.raises(RefusedError, match="ambiguous workflow action from backlog to done: ship, drop"):
        move_to(before, "done", "ann", STAMP)
    assert done(before, "drop").events[-1].message == "drop"
