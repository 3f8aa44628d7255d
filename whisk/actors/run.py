"""A run and its agent: launched, waiting for answers, alive, done. The actor owns the record of one run.

Every step is stored before it is shown. A run that ended keeps its actor until its terminal has ended too, so that the
exit code is known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from peewee import Database

from whisk.actors.actor import Actor
from whisk.actors.handle import Handle, Method
from whisk.actors.provision import Place, provide
from whisk.actors.work_services import WorkServices
from whisk.errors import NotFoundError, RefusedError, WhiskError
from whisk.ids import new_id
from whisk.matters.audit import AuditEntry, Surface
from whisk.profiles.profile import PLAIN_SHELL, Profile, choose
from whisk.storage import audit
from whisk.storage import item as item_storage
from whisk.storage import question as question_storage
from whisk.storage import run as run_storage
from whisk.storage import status as status_storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.project import PROJECTS
from whisk.terminal.pty import PtyInfo, PtyRecord
from whisk.work import run as steps
from whisk.work.case import WORKING_DIR
from whisk.work.item import WorkItem
from whisk.work.person import RUNTIME, check_actor
from whisk.work.project import Project
from whisk.work.prompt_template import place
from whisk.work.run import LaunchRun, Run
from whisk.work.session import CreateSession
from whisk.work.start import AgentBridgeOptions, LaunchContext, StartPtyOptions
from whisk.work.status import StatusEvent

_SESSION_TITLE = {"plan": "Planning", "implement": "Execution", "review": "Review"}


class RunActor(Actor):
    """Named `run:<id>`, which is also the address of its mail. The run must be in storage before the actor starts."""

    def __init__(self, run_id: str, services: WorkServices) -> None:
        super().__init__()
        self._id = run_id
        self._services = services

    def on_start(self) -> None:
        try:
            self._run, terminal = self._services.store.read(lambda db: _load(db, self._id))
        except NotFoundError:
            # Asked for while its work item was being deleted.
            self.end()
            return
        self._catch_up(terminal)

    def describe(self) -> dict[str, Any]:
        return {"status": self._run.status, "workItem": self._run.work_item_id, "pty": self._run.pty_id}

    def may_passivate(self) -> bool:
        return self._run.ended and (self._run.pty_id is None or self._run.exit_code is not None)

    def show(self) -> Run:
        return self._run

    def refresh(self) -> Run:
        """What is stored now: the work item writes its runs too, in one step with what else the step changes."""
        self._show(self._services.store.read(lambda db: run_storage.get(db, self._id)))
        return self._run

    def launch(self, request: LaunchRun) -> Run:
        """Start the agent: a session of its own, a terminal in it, the prompt as its profile takes it.

        Only a queued run is launched. When the agent cannot be started the run has failed, and the refusal says why.
        """
        run = self.refresh()
        _need_queued(run)
        actor = check_actor(request.actor)
        try:
            project, item = self._services.store.read(lambda db: _work(db, run))
            explicit = request.agent_profile_id or run.agent_profile_id or ""
            defaults = project.preferences.default_phase_agents
            profile = choose(self._services.profiles(), explicit, run.preset, defaults)
            system_prompt = request.system_prompt or run.system_prompt or ""
            item, note = self._place(project, item, run, request)
            run = msgspec.structs.replace(run, prompt_snapshot=place(run.prompt_snapshot, project, item))
            order = _session(project, item, run, profile, system_prompt, request.worktree_override_path)
            made = self._services.launch(order, _context(project, run, profile))
        except WhiskError as error:
            message = f"launch failed: {error.message}"
            self._advance(lambda run: run if run.ended else steps.fail(run, RUNTIME, message, self.clock.now()))
            said = f"{error.message} (run {run.id} has failed)"
            raise type(error)(said, **{**error.details, "run": run.id}) from error
        assert made.pty_id is not None, "a session ordered with a terminal has one"
        session_id = made.session.id
        started = partial(
            steps.mark_running,
            session_id=session_id,
            pty_id=made.pty_id,
            profile_id=profile.id,
            actor=actor,
            now=self.clock.now(),
            prompt=run.prompt_snapshot,
            note=note,
        )
        try:
            return self._advance(started)
        except RefusedError:
            # It was called off while its agent started; nobody wants that agent.
            self._services.close_session(session_id)
            raise

    def _place(self, project: Project, item: WorkItem, run: Run, request: LaunchRun) -> Place:
        # Who says where the run works does not want a worktree besides.
        if request.worktree_override_path:
            return Place(item)
        return provide(self._services, project, item, run, self.clock.now())

    def cancel(self, actor: str | None, surface: Surface = "") -> Run:
        """The work is not wanted any more. Its terminal is left alone: what the agent has open is the person's."""
        event_id = new_id("wev")

        def change(db: Database) -> Run:
            run = run_storage.advance(
                db, self._id, lambda run: steps.cancel(run, actor, "", self.clock.now()), event_id
            )
            audit.record(db, _cancelled(run, actor, surface))
            return run

        self._show(self._services.write(change))
        return self._run

    def heartbeat(self) -> Run:
        """A sign of life; the last one wins. Means nothing to a run that has ended, and is no news to anybody."""
        self._run = self._step(lambda run: steps.see(run, self.clock.now()))
        return self._run

    def report(self, event: StatusEvent) -> Run:
        """The agent asks or is blocked: stored together with the run, which waits for input. An ended run refuses."""
        event_id = new_id("wev")

        def change(db: Database) -> Run:
            status_storage.insert(db, event)
            wait = partial(steps.await_input, actor=event.actor, message=event.message, now=self.clock.now())
            return run_storage.advance(db, self._id, wait, event_id)

        self._show(self._services.write(change))
        return self._run

    def spoken_to(self) -> None:
        """From its terminal: the agent, which was idle, has been given something to do. Whoever had to answer has
        answered, unless a question is open still.
        """
        event_id = new_id("wev")

        def change(db: Database) -> Run:
            if question_storage.count_open(db, self._id):
                return run_storage.get(db, self._id)
            return run_storage.advance(db, self._id, lambda run: steps.resume(run, RUNTIME, self.clock.now()), event_id)

        if self._run.status == "awaiting_input":
            self._show(self._services.write(change))

    def pty_ended(self, info: PtyInfo) -> None:
        """The terminal of the agent has ended."""
        self._advance(lambda run: steps.end_with_terminal(run, info.status, info.exit_code, self.clock.now(), info.id))

    def _catch_up(self, terminal: PtyRecord | None) -> None:
        """Record what happened while there was no actor: a launch that was cut short, or the end of the terminal."""
        run, now = self._run, self.clock.now()
        cut_short = terminal is not None and run.status == "queued" and terminal.id != run.pty_id
        if terminal is None:
            if run.status == "running":
                self._advance(lambda run: steps.lose(run, "its terminal is not known any more", now))
            return
        if cut_short:
            self._advance(
                lambda run: steps.mark_running(
                    run,
                    session_id=terminal.session_id,
                    pty_id=terminal.id,
                    profile_id=run.agent_profile_id or "",
                    actor=RUNTIME,
                    now=now,
                )
            )
        if terminal.ended and self._run.exit_code is None:
            self._advance(
                lambda run: steps.end_with_terminal(run, terminal.status, terminal.exit_code, now, terminal.id)
            )

    def _advance(self, step: Callable[[Run], Run]) -> Run:
        """Take a step from what is stored, in one write, then show it. What the step refuses is raised."""
        self._show(self._step(step))
        return self._run

    def _step(self, step: Callable[[Run], Run]) -> Run:
        event_id = new_id("wev")
        return self._services.write(lambda db: run_storage.advance(db, self._id, step, event_id))

    def _show(self, run: Run) -> None:
        if run == self._run:
            return
        self._run = run
        self._services.changed(run.id)


class RunHandle(Handle):
    show: Method[[], Run]
    refresh: Method[[], Run]
    launch: Method[[LaunchRun], Run]
    cancel: Method[..., Run]
    heartbeat: Method[[], Run]
    report: Method[[StatusEvent], Run]
    spoken_to: Method[[], None]
    pty_ended: Method[[PtyInfo], None]


def _load(db: Database, run_id: str) -> tuple[Run, PtyRecord | None]:
    """The run, and its terminal; of a launch that was cut short, the terminal that names the run."""
    run = run_storage.get(db, run_id)
    started = terminal_storage.select(db, run_id=run_id)
    if run.status == "queued" and started and not started[-1].ended:
        return run, started[-1]
    if run.pty_id is not None:
        return run, terminal_storage.find(db, run.pty_id)
    return run, started[-1] if started else None


def _cancelled(run: Run, actor: str | None, surface: Surface) -> AuditEntry:
    return AuditEntry(
        at=run.updated_at,
        who=actor or "",
        surface=surface,
        action="cancel",
        noun="run",
        id=run.id,
        outcome=run.status,
        project_id=run.project_id,
        work_item_id=run.work_item_id,
        run_id=run.id,
    )


def _need_queued(run: Run) -> None:
    if run.status != "queued":
        raise RefusedError(f"work item run {run.id} is {run.status}, not queued", run=run.id, status=run.status)


def _work(db: Database, run: Run) -> tuple[Project, WorkItem]:
    return PROJECTS.get(db, run.project_id), item_storage.get(db, run.work_item_id)


def _session(
    project: Project, item: WorkItem, run: Run, profile: Profile, system_prompt: str, directory: str
) -> CreateSession:
    title = _SESSION_TITLE.get(run.prompt_template_id, "Run")
    said = run.metadata.get(WORKING_DIR)
    in_project = said is not None and said.text == "projectRoot"
    worktree = item.worktree.worktree_path if item.worktree is not None and not in_project else ""
    hooks = profile.info.hook_provider
    return CreateSession(
        # A root that is gone would be refused by the session, so it is the project's, and the pane is in the worktree.
        root_dir=project.root_dir,
        working_dir=directory or worktree,
        name=f"#{item.number} {title} - {item.title}",
        project_id=project.id,
        initial_pty=StartPtyOptions(
            agent_profile_id=profile.id,
            # Typed into a shell, the words of whoever wrote the work item would be run as commands.
            prompt="" if profile.id == PLAIN_SHELL else run.prompt_snapshot,
            system_prompt=system_prompt,
            agent_bridge=AgentBridgeOptions(enabled=True, provider=hooks) if hooks else None,
        ),
    )


def _context(project: Project, run: Run, profile: Profile) -> LaunchContext:
    return LaunchContext(
        project_id=project.id,
        project_root=project.root_dir,
        work_item_id=run.work_item_id,
        run_id=run.id,
        actor="agent",
        agent_profile_id=profile.id,
        login_shell=bool(project.preferences.use_interactive_agent_shell),
    )
