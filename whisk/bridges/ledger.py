"""Which requests still matter: those that wait, and those whose answer has not been seen to take effect."""

from __future__ import annotations

from collections import OrderedDict

from whisk.bridges.evidence import Effect, effects, is_last
from whisk.bridges.request import BridgeRequest, event_key
from whisk.clock import Instant
from whisk.hooks.event import HookEvent, HookKind

REMEMBERED = 1000
RELEASE_SECONDS = 600.0


class Ledger:
    """Plain state without I/O; its owner feeds it requests as they change, and events as they come."""

    def __init__(self) -> None:
        # By the agent's own session, since every event concerns one of those; then by id, oldest first.
        self._sessions: dict[str, dict[str, BridgeRequest]] = {}
        self._where: OrderedDict[str, str] = OrderedDict()
        self._relays: dict[tuple[str, str], str] = {}
        self._released: OrderedDict[str, Instant] = OrderedDict()

    def __len__(self) -> int:
        return len(self._where)

    @property
    def pending(self) -> list[BridgeRequest]:
        """Oldest first."""
        found = [request for request_id in self._where if (request := self.get(request_id)) is not None]
        return [request for request in found if request.closing is None]

    def get(self, request_id: str) -> BridgeRequest | None:
        session = self._where.get(request_id)
        return None if session is None else self._sessions[session][request_id]

    def put(self, request: BridgeRequest) -> None:
        """A request that is new, or that has been closed or settled."""
        closing = request.closing
        if closing is None:
            self._relays[request.bridge_id, request.relay_id] = request.id
        else:
            self._relays.pop((request.bridge_id, request.relay_id), None)
        if closing is not None and closing.state == "released" and request.ask.event == "PreToolUse":
            self._released[request.call_key] = closing.at
            if len(self._released) > REMEMBERED:
                self._released.popitem(last=False)
        if closing is not None and closing.action is None:
            self._drop(request.id)
            return
        self._where[request.id] = request.provider_session
        self._sessions.setdefault(request.provider_session, {})[request.id] = request
        if len(self._where) > REMEMBERED:
            self._forget_oldest()

    def waiting_for(self, bridge_id: str, relay_id: str) -> BridgeRequest | None:
        """The pending request of this hook, when it comes back."""
        request_id = self._relays.get((bridge_id, relay_id))
        return None if request_id is None else self.get(request_id)

    def take_release(self, event: HookEvent, now: Instant) -> bool:
        """Whether this call was just sent back to the agent's own window; true once for each time.

        Released before its tool, a call is asked about again by the permission request that follows; a person who said
        "not here" must not be rung a second time. When the same call is about to start again, that one is over.
        """
        released = self._released.pop(event_key(event), None)
        return event.name != "PreToolUse" and released is not None and released.seconds_until(now) <= RELEASE_SECONDS

    def observe(self, event: HookEvent, bridge_id: str = "") -> list[Effect]:
        """What `event` proves about the requests in here; those about which no more can be learned are forgotten.

        One that came over a bridge concerns only that bridge's terminal: a conversation that was resumed in two of them
        has one session in both.
        """
        session = self._sessions.get(event.session, {})
        mine = {request.id: request for request in session.values() if bridge_id in ("", request.bridge_id)}
        if not mine:
            return []
        found = effects(mine.values(), event)
        for effect in found:
            if effect.proof == "overruled" or (effect.proof == "applied" and mine[effect.request_id].state != "denied"):
                self._drop(effect.request_id)
        if is_last(event):
            everybody = event.kind is HookKind.SESSION_ENDED
            for request in list(mine.values()):
                if request.closing is not None and (everybody or request.agent == event.agent):
                    self._drop(request.id)
        return found

    def _drop(self, request_id: str) -> None:
        session = self._where.pop(request_id, None)
        if session is not None:
            mine = self._sessions[session]
            del mine[request_id]
            if not mine:
                del self._sessions[session]

    def _forget_oldest(self) -> None:
        """Drop the request that has been closed for longest; what waits is never dropped."""
        for request_id in self._where:
            request = self.get(request_id)
            if request is not None and request.closing is not None:
                self._drop(request_id)
                return
