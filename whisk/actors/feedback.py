"""Review feedback on its way to the agent whose work it is about: as mail always, and typed where that is safe.

Mail to `run:<id>` is stored first, under a key of its own, so that nothing is lost and nothing is sent twice. Then it
is typed into the terminal of a live agent, and the mail is marked read; if it cannot be typed, the mail waits.

Safe means: the terminal was made for the run, its program is an agent that reports by hooks, and the last they tell is
that its turn is over, with no question and no dialog open. What is typed is one bracketed paste without escape
sequences; the Enter key follows when the screen has settled and the agent is still idle.
"""

from __future__ import annotations

from dataclasses import dataclass

from gevent import get_hub

from whisk.actors.future import get
from whisk.actors.post_office import PostOfficeHandle
from whisk.actors.pty import PtyHandle
from whisk.actors.system import ActorSystem
from whisk.errors import WhiskError
from whisk.mail.address import MailAddress
from whisk.mail.message import MailMessage, SendMailRequest
from whisk.storage.database import Store
from whisk.storage.turn import last_turn
from whisk.terminal.keys import pasted
from whisk.work.artifact import Artifact
from whisk.work.run import Run

# Agents take what is pasted in their own time; an Enter that comes at once is taken for a line end by some.
LEAST_SECONDS = 0.5
MOST_SECONDS = 3.0
QUIET_SECONDS = 0.15
_SNAPSHOT_SECONDS = 10.0
# What a person has begun to type goes to the agent's kill ring (Ctrl-A, Ctrl-K), from where Ctrl-Y brings it back.
_ASIDE = b"\x01\x0b"


@dataclass(frozen=True)
class Feedback:
    """Every method blocks the calling greenlet only."""

    system: ActorSystem
    store: Store

    def deliver(self, run: Run, artifact: Artifact) -> str:
        """How it went on its way: `typed`, `mail`, or `prompt` for a run that will be launched with it."""
        if run.status == "queued":
            return "prompt"
        message = self._mail(run, artifact)
        if all(reader.read_at is not None for reader in message.recipients):
            return "mail"
        text = f"<whisk-review-feedback>\n{artifact.body}\n</whisk-review-feedback>"
        try:
            typed = self._type(run, text)
        except WhiskError as error:
            self.system.log.warning("feedback was not typed", run=run.id, artifact=artifact.id, why=error.message)
            return "mail"
        if not typed:
            return "mail"
        office = self.system.get("post-office", handle=PostOfficeHandle)
        get(office.mark_read.remote(message.id, MailAddress(kind="run", id=run.id), None))
        return "typed"

    def mail(self, run: Run, artifact: Artifact) -> None:
        """Only the mail, if it has not been sent: for a daemon that finds the feedback of the last one."""
        in_prompt = any(event.type == "running" and event.at >= artifact.created_at for event in run.history)
        if run.status != "queued" and not in_prompt:
            self._mail(run, artifact)

    def _mail(self, run: Run, artifact: Artifact) -> MailMessage:
        request = SendMailRequest(
            from_=MailAddress(kind="work-item", id=artifact.work_item_id),
            to=[MailAddress(kind="run", id=run.id)],
            type="dispatch",
            priority="high",
            subject=artifact.title or "Review feedback",
            body=artifact.body,
            project_id=artifact.project_id,
            work_item_id=artifact.work_item_id,
            run_id=run.id,
            idempotency_key=artifact.id,
        )
        return get(self.system.get("post-office", handle=PostOfficeHandle).send.remote(request))

    def _type(self, run: Run, text: str) -> bool:
        """Whether it was typed and submitted. Nothing is typed unless everything says that it is safe."""
        pty = self.system.find(f"pty:{run.pty_id}", handle=PtyHandle)
        if pty is None or not run.owns_session or not self._is_idle(run):
            return False
        snapshot = get(pty.snapshot.options(timeout=_SNAPSHOT_SECONDS).remote(), timeout=_SNAPSHOT_SECONDS)
        if not snapshot.modes.bracketed_paste:
            return False
        get(pty.write.remote(_ASIDE + pasted(text), whole_lines=False))
        _settle(pty, snapshot.offset)
        if not self._is_idle(run):
            # A dialog has come up meanwhile, and Enter would answer it. What was pasted stands there for a person.
            return False
        get(pty.write.remote(b"\r", whole_lines=False))
        return True

    def _is_idle(self, run: Run) -> bool:
        turn = self.store.read(lambda db: last_turn(db, run.pty_id or ""))
        return turn is not None and turn.state == "idle"


def _settle(pty: PtyHandle, at: int) -> None:
    """Return when the terminal has been quiet for a moment, at the latest after `MOST_SECONDS`."""
    loop = get_hub().loop
    begun = loop.now()
    while True:
        output = get(pty.follow.remote(at, 1 << 20, QUIET_SECONDS))
        loop.update_now()
        passed = loop.now() - begun
        if output.ended or passed >= MOST_SECONDS or (not output.data and passed >= LEAST_SECONDS):
            return
        at = output.next
