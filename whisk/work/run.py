"""A run: one agent working on one work item.

`queued → running ⇄ awaiting_input → completed | failed | cancelled | lost`. Each step is a pure function from record to
record that appends to the history; a run that has ended refuses every further step.
"""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import msgspec

from whisk.clock import Instant
from whisk.errors import InvalidError, RefusedError
from whisk.values import Record, check_text
from whisk.work.attachment import MetadataValue
from whisk.work.person import RUNTIME, check_actor

RunStatus = Literal["queued", "running", "awaiting_input", "completed", "failed", "cancelled", "lost"]
RunPreset = Literal["reader", "writer", "reviewer", "manager"]
TERMINAL: frozenset[RunStatus] = frozenset({"completed", "failed", "cancelled", "lost"})

MESSAGE_LIMIT = 65_536
PROMPT_LIMIT = 131_000
OWNED_SESSION = "whisk.daemon/owned_session"


class RunEvent(Record, frozen=True):
    id: str
    type: Literal[
        "queued", "running", "awaiting_input", "resumed", "completed", "failed", "cancelled", "lost", "session_ended"
    ]
    at: Instant
    actor: str | None = None
    message: str | None = None


class Run(Record, frozen=True):
    """`prompt_snapshot` is the text the agent was, or will be, given. `last_seen_at` is its latest sign of life.
    `exit_code` is that of the terminal, -1 when nobody knows it.
    """

    wire_name: ClassVar[str] = "WorkItemRun"

    id: str
    work_item_id: str
    project_id: str
    preset: RunPreset
    prompt_template_id: str
    prompt_snapshot: str
    status: RunStatus
    created_at: Instant
    updated_at: Instant
    history: tuple[RunEvent, ...]
    session_id: str | None = None
    pty_id: str | None = None
    agent_profile_id: str | None = None
    system_prompt: str | None = None
    completed_at: Instant | None = None
    last_seen_at: Instant | None = None
    exit_code: int | None = None
    metadata: dict[str, MetadataValue] = {}

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL

    @property
    def owns_session(self) -> bool:
        """Whether its session was made for it, and not bound to it by hand."""
        owned = self.metadata.get(OWNED_SESSION)
        return owned is not None and owned.flag is True


class StartRun(Record, frozen=True):
    """With `launch` false the run waits in the queue."""

    wire_name: ClassVar[str] = "StartWorkItemRunRequest"

    work_item_id: str
    preset: str = ""
    prompt_template_id: str = ""
    session_id: str = ""
    pty_id: str = ""
    launch: bool = False
    agent_profile_id: str = ""
    system_prompt: str = ""
    actor: str | None = None


class LaunchRun(Record, frozen=True):
    """What is left out is what the run was queued with."""

    wire_name: ClassVar[str] = "LaunchWorkItemRunRequest"

    agent_profile_id: str = ""
    system_prompt: str = ""
    worktree_override_path: str = ""
    actor: str | None = None
    id: str = ""


def check_preset(preset: str) -> RunPreset:
    if preset not in get_args(RunPreset):
        known = ", ".join(get_args(RunPreset))
        raise InvalidError(f'unknown run preset "{preset}"; there are {known}', field="preset")
    return preset  # type: ignore[return-value]


def new_run(
    request: StartRun,
    *,
    run_id: str,
    project_id: str,
    preset: RunPreset,
    template_id: str,
    prompt: str,
    now: Instant,
) -> Run:
    """A queued run. A session and terminal that are named are recorded; it is for a launch to make any."""
    actor = check_actor(request.actor)
    return Run(
        id=run_id,
        work_item_id=request.work_item_id,
        project_id=project_id,
        preset=preset,
        prompt_template_id=template_id,
        prompt_snapshot=check_text(prompt, "prompt", limit=PROMPT_LIMIT),
        status="queued",
        created_at=now,
        updated_at=now,
        history=(RunEvent(id=f"{run_id}.1", type="queued", at=now, actor=actor),),
        session_id=check_text(request.session_id, "sessionId", limit=256) or None,
        pty_id=check_text(request.pty_id, "ptyId", limit=256) or None,
        agent_profile_id=check_text(request.agent_profile_id, "agentProfileId", limit=256) or None,
        system_prompt=check_text(request.system_prompt, "systemPrompt", limit=PROMPT_LIMIT) or None,
    )


def mark_running(
    run: Run,
    *,
    session_id: str,
    pty_id: str,
    profile_id: str,
    actor: str | None,
    now: Instant,
    prompt: str = "",
    note: str = "",
) -> Run:
    """The agent's terminal was started, in a session made for it. `prompt` is what it was given, `note` a remark."""
    if run.status != "queued":
        raise RefusedError(f"work item run {run.id} is {run.status}, not queued", run=run.id, status=run.status)
    owned = {**run.metadata, OWNED_SESSION: MetadataValue(type="bool", flag=True)}
    started = _step(run, "running", "running", actor, note, now)
    return msgspec.structs.replace(
        started,
        prompt_snapshot=prompt or run.prompt_snapshot,
        session_id=session_id,
        pty_id=pty_id,
        agent_profile_id=profile_id,
        exit_code=None,
        last_seen_at=now,
        metadata=owned,
    )


def await_input(run: Run, actor: str | None, message: str, now: Instant) -> Run:
    """Somebody has to answer before the agent goes on. Waiting already is no change."""
    need_open(run)
    return (
        run if run.status == "awaiting_input" else _step(run, "awaiting_input", "awaiting_input", actor, message, now)
    )


def resume(run: Run, actor: str | None, now: Instant) -> Run:
    """Nothing is left to answer. Only a run that waited changes."""
    if run.status != "awaiting_input":
        return run
    # A run without a terminal has never been started; it waits in the queue again.
    status: RunStatus = "running" if run.pty_id and run.exit_code is None else "queued"
    return _step(run, status, "resumed", actor, None, now)


def reopen(run: Run, actor: str | None, prompt: str, now: Instant) -> Run:
    """There is more to do. A run whose terminal still runs goes on there; any other waits in the queue to be launched.

    `prompt` is what it is given then. One that has not ended goes on as it is.
    """
    if not run.ended:
        return run
    alive = run.pty_id is not None and run.exit_code is None and run.status != "lost"
    text = check_text(prompt, "prompt", limit=PROMPT_LIMIT)
    again = _step(run, "running" if alive else "queued", "resumed", actor, None, now)
    return msgspec.structs.replace(again, completed_at=None, prompt_snapshot=text)


def complete(run: Run, actor: str | None, message: str, now: Instant) -> Run:
    return _finish(run, "completed", actor, message, now)


def fail(run: Run, actor: str | None, message: str, now: Instant) -> Run:
    return _finish(run, "failed", actor, message, now)


def cancel(run: Run, actor: str | None, message: str, now: Instant) -> Run:
    return _finish(run, "cancelled", actor, message, now)


def lose(run: Run, message: str, now: Instant) -> Run:
    return _finish(run, "lost", RUNTIME, message, now)


def end_with_terminal(run: Run, status: str, exit_code: int | None, now: Instant, pty_id: str) -> Run:
    """A terminal has ended; means nothing unless it is the run's. `status` is how, as the terminal records it.

    An agent that ends by itself with code 0 has completed its run, with another code it has failed; one that was ended
    by somebody is cancelled; of one whose end nobody saw the run is lost. A run that had ended before only learns
    the exit code.
    """
    if pty_id != run.pty_id:
        return run
    run = msgspec.structs.replace(run, exit_code=exit_code)
    if run.ended or run.status == "queued":
        return run
    if status == "killed":
        return cancel(run, RUNTIME, "its terminal was killed", now)
    if status == "exited" and exit_code == 0:
        return complete(run, RUNTIME, "the agent ended by itself with exit code 0", now)
    if status == "exited":
        return fail(run, RUNTIME, f"the agent ended with exit code {exit_code}", now)
    if status == "failed":
        return fail(run, RUNTIME, "its terminal could not be started", now)
    return lose(run, "its terminal is gone and nobody saw it end", now)


def see(run: Run, now: Instant) -> Run:
    """A sign of life; the last one wins and leaves no trace in the history."""
    return run if run.ended else msgspec.structs.replace(run, last_seen_at=now)


def need_open(run: Run) -> None:
    """Refuse a run that has ended."""
    if run.ended:
        raise RefusedError(f"work item run {run.id} is already {run.status}", run=run.id, status=run.status)


def _finish(
    run: Run, status: Literal["completed", "failed", "cancelled", "lost"], actor: str | None, message: str, now: Instant
) -> Run:
    need_open(run)
    return msgspec.structs.replace(_step(run, status, status, actor, message, now), completed_at=now)


def _step(
    run: Run,
    status: RunStatus,
    kind: Literal["running", "awaiting_input", "resumed", "completed", "failed", "cancelled", "lost"],
    actor: str | None,
    message: str | None,
    now: Instant,
) -> Run:
    event = RunEvent(
        id=f"{run.id}.{len(run.history) + 1}",
        type=kind,
        at=now,
        actor=check_actor(actor),
        message=check_text(message or "", "message", limit=MESSAGE_LIMIT) or None,
    )
    return msgspec.structs.replace(run, status=status, updated_at=now, history=(*run.history, event))
