"""A workflow with names of its own: the built-in steps mean the actions that do the same."""

from __future__ import annotations

import msgspec
import pytest

from tests.case_kit import NOW, case, done, judged, taken
from whisk.errors import NotFoundError, RefusedError
from whisk.values import decode
from whisk.work import run as runs
from whisk.work.availability import executing_stages, list_actions
from whisk.work.case import Case, is_dismissed
from whisk.work.definition import Definition

SHIP = decode(
    """{
    "id": "ship", "version": 2, "stages": ["todo", "design", "agreed", "build", "check", "waiting", "shipped"],
    "actions": [
      {"id": "design_it", "from": ["todo"], "to": "design",
       "createsRun": {"phase": "planning", "preset": "reader", "promptTemplateId": "plan",
                      "workingDir": "projectRoot"}},
      {"id": "hand_in", "from": ["design"], "to": "design", "createsArtifact": {"kind": "plan", "status": "draft"}},
      {"id": "agree", "from": ["design"], "to": "agreed", "requiresHuman": true,
       "requires": [{"kind": "plan", "status": "draft"}], "updatesArtifact": {"kind": "plan", "status": "approved"}},
      {"id": "build_it", "from": ["agreed"], "to": "build",
       "createsRun": {"phase": "execution", "preset": "manager", "promptTemplateId": "implement",
                      "workingDir": "worktree"}},
      {"id": "built", "from": ["build"], "to": "check", "completesRun": true, "createsGates": ["tests", "look"]},
      {"id": "again", "from": ["check"], "to": "build", "resumesRun": "existing_execution",
       "createsArtifact": {"kind": "feedback", "status": "approved"}},
      {"id": "ship_it", "from": ["check"], "to": "shipped", "requiresHuman": true,
       "requiresPassingBlockingGates": true},
      {"id": "wait", "from": ["build", "check"], "to": "waiting", "sideStage": true},
      {"id": "go_on", "from": ["waiting"], "to": "$previousStage"},
      {"id": "drop", "from": ["todo"], "to": "shipped"}
    ],
    "questions": {"enabled": true, "moveToBlocked": true, "setsRunState": "",
                  "answerClearsAwaitingInputWhenNoOpenQuestionsRemain": false},
    "gates": [{"id": "tests", "phase": "check", "blocking": true}, {"id": "look", "phase": "check", "blocking": false}]
    }""",
    Definition,
)


def built() -> Case:
    """Checked for the first time, by the names of the built-in steps."""
    before = done(case("todo", SHIP), "start_planning")
    drafted = done(before, "submit_draft_plan", body="The plan", run_id=before.runs[0].id)
    agreed = done(drafted, "approve_plan", artifact_id=drafted.artifacts[0].id)
    return done(done(agreed, "start_execution"), "complete_execution")


def test_the_named_steps_do_what_the_workflow_calls_otherwise() -> None:
    after = built()
    assert after.item.stage_id == "check"
    assert [event.type for event in after.events] == [
        "planning_started", "draft_plan_submitted", "plan_approved", "execution_started", "execution_completed",
    ]  # fmt: skip
    assert [run.preset for run in after.runs] == ["reader", "manager"]
    assert executing_stages(after) == {"build"}
    blocked = done(after, "report_blocked")
    assert done(blocked, "unblock").item.stage_id == "check"


def test_only_gates_that_block_keep_it() -> None:
    after = built()
    assert [(gate.name, gate.blocking) for gate in after.gates] == [("tests", True), ("look", False)]
    with pytest.raises(RefusedError, match="blocking gates"):
        taken(after, "approve_done")
    tests, look = after.gates
    passed = judged(Case(project=after.project, item=after.item, definition=SHIP, gates=(look, tests), runs=after.runs))
    assert done(passed, "approve_done").item.stage_id == "shipped"


def test_feedback_goes_to_the_run_that_executes_whatever_its_preset() -> None:
    step = taken(built(), "submit_review_feedback", body="More")
    assert step.run is not None
    assert (step.run.preset, step.run.status, step.case.item.stage_id) == ("manager", "queued", "build")


def test_a_name_of_the_workflow_itself_comes_first_and_an_unknown_one_is_not_found() -> None:
    assert done(case("todo", SHIP), "drop").item.stage_id == "shipped"
    with pytest.raises(NotFoundError, match="ship@2 has no action start_review") as caught:
        taken(case("todo", SHIP), "start_review")
    assert "design_it" in caught.value.details["known"]


def test_the_recommended_way_is_the_first_that_leads_forward() -> None:
    assert [each.action.id for each in list_actions(case("todo", SHIP)) if each.recommended] == ["design_it"]


@pytest.mark.parametrize(("actor", "dismissed"), [("ann", True), ("agent", False)])
def test_a_person_who_ends_the_work_has_done_with_its_agents(actor: str, dismissed: bool) -> None:
    before = done(case("todo", SHIP), "start_planning")
    running = runs.mark_running(
        before.runs[0], session_id="s", pty_id="p", profile_id="claude", actor=None, now=NOW
    )  # fmt: skip
    back = msgspec.structs.replace(before.item, stage_id="todo")
    after = done(msgspec.structs.replace(before, item=back, runs=(running,)), "drop", actor=actor)
    assert is_dismissed(after.runs[0]) == dismissed
    assert after.runs[0].status == ("completed" if dismissed else "running")
