"""Who works on a project or a work item right now: what the selectors of mail stand for.

A worker is an open run, or a terminal that runs in a session of the project without belonging to such a run, or a
session of the project that shows no terminal at all, where somebody may work from outside. The order is that in which
runs, then sessions, were made.
"""

from __future__ import annotations

from collections.abc import Sequence

from peewee import Database

from whisk.clock import Instant
from whisk.mail.address import MailAddress
from whisk.storage import item as item_storage
from whisk.storage import run as run_storage
from whisk.storage import session as session_storage
from whisk.storage.project import PROJECTS
from whisk.storage.terminal import TerminalRow
from whisk.storage.turn import last_turn
from whisk.values import Record
from whisk.work.run import Run


class Worker(Record, frozen=True):
    """`address` is what mail is sent to; the terminal, where there is one, is what its state is known by."""

    address: MailAddress
    pty_id: str | None = None
    run_id: str | None = None
    session_id: str | None = None


def of_work_item(db: Database, work_item_id: str) -> list[Worker]:
    """Its open runs. Raises `NotFoundError` for an item that does not exist."""
    item_storage.get(db, work_item_id)
    return [_of_run(run) for run in run_storage.select_open(db, work_item_id=work_item_id)]


def of_project(db: Database, project_id: str) -> list[Worker]:
    """Its open runs, then its running terminals, then its empty sessions. Raises `NotFoundError`."""
    PROJECTS.get(db, project_id)
    runs = run_storage.select_open(db, project_id=project_id)
    taken = {run.pty_id for run in runs}
    run_sessions = {run.session_id for run in runs}
    running = _running_terminals(db)
    workers = [_of_run(run) for run in runs]
    for session in session_storage.select(db, project_id):
        shown = [pane.current_pty_id for pane in session.panes.values() if pane.current_pty_id is not None]
        for pty_id in sorted(shown):
            if pty_id in running and pty_id not in taken:
                address = MailAddress(kind="pty", id=pty_id)
                workers.append(Worker(address=address, pty_id=pty_id, session_id=session.id))
        if not shown and session.id not in run_sessions:
            workers.append(Worker(address=MailAddress(kind="session", id=session.id), session_id=session.id))
    return workers


class Standing(Record, frozen=True):
    """Who is idle since when, and of whom no hook tells anything. Who works or waits for a person is in neither."""

    idle: tuple[tuple[Instant, Worker], ...]
    untold: tuple[Worker, ...]

    def longest_idle(self) -> Worker | None:
        return min(self.idle, key=lambda found: found[0])[1] if self.idle else None


def standing(db: Database, workers: Sequence[Worker]) -> Standing:
    """What the hooks of these workers tell; one without a terminal has none."""
    turns = [(each, last_turn(db, each.pty_id)) for each in workers if each.pty_id is not None]
    return Standing(
        idle=tuple((turn.at, each) for each, turn in turns if turn is not None and turn.state == "idle"),
        untold=tuple(each for each, turn in turns if turn is None),
    )


def _of_run(run: Run) -> Worker:
    address = MailAddress(kind="run", id=run.id)
    return Worker(address=address, pty_id=run.pty_id, run_id=run.id, session_id=run.session_id)


def _running_terminals(db: Database) -> set[str]:
    rows = TerminalRow.select(TerminalRow.id).where(TerminalRow.status.in_(("starting", "running")))
    return {pty_id for (pty_id,) in rows.tuples().execute(db)}
