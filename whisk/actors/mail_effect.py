"""What mail does beyond being read: it completes a run, opens a gate, or renews a sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from whisk.actors.future import get
from whisk.actors.run import RunHandle
from whisk.actors.system import ActorSystem
from whisk.errors import BusyError, RefusedError
from whisk.mail.message import Draft, MailMessage
from whisk.work.gate import OpenGate

if TYPE_CHECKING:
    from whisk.actors.work import Work

Effect = Literal["complete", "gate"]


def effect_of(draft: Draft) -> Effect | None:
    """What must happen once this mail is stored. Decided before storage, so that a crash in between is noticed."""
    if draft.type == "worker_done" and (draft.from_.kind == "run" or draft.run_id is not None):
        return "complete"
    if draft.type == "decision_gate" and _items(draft):
        return "gate"
    return None


class MailEffects(Protocol):
    """Both may block the calling greenlet and raise refusals, which become warnings to the sender."""

    def apply(self, message: MailMessage) -> None: ...
    def beat(self, message: MailMessage) -> None:
        """A sign of life of the sender; does not block."""


class WorkEffects:
    """The effects on projects, work items and runs."""

    def __init__(self, system: ActorSystem, work: Work) -> None:
        self._system = system
        self._work = work

    def apply(self, message: MailMessage) -> None:
        if message.type == "worker_done":
            self._complete(message)
        elif message.type == "decision_gate":
            gate = OpenGate(
                name=message.subject or message.id,
                source=message.id,
                run_id=message.run_id or "",
                reason=message.body or "",
                actor=str(message.from_),
            )
            for item_id in _items(message):
                get(self._work.item(item_id).open_gate.remote(gate))

    def beat(self, message: MailMessage) -> None:
        run_id = message.from_.id if message.from_.kind == "run" else message.run_id
        run = self._system.find(f"run:{run_id}", handle=RunHandle) if run_id is not None else None
        if run is not None:
            try:
                run.heartbeat.tell()
            except BusyError:
                # A run that has so much to do is alive.
                return

    def _complete(self, message: MailMessage) -> None:
        sender = message.from_
        run_id = sender.id if sender.kind == "run" else message.run_id
        if run_id is None:
            return
        run = get(self._work.run(run_id).refresh.remote())
        # An agent's mail is from its terminal by default; only its own run is completed by it.
        if sender.kind != "run" and sender.id not in (run.pty_id, run.session_id):
            raise RefusedError(f"{sender} does not belong to run {run_id}, which goes on", run=run_id)
        said = message.body or message.subject or ""
        get(self._work.item(run.work_item_id).finish_run.remote(run.id, str(sender), said, "mail"))


def _items(mail: Draft | MailMessage) -> list[str]:
    to = mail.to if isinstance(mail, Draft) else [reader.address for reader in mail.recipients]
    items = [address.id for address in to if address.kind == "work-item"]
    return items or ([mail.work_item_id] if mail.work_item_id is not None else [])
