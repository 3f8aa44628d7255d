"""One agent session, whoever started it: what its events tell, kept in storage without making any hook wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from whisk.actors.actor import Actor
from whisk.actors.future import Future
from whisk.actors.handle import Handle, Method
from whisk.actors.journal import JournalHandle
from whisk.actors.pty import PtyHandle
from whisk.bridges.request import BridgeRequest
from whisk.clock import Instant
from whisk.events import EventType
from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent
from whisk.peers.handoff import Cause
from whisk.peers.liveness import Process
from whisk.peers.peer import Peer, after_event, after_request, bound, end, only_waiting
from whisk.storage import peer as peer_storage
from whisk.storage import terminal as terminal_storage
from whisk.storage.database import Store

if TYPE_CHECKING:
    from whisk.actors.peers import PeersHandle

SEEN_SECONDS = 5.0
"""How far the stored "last seen" may lag behind: an agent that works reports many times in a second."""
IDLE_SECONDS = 5.0


@dataclass(frozen=True)
class PeerServices:
    """`announce(event, peer)` and `agent_gone(runtime, session, pty)` do not block; the latter ends what waits."""

    store: Store
    journal: JournalHandle
    announce: Callable[[EventType, str], None]
    agent_gone: Callable[[str, str, str], None]
    watch_seconds: float = 2.0
    kept_ended: int = field(default=peer_storage.KEPT_ENDED)


class PeerActor(Actor):
    """Named `peer:<id>`, below `peers`. It rests when the session is over."""

    def __init__(self, peer: Peer, services: PeerServices, keeper: PeersHandle) -> None:
        super().__init__()
        self._peer = self._written = peer
        self._services = services
        self._keeper = keeper
        self._terminal = ""

    def on_start(self) -> None:
        stored = self._services.store.read(lambda db: peer_storage.find(db, self._peer.id))
        self._peer = self._written = stored or self._peer
        if self._peer.online:
            self._watch_terminal()

    def on_stop(self) -> None:
        # Written by the journal, which ends later.
        if self._peer != self._written:
            self._write()

    def may_passivate(self) -> bool:
        return not self._peer.online

    def describe(self) -> dict[str, object]:
        peer = self._peer
        return {"runtime": peer.runtime, "status": peer.status, "state": peer.state, "pty": peer.pty_id}

    def info(self) -> Peer:
        return self._peer

    def met(
        self, event: HookEvent, context: HookContext, at: Instant, process: Process | None, rebound: bool, keep: bool
    ) -> None:
        """An event of this session, that came `at`. `rebound`: its agent is in it anew. Words are kept if `keep`."""
        peer = self._peer
        if not peer.online and not rebound:
            return
        peer = bound(peer, event, at) if rebound else peer
        if process != peer.process:
            peer = msgspec.structs.replace(peer, process=process, watched=False)
        self._become(after_event(peer, event, context, at, keep=keep))
        if self._peer.online:
            self._watch_terminal()

    def requested(self, request: BridgeRequest, keep: bool) -> None:
        """A request of this session waits for a person, or has ended."""
        self._become(after_request(self._peer, request, keep=keep))

    def waits_for(self, pending: frozenset[str]) -> None:
        """The daemon has begun, and these are all the requests that are still open."""
        self._become(only_waiting(self._peer, pending, self.clock.now()))

    def found(self, process: Process) -> None:
        """Its process was seen alive: whoever ends it, that will be noticed."""
        if self._peer.process == process:
            self._become(msgspec.structs.replace(self._peer, watched=True))

    def over(self, cause: Cause, process: Process | None = None) -> None:
        """The agent is gone without a word. With a `process`, only if that is still the one it was."""
        if self._peer.online and process in (None, self._peer.process):
            self._become(end(self._peer, self.clock.now(), cause))
            self._services.agent_gone(self._peer.runtime, self._peer.provider_session_id, self._peer.pty_id)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _become(self, peer: Peer) -> None:
        before, self._peer = self._peer, peer
        if peer == before:
            return
        if msgspec.structs.replace(peer, last_seen_at=before.last_seen_at) != before:
            self._write(announce=True)
        elif "seen" not in self.timers:
            self.timers.start("seen", SEEN_SECONDS, self._write)

    def _write(self, announce: bool = False) -> None:
        self.timers.cancel("seen")
        peer, keep = self._peer, self._services.kept_ended
        self._written = peer

        def written(done: Future[Any]) -> None:
            if (error := done.error()) is not None:
                self.log.warning("a peer was not written", error=str(error))
                return
            if done.get(timeout=0):
                self._keeper.forget.tell(done.get(timeout=0))
            if announce:
                self._services.announce("peers.changed", peer.id)

        write = self._services.journal.write.options(timeout=None)
        write.remote(lambda db: peer_storage.save(db, peer, keep)).then(written)

    def _watch_terminal(self) -> None:
        """Learn of the end of its terminal, for an agent whose process cannot be watched."""
        pty_id = self._peer.pty_id
        if not pty_id or pty_id == self._terminal:
            return
        self._terminal = pty_id
        pty = self.system.find(f"pty:{pty_id}", handle=PtyHandle)
        if pty is not None:
            self.pipe(pty.wait_exit.options(timeout=None).remote(), self._terminal_ended, pty_id)
        elif self._services.store.read(lambda db: terminal_storage.find(db, pty_id)) is not None:
            # One that was never ours says nothing; one of ours that has no actor is over.
            self._end_with_terminal(pty_id)

    def _terminal_ended(self, done: Future[Any], pty_id: str) -> None:
        if done.error() is None:
            self._end_with_terminal(pty_id)

    def _end_with_terminal(self, pty_id: str) -> None:
        if self._peer.pty_id == pty_id and not self._peer.watched:
            self.over("terminal_ended")
            self._keeper.ended.tell(self._peer.id)


class PeerHandle(Handle):
    info: Method[[], Peer]
    met: Method[[HookEvent, HookContext, Instant, Process | None, bool, bool], None]
    requested: Method[[BridgeRequest, bool], None]
    waits_for: Method[[frozenset[str]], None]
    found: Method[[Process], None]
    over: Method[..., None]


def too_long_ago(peer: Peer, now: Instant, seconds: float) -> bool:
    """Whether a peer whose end nobody would notice has been silent for too long."""
    return not peer.watched and peer.last_seen_at.seconds_until(now) > seconds
