"""What moves a work item through its stages: its workflow's actions, by their ids and by the names of their steps."""

from __future__ import annotations

from typing import Any

from whisk.actors.future import get
from whisk.actors.item_steps import Pressed
from whisk.actors.work_item import LAUNCH_SECONDS
from whisk.http.api import Api
from whisk.http.route import Request, Route
from whisk.storage import run as run_storage
from whisk.work.action import Press
from whisk.work.artifact import Artifact
from whisk.work.availability import WorkflowActionAvailability
from whisk.work.item import WorkItem
from whisk.work.run import LaunchRun, Run
from whisk.work.step import (
    ApproveDone,
    ApprovePlan,
    CompleteExecution,
    LaunchExecution,
    MoveWorkItem,
    QueueExecution,
    RunAction,
    StartExecution,
    StartPlanning,
    SubmitDraftPlan,
    SubmitReviewFeedback,
)


def list_actions(api: Api, request: Request[None, None]) -> list[WorkflowActionAvailability]:
    return get(api.work.item(request.path["work_item_id"]).actions.remote())


def run_action(api: Api, request: Request[RunAction, None]) -> WorkItem:
    said = request.body
    wanted = Press(
        action=request.path["action_id"],
        actor=said.actor,
        reason=said.reason,
        run_id=said.run_id,
        artifact_id=said.artifact_id,
        title=said.title,
        body=said.body,
    )
    return _press(api, request, wanted).item


def move_item(api: Api, request: Request[MoveWorkItem, None]) -> WorkItem:
    item = api.work.item(request.path["work_item_id"])
    return get(item.move.remote(request.body.stage_id, request.body.actor, request.surface)).item


def start_planning(api: Api, request: Request[StartPlanning, None]) -> Run:
    """With `launch` the answer comes when the agent's terminal runs; a launch that fails is the refusal."""
    said = request.body
    wanted = Press(
        action="start_planning",
        actor=said.actor,
        session_id=said.session_id,
        pty_id=said.pty_id,
        agent_profile_id=said.agent_profile_id,
        system_prompt=said.system_prompt,
    )
    return _start(api, request, wanted, LaunchRun(actor=said.actor) if said.launch else None)


def submit_plan(api: Api, request: Request[SubmitDraftPlan, None]) -> Artifact:
    said = request.body
    wanted = Press(action="submit_draft_plan", actor=said.actor, title=said.title, body=said.body, run_id=said.run_id)
    return _artifact(_press(api, request, wanted))


def approve_plan(api: Api, request: Request[ApprovePlan, None]) -> WorkItem:
    wanted = Press(action="approve_plan", actor=request.body.actor, artifact_id=request.body.artifact_id)
    return _press(api, request, wanted).item


def start_execution(api: Api, request: Request[StartExecution, None]) -> Run:
    """With `launch` the answer comes when the agent's terminal runs; a launch that fails is the refusal."""
    said = request.body
    wanted = Press(
        action="start_execution",
        actor=said.actor,
        session_id=said.session_id,
        pty_id=said.pty_id,
        agent_profile_id=said.agent_profile_id,
        system_prompt=said.system_prompt,
    )
    launch = LaunchRun(worktree_override_path=said.worktree_override_path, actor=said.actor)
    return _start(api, request, wanted, launch if said.launch else None)


def queue_execution(api: Api, request: Request[QueueExecution, None]) -> Run:
    return _start(api, request, Press(action="start_execution", actor=request.body.actor), None)


def launch_execution(api: Api, request: Request[LaunchExecution, None]) -> Run:
    said = request.body
    launch = LaunchRun(
        agent_profile_id=said.agent_profile_id,
        system_prompt=said.system_prompt,
        worktree_override_path=said.worktree_override_path,
        actor=said.actor,
    )
    call = api.work.item(request.path["work_item_id"]).launch_execution.options(timeout=LAUNCH_SECONDS)
    return get(call.remote(launch, request.surface), timeout=LAUNCH_SECONDS)


def complete_execution(api: Api, request: Request[CompleteExecution, None]) -> WorkItem:
    said = request.body
    wanted = Press(action="complete_execution", actor=said.actor, run_id=said.run_id, reason=said.message)
    return _press(api, request, wanted).item


def complete_run(api: Api, request: Request[CompleteExecution, None]) -> WorkItem:
    """The same for the work item of that run."""
    run = api.store.read(lambda db: run_storage.get(db, request.path["run_id"]))
    said = request.body
    wanted = Press(action="complete_execution", actor=said.actor, run_id=run.id, reason=said.message)
    return get(api.work.item(run.work_item_id).press.remote(wanted, request.surface)).item


def submit_feedback(api: Api, request: Request[SubmitReviewFeedback, None]) -> Artifact:
    said = request.body
    wanted = Press(action="submit_review_feedback", actor=said.actor, body=said.body, run_id=said.run_id)
    return _artifact(_press(api, request, wanted))


def approve_done(api: Api, request: Request[ApproveDone, None]) -> WorkItem:
    wanted = Press(action="approve_done", actor=request.body.actor, reason=request.body.reason)
    return _press(api, request, wanted).item


def _press(api: Api, request: Request[Any, None], wanted: Press) -> Pressed:
    return get(api.work.item(request.path["work_item_id"]).press.remote(wanted, request.surface))


def _start(api: Api, request: Request[Any, None], wanted: Press, launch: LaunchRun | None) -> Run:
    item = api.work.item(request.path["work_item_id"])
    if launch is not None:
        call = item.press_and_launch.options(timeout=LAUNCH_SECONDS)
        return get(call.remote(wanted, launch, request.surface), timeout=LAUNCH_SECONDS)
    run = get(item.press.remote(wanted, request.surface)).run
    assert run is not None, "an action that starts something makes a run"
    return run


def _artifact(pressed: Pressed) -> Artifact:
    assert pressed.artifact is not None, "an action that submits something makes an artifact"
    return pressed.artifact


_ITEM = "/v1/work-items/{work_item_id}"


def _step(name: str, handler: Any, summary: str, body: type, reply: type, operation: str, status: int) -> Route:
    path = f"{_ITEM}/{name}"
    return Route("POST", path, handler, summary, body=body, reply=reply, status=status, operation=operation)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        f"{_ITEM}/workflow-actions",
        list_actions,
        "List what may be done with a work item now",
        reply=list[WorkflowActionAvailability],
        operation="listWorkItemWorkflowActions",
    ),
    Route(
        "POST",
        f"{_ITEM}/actions/{{action_id}}",
        run_action,
        "Take an action of a work item's workflow",
        body=RunAction,
        reply=WorkItem,
        operation="runWorkItemWorkflowAction",
    ),
    _step("move", move_item, "Take the one action that leads to a stage", MoveWorkItem, WorkItem, "moveWorkItem", 200),
    _step("start-planning", start_planning, "Start planning", StartPlanning, Run, "startPlanning", 201),
    _step("plan-drafts", submit_plan, "Submit a draft plan", SubmitDraftPlan, Artifact, "submitDraftPlan", 201),
    _step("approve-plan", approve_plan, "Approve a plan; for people", ApprovePlan, WorkItem, "approvePlan", 200),
    _step("start-execution", start_execution, "Start execution", StartExecution, Run, "startExecution", 201),
    _step("queue-execution", queue_execution, "Queue the execution", QueueExecution, Run, "queueExecution", 201),
    _step(
        "launch-execution",
        launch_execution,
        "Launch the execution that is queued, or a new one",
        LaunchExecution,
        Run,
        "launchExecution",
        201,
    ),
    _step(
        "complete-execution",
        complete_execution,
        "Complete the execution",
        CompleteExecution,
        WorkItem,
        "completeExecutionForWorkItem",
        200,
    ),
    _step(
        "review-feedback",
        submit_feedback,
        "Send the work back with feedback",
        SubmitReviewFeedback,
        Artifact,
        "submitReviewFeedback",
        201,
    ),
    _step("approve-done", approve_done, "Approve the work; for people", ApproveDone, WorkItem, "approveDone", 200),
    Route(
        "POST",
        "/v1/work-item-runs/{run_id}/complete-execution",
        complete_run,
        "Complete the execution that a run does",
        body=CompleteExecution,
        reply=WorkItem,
        operation="completeExecution",
    ),
)
