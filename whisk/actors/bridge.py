"""One blocked hook: it waits until somebody or something decides, and exactly one of them does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whisk.actors.actor import Actor, control
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.journal import JournalHandle
from whisk.actors.work_hooks import WorkHooks
from whisk.bridges.request import BridgeRequest, Closing, State, answered, close, ended, taken, timed_out
from whisk.bridges.resolution import Resolution, released, resolve, unanswered, undecided
from whisk.bridges.setting import PromptSettings
from whisk.clock import Instant
from whisk.errors import ConflictError, ForbiddenError, GoneError, UnavailableError
from whisk.events import EventType
from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent
from whisk.hooks.provider import write_answer
from whisk.storage import bridge as bridge_storage
from whisk.storage.database import Store

if TYPE_CHECKING:
    from whisk.actors.bridges import BridgesHandle

FIRST_ATTACH = 5.0
"""Seconds in which the hook that made a request must begin to wait for it."""
_RETRY = 2.0


@dataclass(frozen=True)
class BridgeServices:
    """What bridges need from the rest of the daemon.

    `announce(event, request id)` and `hooked(terminal)` do not block; the latter says that what the hooks and prompts
    of a terminal tell has changed on disk. `work` sees the events of runs first.
    `met` and `requested` are for whoever knows the agents, and block as little: each event, and when it came, before
    anything is decided; each request when it begins to wait and when it ends; and whether its words may be kept.
    """

    store: Store
    journal: JournalHandle
    settings: PromptSettings
    announce: Callable[[EventType, str], None]
    hooked: Callable[[str], None] = lambda pty_id: None
    work: WorkHooks | None = None
    met: Callable[[HookEvent, HookContext, Instant, bool], None] = lambda event, context, at, keep: None
    requested: Callable[[BridgeRequest, bool], None] = lambda request, keep: None

    def announce_request(self, request: BridgeRequest) -> None:
        self.announce("agent_prompts.changed", request.id)
        if request.is_approval:
            self.announce("agent_bridge_approvals.changed", request.id)


class BridgeActor(Actor):
    """Named `bridge:<request id>`. The request is in storage before it starts; `restored` ones were there before the
    daemon, and their hooks have some time to come back. It ends with its request.
    """

    def __init__(self, request_id: str, services: BridgeServices, keeper: BridgesHandle, restored: bool) -> None:
        super().__init__()
        self._id = request_id
        self._services = services
        self._keeper = keeper
        self._restored = restored
        self._request: BridgeRequest
        self._waiting: Future[str] | None = None
        self._hook = ""
        # What the hook has been told although the disk refused the record: the only end that can still be recorded.
        self._told: Closing | None = None
        # Answers whose outcome is being written. An actor that ended before would leave their senders without a word.
        self._unwritten: set[Future[BridgeRequest]] = set()

    def on_start(self) -> None:
        self._request = self._services.store.read(lambda db: bridge_storage.REQUESTS.get(db, self._id))
        if self._request.closing is not None:
            self.stop()
            return
        # The wall clock may have been set since it was asked; nobody waits longer than was meant.
        meant = self._request.created_at.seconds_until(self._request.expires_at)
        left = self.clock.now().seconds_until(self._request.expires_at)
        self.timers.start("limit", min(left, meant), self._expire)
        grace = self._services.settings.orphan_grace if self._restored else FIRST_ATTACH
        self.timers.start("hook", grace, self._hook_gone)

    def on_stop(self) -> None:
        self._give_up(UnavailableError("whiskd is stopping"))

    def on_failure(self, *reason: Any) -> None:
        # The hook's connection ends with this, and the hook comes back to the next incarnation.
        self._give_up(UnavailableError("the request is being restarted"))

    def show(self) -> BridgeRequest:
        return self._request

    @control  # as `detach` is, or a connection that ends at once would be detached before it was attached
    def attach(self, hook: str) -> Future[str]:
        """The output for the waiting hook, once there is one. `hook` names this connection; a later one takes over."""
        output: Future[str] = Future()
        if self._request.closing is not None:
            output.set(self._request.closing.output)
            return output
        if self._told is not None:
            output.set(self._told.output)
            return output
        self._let_go(GoneError(f"another connection waits for {self._id}"))
        self._waiting, self._hook = output, hook
        self._restored = False
        self.timers.cancel("hook")
        return output

    @control
    def detach(self, hook: str) -> None:
        """The connection `hook` is gone. It may come back: only after a moment is the request withdrawn."""
        if hook == self._hook and self._request.closing is None:
            self._waiting, self._hook = None, ""
            self.timers.start("hook", self._services.settings.detach_grace, self._hook_gone)

    def resolve(self, said: Resolution) -> Future[BridgeRequest]:
        """Answer it. The reply is the closed request, after it is on disk.

        Raises `InvalidError` and `RefusedError` with what would be right, `ConflictError` with the winner when somebody
        was first, `GoneError` when it is past.
        """
        self._check_answerer(said.pty_id)
        answer = resolve(self._request.ask, said)
        return self._close(
            answered(self._request, answer, self.clock.now(), said.actor or "person", surface=said.surface)
        )

    def release(self, said: Resolution) -> Future[BridgeRequest]:
        """Send the decision back to the agent's own window."""
        said.check()
        self._check_answerer(said.pty_id)
        answer = released(self._request.ask)
        output = write_answer(answer).decode() if answer is not None else ""
        by = said.actor or "person"
        why = said.reason or "asked_in_own_window"
        return self._close(ended("released", self.clock.now(), by, why, output, said.surface))

    @control
    def withdraw(self, reason: str) -> None:
        """The agent has its answer from elsewhere, or is gone."""
        self._call_off("withdrawn", "agent", reason)

    def describe(self) -> dict[str, object]:
        request = self._request
        return {
            "state": request.state,
            "provider": request.provider,
            "event": request.ask.event,
            "pty": request.pty_id,
            "attached": self._waiting is not None,
            "expiresAt": request.expires_at.rfc3339(),
        }

    def _check_answerer(self, pty_id: str) -> None:
        if self._request.closing is not None:
            raise taken(self._request)
        if self._told is not None:
            raise taken(close(self._request, self._told))
        if pty_id and pty_id == self._request.pty_id:
            raise ForbiddenError("an agent cannot answer its own prompt", pty=pty_id, id=self._id)

    def _expire(self) -> None:
        request, settings = self._request, self._services.settings
        waited = request.created_at.seconds_until(request.expires_at)
        answer = unanswered(request.ask, request.after, settings.default_answer, waited)
        self._conclude(timed_out(request, answer, self.clock.now()))

    def _hook_gone(self) -> None:
        if self._restored:
            self._call_off("orphaned", "whiskd", "daemon_restarted")
        else:
            self._call_off("withdrawn", "agent", "hook_gone")

    def _call_off(self, state: State, by: str, reason: str) -> None:
        """End the wait without a decision. A hook that is still there, or comes back, is not told so by silence."""
        answer = undecided(self._request.ask, "whisk does not wait for a person any more")
        output = write_answer(answer).decode() if answer is not None else ""
        self._conclude(ended(state, self.clock.now(), by, reason, output))

    def _conclude(self, closing: Closing) -> None:
        """Close it without anybody waiting for a reply."""
        if self._request.closing is None:
            closing = self._told or closing
            self.pipe(self._close(closing), self._concluded, closing)

    def _concluded(self, done: Future[BridgeRequest], closing: Closing) -> None:
        error = done.error()
        if error is None or isinstance(error, ConflictError | GoneError):
            return
        # The disk refuses. The agent must not wait beyond its limit for that; the record catches up when it can.
        self.log.error("a request could not be closed", outcome=closing.state, error=str(error))
        if self._waiting is not None:
            self._told = closing
            self._waiting.set(closing.output)
        self.timers.start("limit", _RETRY, self._conclude, closing)

    def _close(self, closing: Closing) -> Future[BridgeRequest]:
        closed = close(self._request, closing)
        reply: Future[BridgeRequest] = Future()
        # No time limit: whether it was written must be known, or the hook and the record could disagree.
        write = self._services.journal.write.options(timeout=None).remote(
            lambda db: bridge_storage.close_request(db, closed)
        )
        self._unwritten.add(reply)
        self.pipe(write, self._closed, closed, reply)
        return reply

    def _closed(self, done: Future[Any], closed: BridgeRequest, reply: Future[BridgeRequest]) -> None:
        error = done.error()
        self._unwritten.discard(reply)
        if error is None:
            self._finish(closed)
            reply.set(closed)
        else:
            if self._request.closing is None and isinstance(error, ConflictError | GoneError):
                # Closed by other hands than this actor's; what they said is what counts.
                self._finish(self._services.store.read(lambda db: bridge_storage.REQUESTS.get(db, self._id)))
            reply.set_error(error)
        if self._request.closing is not None and not self._unwritten:
            self.stop()

    def _finish(self, closed: BridgeRequest) -> None:
        self._request = closed
        self.timers.cancel_all()
        if self._waiting is not None and closed.closing is not None:
            self._waiting.set(closed.closing.output)
        self._keeper.closed.tell(closed)
        self._services.announce_request(closed)

    def _give_up(self, error: Exception) -> None:
        self._let_go(error)
        while self._unwritten:
            self._unwritten.pop().set_error(error)

    def _let_go(self, error: Exception) -> None:
        if self._waiting is not None:
            self._waiting.set_error(error)
            self._waiting = None


class BridgeHandle(Handle):
    show: Method[[], BridgeRequest]
    attach: Method[[str], str]
    detach: Method[[str], None]
    resolve: Method[[Resolution], BridgeRequest]
    release: Method[[Resolution], BridgeRequest]
    withdraw: Method[[str], None]
