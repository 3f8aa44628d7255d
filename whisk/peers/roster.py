"""Which peer an event belongs to. Pure state without I/O; its owner feeds it every event, and every end.

The agent's own session names a peer, and what binds several of its sessions into one is the process and the terminal
that they share. An agent that another one's tool has started has that one's terminal, but a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from whisk.hooks.entry import HookContext
from whisk.hooks.event import HookEvent, HookKind
from whisk.ids import new_id
from whisk.peers.liveness import Ancestry, Process, read_ancestry
from whisk.peers.peer import REBINDS, Peer, told_state
from whisk.values import Record

# One process of these serves the sessions of several windows.
_SHARED = frozenset({"codex", "opencode"})
_NO_SIGN = (HookKind.UNKNOWN, HookKind.OTHER)


class Seat(Record, frozen=True):
    """What of a peer tells it from others. `place` is its terminal: whisk's, and tmux' server and pane."""

    id: str
    runtime: str
    session: str
    former: tuple[str, ...] = ()
    place: tuple[str, str, str] = ("", "", "")
    process: Process | None = None
    parent: str = ""
    living: bool = True
    left: bool = False
    busy: bool = False


class Meeting(NamedTuple):
    """`new`, `known`, `bound` to another session of its own, back online as `revived`; or an event that is `stale`,
    of a session that is over, or `ignored`. `replaced` are peers that must have ended: this one is in their place.
    """

    how: Literal["new", "known", "bound", "revived", "stale", "ignored"]
    peer_id: str = ""
    parent: str = ""
    process: Process | None = None
    above: tuple[Process, ...] = ()
    replaced: tuple[str, ...] = ()


class _Sight(NamedTuple):
    event: HookEvent
    place: tuple[str, str, str]
    ancestry: Ancestry

    @property
    def starts(self) -> bool:
        return self.event.kind is HookKind.SESSION_STARTED and self.event.source != "compact"

    @property
    def rebinds(self) -> bool:
        return self.starts and self.event.source in REBINDS


def seat_of(peer: Peer) -> Seat:
    return Seat(
        id=peer.id,
        runtime=peer.runtime,
        session=peer.provider_session_id,
        former=peer.former_sessions,
        place=(peer.pty_id, peer.tmux_server, peer.tmux_pane),
        process=peer.process,
        parent=peer.parent,
        living=peer.online,
        left=peer.left_session,
        busy=peer.state in ("working", "waiting"),
    )


class Roster:
    def __init__(self) -> None:
        self._seats: dict[str, Seat] = {}
        self._sessions: dict[tuple[str, str], list[str]] = {}
        self._places: dict[tuple[str, str, str], list[str]] = {}
        self._processes: dict[Process, list[str]] = {}

    def __len__(self) -> int:
        return sum(seat.living for seat in self._seats.values())

    def put(self, seat: Seat) -> None:
        """A seat that is new, or has changed."""
        self.forget(seat.id)
        self._seats[seat.id] = seat
        for session in (*seat.former, seat.session):
            self._sessions.setdefault((seat.runtime, session), []).append(seat.id)
        if any(seat.place):
            self._places.setdefault(seat.place, []).append(seat.id)
        if seat.process is not None:
            self._processes.setdefault(seat.process, []).append(seat.id)

    def get(self, peer_id: str) -> Seat | None:
        return self._seats.get(peer_id)

    def forget(self, peer_id: str) -> None:
        """Its events would make a new peer from now on."""
        seat = self._seats.pop(peer_id, None)
        if seat is None:
            return
        for session in {*seat.former, seat.session}:
            _remove(self._sessions, (seat.runtime, session), peer_id)
        _remove(self._places, seat.place, peer_id)
        if seat.process is not None:
            _remove(self._processes, seat.process, peer_id)

    def end(self, peer_id: str) -> None:
        if (seat := self._seats.get(peer_id)) is not None and seat.living:
            self.put(msgspec.structs.replace(seat, living=False, left=False, busy=False))

    def processes(self) -> dict[Process, tuple[str, ...]]:
        """The living peers by their process."""
        found = {mark: tuple(id for id in ids if self._seats[id].living) for mark, ids in self._processes.items()}
        return {mark: ids for mark, ids in found.items() if ids}

    def find(self, runtime: str, session: str) -> str:
        """The living peer in this session; empty where there is none."""
        found = (self._seats[id] for id in reversed(self._sessions.get((runtime, session), [])))
        return next((seat.id for seat in found if seat.living and seat.session == session), "")

    def meet(self, event: HookEvent, context: HookContext) -> Meeting:
        """Whose event this is. What it tells of identity is taken in here; everything else is its peer's."""
        if not event.session:
            return Meeting("ignored")
        place = (context.pty_id, context.tmux_server, context.tmux_pane)
        sight = _Sight(event, place, read_ancestry(context.ancestry))
        known = self._known(sight)
        meeting = self._stranger(sight) if known is None else self._known_met(known, sight)
        if meeting.how not in ("stale", "ignored"):
            self._take_turn(self._seats[meeting.peer_id], event)
        for replaced in meeting.replaced:
            self.end(replaced)
        return meeting

    # -- inside ------------------------------------------------------------------------------------------------------

    def _take_turn(self, seat: Seat, event: HookEvent) -> None:
        if event.kind is HookKind.SESSION_ENDED:
            left = event.reason in REBINDS
            self.put(msgspec.structs.replace(seat, left=left, living=left, busy=False))
        elif (state := told_state(event)) is not None:
            self._seats[seat.id] = msgspec.structs.replace(seat, busy=state in ("working", "waiting"))

    def _known(self, sight: _Sight) -> Seat | None:
        """The peer of this session. Two may have it: one that resumed it inside the other is told by its process."""
        ids = self._sessions.get((sight.event.provider, sight.event.session), [])
        seats = [self._seats[id] for id in ids]
        agent = sight.ancestry.agent
        exact = [seat for seat in seats if agent is not None and seat.process == agent]
        others = [seat for seat in seats if seat.process is None or seat.process not in sight.ancestry.above]
        ranked = sorted(exact or others, key=lambda seat: (seat.living, seat.session == sight.event.session))
        return ranked[-1] if ranked else None

    def _known_met(self, seat: Seat, sight: _Sight) -> Meeting:
        if not seat.living and not sight.starts:
            return Meeting("stale", seat.id)
        moved = seat.session != sight.event.session
        if moved and not sight.starts:
            return Meeting("stale", seat.id)
        how: Literal["known", "bound", "revived"] = "known" if seat.living else "revived"
        # A conversation of old goes on in another agent's window, by /resume there.
        other = self._predecessor(sight) if sight.rebinds else None
        elsewhere = seat.living and seat.process not in (None, sight.ancestry.agent)
        if other is not None and other.living and other.id != seat.id and not elsewhere:
            return self._bind(other, sight)
        return self._bind(seat, sight, "bound" if moved else how)

    def _stranger(self, sight: _Sight) -> Meeting:
        if sight.event.kind in _NO_SIGN:
            return Meeting("ignored")
        before = self._predecessor(sight)
        if before is not None:
            return self._bind(before, sight)
        parent, replaced = self._neighbours(sight)
        agent = sight.ancestry.agent
        event = sight.event
        seat = Seat(
            id=new_id("peer"),
            runtime=event.provider,
            session=event.session,
            place=sight.place,
            process=agent,
            parent=parent,
        )
        self.put(seat)
        return Meeting("new", seat.id, parent, agent, sight.ancestry.above, replaced)

    def _bind(self, seat: Seat, sight: _Sight, how: Literal["known", "bound", "revived"] = "bound") -> Meeting:
        """The event is this peer's; where it is and which process it is may have become known by it."""
        event, agent = sight.event, sight.ancestry.agent
        former = seat.former if seat.session == event.session else (*seat.former, seat.session)
        starts = sight.starts or how == "revived"
        changed = msgspec.structs.replace(
            seat,
            session=event.session,
            former=tuple(each for each in former if each != event.session)[-20:],
            place=sight.place if any(sight.place) and (starts or not any(seat.place)) else seat.place,
            process=agent if agent is not None and (starts or seat.process is None) else seat.process,
            living=True,
            left=seat.left and how == "known" and not starts,
        )
        if changed != seat:
            self.put(changed)
        return Meeting(how, seat.id, seat.parent, changed.process, sight.ancestry.above)

    def _predecessor(self, sight: _Sight) -> Seat | None:
        """The peer that this event shows in a new session: after /clear and /resume, or when that was missed."""
        event, agent = sight.event, sight.ancestry.agent
        ranked: list[tuple[bool, bool, Seat]] = []
        for seat in self._beside(sight):
            same = agent is not None and seat.process == agent
            other = agent is not None and seat.process is not None and seat.process != agent
            if seat.runtime != event.provider or other or seat.place != sight.place:
                continue
            if not seat.living:
                # Codex ends the session that is cleared like any other.
                fits = same and sight.starts and event.source == "clear"
            elif sight.rebinds or seat.left:
                fits = same or seat.left or not seat.busy
            else:
                fits = same and event.provider not in _SHARED
            if fits:
                ranked.append((seat.left, seat.living, seat))
        return max(ranked, key=lambda each: each[:2])[2] if ranked else None

    def _neighbours(self, sight: _Sight) -> tuple[str, tuple[str, ...]]:
        """The peer that started this one, and those that it shows to be over."""
        for process in sight.ancestry.above:
            hosts = [id for id in self._processes.get(process, []) if self._seats[id].living]
            if hosts:
                return hosts[-1], ()
        unsure = [
            seat for seat in self._in(sight.place) if seat.living and None in (seat.process, sight.ancestry.agent)
        ]
        busy = [seat.id for seat in unsure if seat.busy]
        if busy:
            # An agent at work runs tools, and one of them may be this agent.
            return busy[-1], ()
        # One that is idle runs none, so its terminal is another's now.
        return "", tuple(seat.id for seat in unsure)

    def _beside(self, sight: _Sight) -> Iterator[Seat]:
        """Those in the same terminal, or of the same process; each once."""
        ids = dict.fromkeys(self._places.get(sight.place, []) if any(sight.place) else [])
        if sight.ancestry.agent is not None:
            ids |= dict.fromkeys(self._processes.get(sight.ancestry.agent, []))
        return (self._seats[id] for id in ids)

    def _in(self, place: tuple[str, str, str]) -> list[Seat]:
        return [self._seats[id] for id in self._places.get(place, [])]


def _remove(index: dict[Any, list[str]], key: object, peer_id: str) -> None:
    ids = index.get(key, [])
    if peer_id in ids:
        ids.remove(peer_id)
    if not ids:
        index.pop(key, None)
