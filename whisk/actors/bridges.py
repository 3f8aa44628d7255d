"""The keeper of bridges: it knows who may wait, what the rules say, and what every event of an agent proves."""

from __future__ import annotations

from typing import Any

import msgspec

from whisk.actors.bridge import BridgeActor, BridgeHandle, BridgeServices
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.hook_log import HookLog
from whisk.actors.policy_keeper import PolicyKeeper
from whisk.actors.pty import PtyHandle
from whisk.actors.work_hooks import WorkAnswer, WorkHooks
from whisk.bridges.bridge import HOOK_PROTOCOL, Bridge, BridgeCredentials, BridgeOwner, open_bridge
from whisk.bridges.hook import HookCall, HookOutcome, come_back, context_of, is_for_people, result_unheld, speaks
from whisk.bridges.ledger import Ledger
from whisk.bridges.policy import Policy, PolicyDraft, Verdict
from whisk.bridges.request import BridgeRequest, answered, close, is_about, new_request
from whisk.bridges.resolution import undecided
from whisk.clock import Instant
from whisk.errors import UnauthorizedError
from whisk.hooks.answer import Allowed, ApprovalAsk, Ask, Denied, ElicitationAsk, QuestionAsk
from whisk.hooks.entry import AgentBridgeEvent, HookContext, Result, entry_of
from whisk.hooks.event import HookEvent
from whisk.hooks.provider import find_provider, write_answer
from whisk.ids import new_id
from whisk.storage import bridge as bridge_storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.hook_event import HookLogSettings

_RECENT_SECONDS = 3600.0


class BridgesActor(PolicyKeeper):
    """Named `bridges`; every waiting request is an actor below it. It blocks on nothing but short reads."""

    def __init__(self, services: BridgeServices) -> None:
        super().__init__(services)
        self._ledger = Ledger()
        self._bridges: dict[str, Bridge] = {}
        self._watched: set[str] = set()
        self._hook_log = HookLog(services)

    def on_start(self) -> None:
        store = self._services.store
        self._hook_log.load()
        since = self.clock.now().plus(-_RECENT_SECONDS)
        self._load_policies()
        self._bridges = {bridge.id: bridge for bridge in store.read(bridge_storage.open_bridges)}
        for request in store.read(lambda db: bridge_storage.closed_since(db, since)):
            if request.applied_at is None and request.overruled_at is None:
                self._ledger.put(request)
        for request in store.read(lambda db: bridge_storage.list_requests(db, ["pending"])):
            self._ledger.put(request)
            self._spawn(request, restored=True)
        for pty_id in {bridge.owner.pty_id for bridge in self._bridges.values()}:
            if pty_id and self._has_ended(pty_id):
                self.close_pty(pty_id)

    def on_stop(self) -> None:
        self._hook_log.end()

    # -- bridges -----------------------------------------------------------------------------------------------------

    def register(self, owner: BridgeOwner) -> Future[BridgeCredentials]:
        """Make a bridge for a terminal that is about to start; the reply comes when it is stored.

        Raises `InvalidError` for a provider without hooks that whisk can answer.
        """
        bridge, credentials = open_bridge(owner, self.clock.now())
        reply: Future[BridgeCredentials] = Future()
        write = self._services.journal.write.remote(lambda db: bridge_storage.BRIDGES.insert(db, bridge))
        self.pipe(write, self._registered, bridge, credentials, reply)
        return reply

    def close_pty(self, pty_id: str) -> int:
        """The terminal has ended: its bridges admit nobody any more, and what waited in it is withdrawn."""
        mine = [bridge for bridge in self._bridges.values() if bridge.owner.pty_id == pty_id]
        self._watched.discard(pty_id)
        for bridge in mine:
            self._close_bridge(bridge)
        return len(mine)

    def provider(self, bridge_id: str) -> str:
        """The agent that a bridge was made for; empty for a bridge that is not open."""
        bridge = self._bridges.get(bridge_id)
        return bridge.owner.provider if bridge is not None else ""

    # -- hooks -------------------------------------------------------------------------------------------------------

    def hook(self, call: HookCall) -> HookOutcome | Future[HookOutcome]:
        """What a hook with credentials gets; `UnauthorizedError` when its bridge does not admit it."""
        bridge = self._bridges.get(call.bridge_id)
        if bridge is None or not bridge.admits(call.token):
            raise UnauthorizedError("unauthorized agent bridge hook", bridge=call.bridge_id)
        self._watch(bridge)
        if (known := self._made_before(call)) is not None:
            if is_about(known, call.event):
                return come_back(known)
            # Another call's answer is never this one's, whatever name it comes under.
            call = msgspec.structs.replace(call, relay_id=new_id("relay"))
        context = context_of(call.context, bridge)
        event = call.event
        self._services.met(event, context, self.clock.now(), self._hook_log.settings.enabled)
        self._check_protocol(event, context)
        self._observe(event, bridge.id)
        work, run_id = self._services.work, bridge.owner.run_id
        if work is not None and work.concerns(event, run_id):
            told: Future[WorkAnswer | None] = Future()
            reply: Future[HookOutcome] = Future()
            self.spawn_greenlet(_ask_work, work, event, run_id, told)
            self.pipe(told, self._work_told, call, bridge, context, reply)
            return reply
        return self._judged(call, bridge, context)

    def _work_told(
        self,
        told: Future[WorkAnswer | None],
        call: HookCall,
        bridge: Bridge,
        context: HookContext,
        reply: Future[HookOutcome],
    ) -> None:
        """The work has had its look at an event; what it says nothing about is an event like any other."""
        answer = told.get()
        if answer is not None:
            self._hook_log.add(entry_of(call.event, context, answer.result, self.clock.now()))
            reply.set(HookOutcome(result=answer.result, output=answer.output))
            return
        outcome = self._judged(call, bridge, context)
        if isinstance(outcome, Future):
            outcome.copy_to(reply)
        else:
            reply.set(outcome)

    def _judged(self, call: HookCall, bridge: Bridge, context: HookContext) -> HookOutcome | Future[HookOutcome]:
        event = call.event
        ask = find_provider(event.provider).ask_of(event)
        verdict = self._judge(event, bridge)
        if event.payload.fault is not None and not (verdict is not None and isinstance(ask, ApprovalAsk)):
            ask = None
        if ask is None:
            return self._pass(event, context, result_unheld(event, context))
        if (speaking := speaks(ask, verdict)) is not None:
            return self._decide(call, bridge, context, ask, speaking)
        if not is_for_people(ask, verdict):
            return self._pass(event, context, "passed")
        if self._ledger.take_release(event, self.clock.now()):
            return self._pass(event, context, "released_before")
        return self._ask(call, bridge, context, ask, verdict)

    def note(self, event: HookEvent, context: HookContext) -> Future[AgentBridgeEvent]:
        """An event without credentials: only its news counts. The reply comes when it is in the log."""
        self._services.met(event, context, self.clock.now(), self._hook_log.settings.enabled)
        self._observe(event)
        return self._hook_log.add(entry_of(event, context, result_unheld(event, context), self.clock.now()))

    def set_log(self, enabled: bool | None, clear_after_session: bool | None) -> Future[HookLogSettings]:
        """What holds for the hook log from now on; None leaves it as it is. The reply comes when it is stored."""
        now = self._hook_log.settings
        kept = now.enabled if enabled is None else enabled
        clears = now.clear_after_session if clear_after_session is None else clear_after_session
        return self._hook_log.choose(HookLogSettings(enabled=kept, clear_after_session=clears))

    def closed(self, request: BridgeRequest) -> None:
        """Told by a request's actor when it has ended."""
        self._ledger.put(request)
        self._services.requested(request, self._hook_log.settings.enabled)
        self._services.hooked(request.pty_id)

    def agent_gone(self, provider: str, session: str, pty_id: str) -> None:
        """The process of an agent has ended without a word: nobody is left for whom to ask.

        Only in its own terminal: the same session may have been taken up in another one meanwhile.
        """
        gone = (provider, session, pty_id)
        for request in self._ledger.pending:
            if (request.provider, request.provider_session, request.pty_id) == gone:
                self._actor(request.id).withdraw.tell("agent_gone")

    def describe(self) -> dict[str, object]:
        return {
            "bridges": len(self._bridges),
            "pending": len(self._ledger.pending),
            "unsettled": len(self._ledger),
            "policies": len(self._policies),
        }

    # -- inside ------------------------------------------------------------------------------------------------------

    def _close_bridge(self, bridge: Bridge) -> None:
        closed = msgspec.structs.replace(bridge, closed_at=self.clock.now())
        del self._bridges[bridge.id]
        self._hook_log.write(lambda db: bridge_storage.BRIDGES.update(db, closed))
        for request in self._ledger.pending:
            if request.bridge_id == bridge.id:
                self._actor(request.id).withdraw.tell("session_ended")

    def _registered(
        self, done: Future[Any], bridge: Bridge, credentials: BridgeCredentials, reply: Future[BridgeCredentials]
    ) -> None:
        if (error := done.error()) is not None:
            reply.set_error(error)
            return
        self._bridges[bridge.id] = bridge
        reply.set(credentials)

    def _made_before(self, call: HookCall) -> BridgeRequest | None:
        """The request of a hook whose connection broke."""
        known = self._ledger.waiting_for(call.bridge_id, call.relay_id)
        if known is None and call.again:
            known = self._services.store.read(
                lambda db: bridge_storage.find_by_relay(db, call.bridge_id, call.relay_id)
            )
        return known

    def _decide(
        self, call: HookCall, bridge: Bridge, context: HookContext, ask: Ask, verdict: Verdict
    ) -> Future[HookOutcome]:
        """A rule speaks: nobody waits, and the record says which rule it was."""
        assert not isinstance(ask, ElicitationAsk)
        now = self.clock.now()
        answer: Denied | Allowed
        result: Result = "denied_by_rule"
        if verdict.effect == "deny" or isinstance(ask, QuestionAsk):
            answer = Denied(ask=ask, message=verdict.message())
        else:
            answer, result = Allowed(ask=ask), "allowed_by_rule"
        pending = new_request(bridge, call.relay_id, call.event, ask, now, 0.0, "ask", verdict.policy.id)
        request = close(pending, answered(pending, answer, now, "rule", verdict.policy.id))
        assert request.closing is not None
        outcome = HookOutcome(result=result, output=request.closing.output)
        return self._store(call, request, context, outcome)

    def _ask(
        self, call: HookCall, bridge: Bridge, context: HookContext, ask: Ask, verdict: Verdict | None
    ) -> Future[HookOutcome]:
        settings = self._services.settings
        rule_id = verdict.policy.id if verdict is not None else ""
        wait = settings.wait(call.event.provider)
        now = self.clock.now()
        request = new_request(bridge, call.relay_id, call.event, ask, now, wait, settings.after, rule_id)
        outcome = HookOutcome(
            result="approval_created" if request.is_approval else "prompt_created",
            request_id=request.id,
            expires_at=request.expires_at,
        )
        return self._store(call, request, context, outcome)

    def _store(
        self, call: HookCall, request: BridgeRequest, context: HookContext, outcome: HookOutcome
    ) -> Future[HookOutcome]:
        reply: Future[HookOutcome] = Future()
        write = self._services.journal.write.options(timeout=None).remote(
            lambda db: bridge_storage.insert_request(db, request)
        )
        self.pipe(write, self._stored, call, request, context, outcome, reply)
        return reply

    def _stored(
        self,
        done: Future[Any],
        call: HookCall,
        request: BridgeRequest,
        context: HookContext,
        outcome: HookOutcome,
        reply: Future[HookOutcome],
    ) -> None:
        if (error := done.error()) is not None:
            # What cannot be recorded allows nothing, but a denial stands, and so does a rule that holds a call.
            self.log.error("a request could not be stored", request=request.id, error=str(error))
            output = _unstored(request)
            reply.set(HookOutcome(result="logged", output=output)) if output else reply.set_error(error)
            return
        self._ledger.put(request)
        self._services.requested(request, self._hook_log.settings.enabled)
        self._hook_log.add(
            entry_of(
                call.event,
                context,
                outcome.result,
                self.clock.now(),
                request_id=outcome.request_id,
                rule_id=request.closing.rule_id if request.closing is not None else request.rule_id,
            )
        )
        if request.closing is None:
            self._spawn(request, restored=False)
            self._services.announce_request(request)
        reply.set(outcome)

    def _spawn(self, request: BridgeRequest, *, restored: bool) -> None:
        self.system.spawn(
            BridgeActor,
            request.id,
            self._services,
            BridgesHandle(self.name, self.system.node, self.system),
            restored,
            name=f"bridge:{request.id}",
            parent=self.me,
            labels={"pty": request.pty_id, "session": request.session_id},
            get_if_exists=True,
            handle=BridgeHandle,
        )

    def _actor(self, request_id: str) -> BridgeHandle:
        return BridgeHandle(f"bridge:{request_id}", self.system.node, self.system)

    def _observe(self, event: HookEvent, bridge_id: str = "") -> None:
        for effect in self._ledger.observe(event, bridge_id):
            if effect.proof == "withdrawn":
                self._actor(effect.request_id).withdraw.tell(effect.reason)
            else:
                self._settle(effect.request_id, **{f"{effect.proof}_at": self.clock.now()})

    def _settle(self, request_id: str, **changes: Instant) -> None:
        def write(db: Any) -> None:
            known = bridge_storage.REQUESTS.get(db, request_id)
            bridge_storage.REQUESTS.update(db, msgspec.structs.replace(known, **changes))

        if (known := self._ledger.get(request_id)) is not None:
            self._ledger.put(msgspec.structs.replace(known, **changes))
        self._hook_log.write(write, "agent_prompts.changed", request_id)

    def _pass(self, event: HookEvent, context: HookContext, result: Result) -> HookOutcome:
        self._hook_log.add(entry_of(event, context, result, self.clock.now()))
        return HookOutcome(result=result)

    def _check_protocol(self, event: HookEvent, context: HookContext) -> None:
        if context.protocol not in (None, HOOK_PROTOCOL):
            self.log.warning("hook protocol mismatch", given=context.protocol, expected=HOOK_PROTOCOL)
            self._hook_log.add(entry_of(event, context, "hook_protocol_mismatch", self.clock.now()))

    def _has_ended(self, pty_id: str) -> bool:
        record = self._services.store.read(lambda db: terminal_storage.find(db, pty_id))
        return record is not None and record.ended

    def _watch(self, bridge: Bridge) -> None:
        """Learn of the end of the bridge's terminal, whoever tells and whoever does not."""
        pty_id = bridge.owner.pty_id
        if not pty_id or pty_id in self._watched:
            return
        pty = self.system.find(f"pty:{pty_id}", handle=PtyHandle)
        if pty is not None:
            self._watched.add(pty_id)
            self.pipe(pty.wait_exit.options(timeout=None).remote(), self._pty_ended, pty_id)

    def _pty_ended(self, done: Future[Any], pty_id: str) -> None:
        self._watched.discard(pty_id)
        if done.error() is None:
            self.close_pty(pty_id)


def _unstored(request: BridgeRequest) -> str:
    """What a hook is told whose request is not on disk: a denial, or that nobody could be asked; else nothing."""
    if request.closing is not None:
        return request.closing.output if request.state == "denied" else ""
    answer = undecided(request.ask, "whisk could not store this call to ask a person")
    return write_answer(answer).decode() if answer is not None else ""


def _ask_work(work: WorkHooks, event: HookEvent, run_id: str, told: Future[WorkAnswer | None]) -> None:
    answer = None
    try:
        answer = work.take(event, run_id)
    finally:
        # A hook waits for this, whatever went wrong.
        told.set(answer)


class BridgesHandle(Handle):
    register: Method[[BridgeOwner], BridgeCredentials]
    close_pty: Method[[str], int]
    provider: Method[[str], str]
    hook: Method[[HookCall], HookOutcome]
    note: Method[[HookEvent, HookContext], AgentBridgeEvent]
    set_log: Method[[bool | None, bool | None], HookLogSettings]
    closed: Method[[BridgeRequest], None]
    agent_gone: Method[[str, str, str], None]
    add_policy: Method[[PolicyDraft], Policy]
    remove_policy: Method[..., Policy]
    policies: Method[[], list[Policy]]
