"""Hooks of agents at work on items: plans that are presented, and ends of turns, through the keeper of bridges."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.captured import raw
from tests.work_desk import Desk
from whisk.actors.bridge import BridgeServices
from whisk.actors.bridges import BridgesActor, BridgesHandle
from whisk.actors.future import get
from whisk.actors.system import ActorSystem
from whisk.actors.work_hooks import WorkHooks
from whisk.bridges.bridge import BridgeOwner
from whisk.bridges.hook import HookCall, HookOutcome
from whisk.bridges.setting import PromptSettings
from whisk.hooks.entry import HookContext
from whisk.hooks.payload import read_payload
from whisk.hooks.provider import find_provider
from whisk.storage import artifact as artifact_storage
from whisk.storage import case as case_storage
from whisk.storage import hook_event
from whisk.storage.hook_event import HookLogQuery
from whisk.work.action import Press
from whisk.work.project_change import UpdateProject
from whisk.work.question import AskQuestion
from whisk.work.run import LaunchRun, Run

PLAN = "# Fix it\n\n1. Test\n2. Fix\n"


class Agent:
    """A run in the terminal of an agent, and its hooks."""

    def __init__(self, desk: Desk, bridges: BridgesHandle, run: Run) -> None:
        self.desk, self.bridges, self.run = desk, bridges, run
        owner = BridgeOwner(provider="claude", pty_id=run.pty_id or "", run_id=run.id, project_id=run.project_id)
        self._credentials = get(bridges.register.remote(owner))
        self._hooks = 0

    def hook(self, name: str, **changes: object) -> HookOutcome:
        self._hooks += 1
        event = find_provider("claude").read(read_payload(raw("claude", name, **changes)), "")
        call = HookCall(
            bridge_id=self._credentials.id,
            token=self._credentials.token,
            relay_id=f"relay_{self._hooks}",
            event=event,
            context=HookContext(bridge_id=self._credentials.id),
        )
        return get(self.bridges.hook.remote(call))

    def present(self, plan: str | None = PLAN, event: str = "PreToolUse") -> tuple[str, dict[str, Any]]:
        """What the log says of an ExitPlanMode call, and what the hook is answered."""
        tool_input = {} if plan is None else {"plan": plan}
        outcome = self.hook(f"{event}-ExitPlanMode", tool_input=tool_input)
        return outcome.result, json.loads(outcome.output or "{}").get("hookSpecificOutput", {})

    @property
    def case(self) -> Any:
        return self.desk.store.read(lambda db: case_storage.load(db, self.run.work_item_id))

    def logged(self) -> list[str]:
        # What was queued before is on disk when this is.
        get(self.desk.journal.write.remote(lambda _: None))
        return [each.result for each in self.desk.store.read(lambda db: hook_event.select(db, HookLogQuery()))]


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


@pytest.fixture
def bridges(desk: Desk) -> BridgesHandle:
    services = BridgeServices(
        desk.store,
        desk.journal,
        PromptSettings(),
        lambda kind, about: None,
        work=WorkHooks(desk.store, lambda: desk.work),
    )
    return desk.system.spawn(BridgesActor, services, name="bridges", handle=BridgesHandle)


def launched(desk: Desk, item_id: str, action: str) -> Run:
    wanted = Press(action=action, actor="ann")
    return get(desk.work.item(item_id).press_and_launch.remote(wanted, LaunchRun(actor="ann")))


@pytest.fixture
def planner(desk: Desk, bridges: BridgesHandle) -> Agent:
    return Agent(desk, bridges, launched(desk, desk.item().id, "start_planning"))


@pytest.fixture
def executor(desk: Desk, bridges: BridgesHandle) -> Agent:
    item = desk.work.item(desk.item().id)
    get(item.press.remote(Press(action="start_planning", actor="ann")))
    plan = get(item.press.remote(Press(action="submit_draft_plan", actor="agent", body=PLAN))).artifact
    assert plan is not None
    get(item.press.remote(Press(action="approve_plan", actor="ann", artifact_id=plan.id)))
    return Agent(desk, bridges, launched(desk, plan.work_item_id, "start_execution"))


# -- planning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_plan_that_is_presented_is_submitted_and_the_agent_is_not_let_on(planner: Agent, event: str) -> None:
    result, answer = planner.present(event=event)
    assert result == "draft_plan_submitted"
    [plan] = planner.case.artifacts
    assert (plan.title, plan.body, plan.status, plan.run_id, plan.created_by) == (
        "Fix it", PLAN, "draft", planner.run.id, "agent",
    )  # fmt: skip
    said = answer.get("permissionDecisionReason") or answer["decision"]["message"]
    assert f"draft plan {plan.id} of work item #1" in said
    assert "deny" in (answer.get("permissionDecision"), answer.get("decision", {}).get("behavior"))
    assert planner.desk.stored(planner.run).status == "completed"
    # The terminal is open when the answer goes out, and stays so until a person has approved the plan.
    assert planner.desk.closed == []
    assert planner.logged() == ["draft_plan_submitted"]


def test_the_same_plan_presented_again_is_the_one_there_is(planner: Agent) -> None:
    first, second = planner.present(), planner.present()
    assert first == second
    assert len(planner.case.artifacts) == 1
    assert planner.present("A better plan")[0] == "draft_plan_submitted"
    assert len(planner.case.artifacts) == 2


def test_a_call_without_a_plan_is_refused_with_what_to_do(planner: Agent) -> None:
    result, answer = planner.present(None)
    assert result == "plan_submission_required"
    assert answer["permissionDecision"] == "deny"
    assert "whisk workflow submit-plan -body" in answer["permissionDecisionReason"]
    assert planner.case.artifacts == ()


def test_a_plan_that_cannot_be_submitted_is_not_let_through_and_says_why(planner: Agent) -> None:
    get(planner.desk.work.item(planner.run.work_item_id).press.remote(Press(action="report_blocked", actor="ann")))
    result, answer = planner.present()
    assert (result, answer["permissionDecision"]) == ("plan_submission_required", "deny")
    assert (
        "could not submit this plan: workflow action submit_draft_plan is not available in stage blocked"
        in (answer["permissionDecisionReason"])
    )
    assert planner.desk.store.read(artifact_storage.select) == []


def test_a_plan_that_is_too_long_is_not_let_through_either(planner: Agent) -> None:
    result, answer = planner.present("x" * 65_537)
    assert (result, answer["permissionDecision"]) == ("plan_submission_required", "deny")
    assert "plan body exceeds 65536 bytes" in answer["permissionDecisionReason"]


def test_who_executes_may_leave_plan_mode_as_ever(executor: Agent) -> None:
    assert executor.present() == ("passed", {})
    outcome = executor.hook("PermissionRequest-ExitPlanMode", tool_input={"plan": PLAN})
    assert outcome.result == "approval_created"


def test_other_tools_of_a_planner_are_none_of_it(planner: Agent) -> None:
    assert planner.hook("PreToolUse-Bash").result == "passed"


# -- ends of turns --------------------------------------------------------------------------------------------------


def opt_in(agent: Agent) -> None:
    project = agent.desk.work.project(agent.run.project_id)
    get(project.update.remote(UpdateProject(complete_runs_on_stop=True)))


def test_a_stop_completes_nothing_unless_the_project_wants_it(executor: Agent) -> None:
    assert executor.hook("Stop").result == "logged"
    assert executor.case.item.stage_id == "execution"
    assert executor.desk.stored(executor.run).status == "running"


def test_a_stop_completes_the_execution_where_the_project_wants_it(executor: Agent) -> None:
    opt_in(executor)
    outcome = executor.hook("Stop", last_assistant_message="Built it.")
    assert (outcome.result, outcome.output) == ("execution_completed", "")
    case = executor.case
    assert (case.item.stage_id, case.runs[-1].status) == ("review", "completed")
    assert (case.runs[-1].history[-1].actor, case.runs[-1].history[-1].message) == ("agent", "Built it.")
    assert executor.desk.closed == []
    assert executor.hook("Stop").result == "logged"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("Stop", {"stop_hook_active": True}),
        ("Stop", {"background_tasks": [{"id": "b1"}]}),
        ("Stop", {"agent_id": "sub"}),
        ("StopFailure-rate_limit", {}),
        ("SubagentStop", {}),
    ],
)
def test_no_other_stop_completes_an_execution(executor: Agent, name: str, changes: dict[str, object]) -> None:
    opt_in(executor)
    assert executor.hook(name, **changes).result == "logged"
    assert executor.case.item.stage_id == "execution"


def test_a_stop_of_a_run_that_waits_for_an_answer_completes_nothing(executor: Agent) -> None:
    opt_in(executor)
    ask = AskQuestion(prompt="Which?", run_id=executor.run.id, actor="agent")
    get(executor.desk.work.item(executor.run.work_item_id).ask_question.remote(ask))
    assert executor.hook("Stop").result == "logged"
    assert executor.desk.stored(executor.run).status == "awaiting_input"


def test_a_stop_of_an_item_that_is_blocked_completes_nothing(executor: Agent) -> None:
    opt_in(executor)
    get(executor.desk.work.item(executor.run.work_item_id).press.remote(Press(action="report_blocked", actor="ann")))
    assert executor.hook("Stop").result == "logged"
    assert executor.desk.stored(executor.run).status == "running"


def test_a_planners_stop_is_an_event_like_any_other(planner: Agent) -> None:
    opt_in(planner)
    assert planner.hook("Stop").result == "logged"
    assert planner.desk.stored(planner.run).status == "running"
