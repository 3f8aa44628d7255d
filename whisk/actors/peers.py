"""The keeper of peers: whose event it is, and whose process has ended. No hook waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gevent.event import Event

from whisk.actors.actor import Actor
from whisk.actors.handle import Handle, Method
from whisk.actors.offload import offload
from whisk.actors.peer import IDLE_SECONDS, PeerActor, PeerHandle, PeerServices, too_long_ago
from whisk.bridges.request import BridgeRequest
from whisk.clock import Instant
from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent
from whisk.peers.handoff import Cause
from whisk.peers.liveness import Process
from whisk.peers.peer import Peer, new_peer
from whisk.peers.roster import Roster, seat_of
from whisk.storage import bridge as bridge_storage
from whisk.storage import peer as peer_storage
from whisk.storage.page import WHOLE
from whisk.storage.peer import PeerQuery

SILENT_SECONDS = 24 * 3600.0
"""After this, a peer whose end nobody would notice counts as gone."""
_SILENCE_ROUNDS = 300


class PeersActor(Actor):
    """Named `peers`; every session that is online is an actor below it. Built anew from storage at each start."""

    def __init__(self, services: PeerServices) -> None:
        super().__init__()
        self._services = services
        self._roster = Roster()
        # Processes that were seen alive here: only their absence means anything.
        self._alive: set[Process] = set()
        # Those that nobody has looked for yet, with what was above them: if that is here, so were they.
        self._fresh: dict[Process, tuple[Process, ...]] = {}
        self._missed: set[Process] = set()
        self._look = Event()

    def on_start(self) -> None:
        store = self._services.store
        requests = store.read(lambda db: bridge_storage.list_requests(db, ["pending"]))
        pending = frozenset(request.id for request in requests)
        for peer in store.read(peer_storage.everybody):
            self._roster.put(seat_of(peer))
            if peer.online:
                actor = self._actor(peer)
                if peer.prompts:
                    actor.waits_for.tell(pending)
                if peer.watched and peer.process is not None:
                    self._alive.add(peer.process)
        for request in requests:
            self.requested(request, True)
        self.spawn_greenlet(self._watch)

    def describe(self) -> dict[str, object]:
        return {"online": len(self._roster), "watched": len(self._alive)}

    def met(self, event: HookEvent, context: HookContext, at: Instant, keep: bool) -> None:
        """An event of some agent that came `at`, before anything is decided about it. Its words are kept if `keep`."""
        meeting = self._roster.meet(event, context)
        if meeting.how in ("stale", "ignored"):
            return
        for replaced in meeting.replaced:
            self._peer(replaced).over.tell("replaced")
        peer = new_peer(meeting.peer_id, event, at, parent=meeting.parent, process=meeting.process)
        rebound = meeting.how in ("bound", "revived")
        self._actor(peer).met.tell(event, context, at, meeting.process, rebound, keep)
        if meeting.process is not None and not self._is_looked_after(meeting.process):
            self._fresh[meeting.process] = meeting.above
            self._look.set()

    def requested(self, request: BridgeRequest, keep: bool) -> None:
        """A request waits for a person, or has ended."""
        peer_id = self._roster.find(request.provider, request.provider_session)
        if peer_id:
            self._peer(peer_id).requested.tell(request, keep)

    def ended(self, peer_id: str) -> None:
        """Told by a peer that has ended otherwise than by an event."""
        self._roster.end(peer_id)

    def forget(self, peer_ids: Sequence[str]) -> None:
        """They are not kept any more."""
        for peer_id in peer_ids:
            self._roster.forget(peer_id)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _actor(self, peer: Peer) -> PeerHandle:
        return self.system.spawn(
            PeerActor,
            peer,
            self._services,
            PeersHandle(self.name, self.system.node, self.system),
            name=f"peer:{peer.id}",
            parent=self.me,
            labels={"pty": peer.pty_id, "runtime": peer.runtime},
            restart="permanent",
            idle_after=IDLE_SECONDS,
            get_if_exists=True,
            handle=PeerHandle,
        )

    def _peer(self, peer_id: str) -> PeerHandle:
        return PeerHandle(f"peer:{peer_id}", self.system.node, self.system)

    def _watch(self) -> None:
        """Look after all processes again and again; in one go on another thread, so that a thousand cost no turn."""
        rounds = 0
        while True:
            self._look.clear()
            marks, fresh = self._roster.processes(), self._fresh
            self._fresh = {}
            if marks:
                above = {process for each in fresh.values() for process in each}
                self._tell(marks, fresh, offload(living, [*(marks.keys() | above)]))
            if rounds % _SILENCE_ROUNDS == 0:
                self._end_silent()
            rounds += 1
            self._look.wait(self._services.watch_seconds)

    def _tell(
        self, marks: dict[Process, tuple[str, ...]], fresh: dict[Process, tuple[Process, ...]], alive: set[Process]
    ) -> None:
        for process, peer_ids in marks.items():
            was_here = process in self._alive or not alive.isdisjoint(fresh.get(process, ()))
            if process in alive and process not in self._alive:
                for peer_id in peer_ids:
                    self._peer(peer_id).found.tell(process)
            elif process not in alive and was_here:
                self._gone(peer_ids, process)
        self._alive = alive & marks.keys()
        self._missed = marks.keys() - alive

    def _gone(self, peer_ids: Iterable[str], process: Process) -> None:
        for peer_id in peer_ids:
            seat = self._roster.get(peer_id)
            if seat is not None and seat.process == process:
                self._over(peer_id, "process_gone", process)

    def _is_looked_after(self, process: Process) -> bool:
        return process in self._alive or process in self._missed

    def _end_silent(self) -> None:
        now = self.clock.now()
        online = self._services.store.read(lambda db: peer_storage.select(db, PeerQuery(status="online"), WHOLE))
        for peer in online:
            if too_long_ago(peer, now, SILENT_SECONDS):
                self._over(peer.id, "not_seen")

    def _over(self, peer_id: str, cause: Cause, process: Process | None = None) -> None:
        self._roster.end(peer_id)
        self._peer(peer_id).over.tell(cause, process)


def living(processes: Sequence[Process]) -> set[Process]:
    """Those that run at this moment; blocks for some 20 µs each. A process that only waits to be buried has ended."""
    return {process for process in processes if _start_of(process.pid) == process.start}


def _start_of(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = stat.rpartition(b") ")[2].split()
    return "" if len(fields) < 20 or fields[0] in (b"Z", b"X") else fields[19].decode("ascii", "replace")


class PeersHandle(Handle):
    met: Method[[HookEvent, HookContext, Instant, bool], None]
    requested: Method[[BridgeRequest, bool], None]
    ended: Method[[str], None]
    forget: Method[[Sequence[str]], None]
