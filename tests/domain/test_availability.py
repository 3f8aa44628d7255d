from __future__ import annotations

import pytest

from tests.case_kit import case, done, executing, judged, planned, ready, reviewed
from whisk.work.availability import list_actions
from whisk.work.case import Case


@pytest.mark.parametrize(
    ("before", "enabled", "recommended"),
    [
        (case(), ["start_planning"], "start_planning"),
        (done(case(), "start_planning"), ["submit_draft_plan", "report_blocked"], "submit_draft_plan"),
        (planned(), ["submit_draft_plan", "approve_plan", "report_blocked"], "approve_plan"),
        (case("ready"), [], None),
        (ready(), ["start_execution"], "start_execution"),
        (executing(), ["complete_execution", "report_blocked"], "complete_execution"),
        (reviewed(), ["submit_review_feedback", "report_blocked"], None),
        (judged(reviewed(), "failed"), ["submit_review_feedback", "report_blocked"], "submit_review_feedback"),
        (judged(reviewed()), ["submit_review_feedback", "approve_done", "report_blocked"], "approve_done"),
        (done(reviewed(), "report_blocked"), ["unblock"], "unblock"),
        (case("done"), [], None),
    ],
    ids=[
        "backlog", "planning", "drafted", "unplanned", "ready", "execution", "review", "failed", "passed", "blocked",
        "done",
    ],
)  # fmt: skip
def test_the_natural_next_action_is_recommended(before: Case, enabled: list[str], recommended: str | None) -> None:
    found = list_actions(before)
    assert [each.action.id for each in found if each.enabled] == enabled
    assert next((each.action.id for each in found if each.recommended), None) == recommended
    assert all(bool(each.reason) != each.enabled for each in found)


def test_each_action_says_what_it_works_on() -> None:
    every = [each for stage in (case(), planned(), ready(), executing(), reviewed()) for each in list_actions(stage)]
    assert {each.action.id: each.input_kind for each in every} == {
        "start_planning": "run",
        "submit_draft_plan": "artifact",
        "approve_plan": "artifact_selection",
        "start_execution": "run",
        "complete_execution": "run",
        "submit_review_feedback": "artifact",
        "approve_done": "gate",
        "report_blocked": "none",
    }


def test_the_reasons_are_those_that_clients_know() -> None:
    def reason(before: Case, action: str) -> str | None:
        return next(each.reason for each in list_actions(before) if each.action.id == action)

    assert reason(done(case(), "start_planning"), "approve_plan") == "plan draft required"
    assert reason(case("ready"), "start_execution") == "approved plan required"
    assert reason(reviewed(), "approve_done") == "blocking gates must pass or be overridden"
