"""The actors of peers: what hooks tell them, what they keep, how they learn of an end without a word."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event

from tests.captured import load, request
from whisk.actors.future import get
from whisk.actors.journal import JournalActor, JournalHandle
from whisk.actors.peer import PeerHandle, PeerServices
from whisk.actors.peers import PeersActor, PeersHandle, living
from whisk.actors.system import ActorSystem
from whisk.hooks.entry import HookContext
from whisk.mail.address import MailAddress
from whisk.peers.liveness import Process
from whisk.peers.peer import Peer, end, new_peer
from whisk.storage import mail_standing
from whisk.storage import peer as peer_storage
from whisk.storage.database import Store
from whisk.storage.page import WHOLE
from whisk.storage.peer import PeerQuery

DEADLINE = 10.0


class House:
    """A keeper of peers over a real database."""

    def __init__(self, system: ActorSystem, path: Path) -> None:
        self.system = system
        self.store = Store.open(path)
        self.journal = system.spawn(JournalActor, self.store, name="journal", handle=JournalHandle)
        self.gone: list[tuple[str, str, str]] = []
        self._changed = Event()
        self.children: list[subprocess.Popen[bytes]] = []
        self.open()

    def open(self) -> None:
        services = PeerServices(self.store, self.journal, self._announce, self._gone, watch_seconds=0.05, kept_ended=3)
        self.peers = self.system.spawn(PeersActor, services, name="peers", handle=PeersHandle)

    def _gone(self, runtime: str, session: str, pty_id: str) -> None:
        self.gone.append((runtime, session, pty_id))

    def stop(self) -> None:
        for name in [name for name in self.system.names() if name.startswith("peer:")]:
            get(self.system.stop(name), timeout=DEADLINE)
        get(self.system.stop("peers"), timeout=DEADLINE)

    def _announce(self, kind: str, id: str) -> None:
        assert kind == "peers.changed"
        self._changed.set()

    def met(self, name: str, session: str, context: HookContext | None = None, **changes: Any) -> None:
        event = load("claude", name, session_id=session, **changes)
        get(self.peers.met.remote(event, context or HookContext(pty_id="pty_1"), self.system.clock.now(), True))

    def agent(self) -> tuple[subprocess.Popen[bytes], HookContext]:
        """A process that stands for an agent, and the surroundings of a hook of it."""
        child = subprocess.Popen(["sleep", "600"])
        self.children.append(child)
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2].split()
        return child, HookContext(ancestry=f"{child.pid}:{fields[19]}:claude", tmux_server="/t", tmux_pane="%1")

    def stored(self, session: str) -> Peer | None:
        found = self.store.read(lambda db: peer_storage.select(db, PeerQuery(provider_session_id=session), WHOLE))
        return found[-1] if found else None

    def until(self, session: str, holds: Callable[[Peer], object]) -> Peer:
        """The stored peer of a session, as soon as it is so."""
        with gevent.Timeout(DEADLINE):
            while True:
                self._changed.clear()
                if (peer := self.stored(session)) is not None and holds(peer):
                    return peer
                self._changed.wait()

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
        if self.system.find("peers") is not None:
            self.stop()
        get(self.system.stop("journal"), timeout=DEADLINE)
        self.store.close()


@pytest.fixture
def house(system: ActorSystem, tmp_path: Path) -> Iterator[House]:
    made = House(system, tmp_path / "whisk.sqlite")
    yield made
    made.close()


def test_an_event_makes_a_peer_with_an_actor_of_its_own(house: House) -> None:
    house.met("SessionStart-startup-tui", "a", model="claude-sonnet-5")
    peer = house.until("a", lambda peer: peer.state == "idle")
    (actor,) = house.system.list(runtime="claude")
    assert actor.name == f"peer:{peer.id}"
    assert peer.model is not None
    assert (peer.model.name, peer.pty_id, peer.online) == ("claude-sonnet-5", "pty_1", True)


def test_s17_a_killed_agent_is_offline_with_a_handoff_and_what_it_asked_is_called_off(house: House) -> None:
    child, context = house.agent()
    house.met("UserPromptSubmit", "a", context, prompt="Fix the tax")
    house.until("a", lambda peer: peer.watched)
    child.kill()
    # Not waited for yet: a process that only waits to be buried is gone.
    peer = house.until("a", lambda peer: not peer.online)
    assert peer.handoff is not None
    assert (peer.handoff.cause, peer.handoff.last_prompt) == ("process_gone", "Fix the tax")
    assert house.gone == [("claude", "a", "")]
    house.met("Stop", "a", context)
    assert get(house.system.get(f"peer:{peer.id}", handle=PeerHandle).info.remote()).online is False


def test_a_pid_that_another_process_has_by_now_is_not_the_agent(house: House) -> None:
    child, _ = house.agent()
    (started,) = [Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2].split()[19]]
    assert living([Process(child.pid, started)]) == {Process(child.pid, started)}
    assert living([Process(child.pid, str(int(started) - 1)), Process(2**22 + 5, "1")]) == set()


def test_a_process_that_was_never_seen_here_says_nothing_when_it_is_missing(house: House) -> None:
    """Its hook may have come from another machine, where that pid is somebody else's."""
    house.met("Stop", "far", HookContext(ancestry="4000000:12:claude"))
    child, context = house.agent()
    house.met("Stop", "near", context)
    house.until("near", lambda peer: peer.watched)
    child.kill()
    house.until("near", lambda peer: not peer.online)
    far = house.stored("far")
    assert far is not None
    assert (far.online, far.watched) == (True, False)


def test_an_agent_that_is_gone_before_anybody_looked_was_here_if_its_shell_is(house: House) -> None:
    _, context = house.agent()
    shell = context.ancestry.replace("claude", "bash")
    house.met("UserPromptSubmit", "short", HookContext(ancestry=f"4000000:12:claude,{shell}"))
    peer = house.until("short", lambda peer: not peer.online)
    assert peer.handoff is not None
    assert peer.handoff.cause == "process_gone"


def test_s18_codex_that_quits_without_a_session_end_is_offline_when_its_process_ends(house: House) -> None:
    child, context = house.agent()
    event = load("codex", "Stop", session_id="quiet", model="gpt-5.5")
    get(house.peers.met.remote(event, context, house.system.clock.now(), True))
    house.until("quiet", lambda peer: peer.watched)
    child.terminate()
    child.wait()
    peer = house.until("quiet", lambda peer: not peer.online)
    assert peer.handoff is not None
    assert (peer.handoff.cause, peer.handoff.model) == ("process_gone", "gpt-5.5")


def test_a_restart_takes_up_living_peers_and_says_of_the_others_that_they_are_gone(house: House) -> None:
    (one, first), (_, second) = house.agent(), house.agent()
    house.met("Stop", "a", first)
    house.met("UserPromptSubmit", "b", second)
    for session in ("a", "b"):
        house.until(session, lambda peer: peer.watched)
    house.stop()
    one.kill()
    one.wait()
    house.open()
    ended = house.until("a", lambda peer: not peer.online)
    assert ended.handoff is not None
    assert ended.handoff.cause == "process_gone"
    house.met("Stop", "b", second)
    peer = house.until("b", lambda peer: peer.state == "idle")
    assert (peer.online, peer.watched) == (True, True)


def test_a_request_makes_its_peer_wait_until_it_is_decided(house: House) -> None:
    asked = request("claude", "PermissionRequest-Bash", session_id="a")
    house.met("PreToolUse-Bash", "a")
    get(house.peers.requested.remote(asked, True))
    peer = house.until("a", lambda peer: peer.state == "waiting")
    assert peer.prompts == (asked.id,)


def test_a_request_that_ended_unnoticed_before_a_restart_keeps_nobody_waiting(house: House) -> None:
    house.met("PreToolUse-Bash", "a")
    get(house.peers.requested.remote(request("claude", "PermissionRequest-Bash", session_id="a"), True))
    house.until("a", lambda peer: peer.state == "waiting")
    house.stop()
    house.open()
    assert house.until("a", lambda peer: peer.prompts == ()).state == "unknown"


def test_the_newest_of_those_that_ended_are_kept(house: House) -> None:
    for number in range(5):
        house.met("SessionEnd-other", f"s{number}")
        house.until(f"s{number}", lambda peer: not peer.online)
    kept = house.store.read(peer_storage.everybody)
    assert [peer.provider_session_id for peer in kept] == ["s2", "s3", "s4"]


def test_the_last_seen_of_an_agent_at_work_is_written_when_the_daemon_stops(house: House) -> None:
    house.met("UserPromptSubmit", "a")
    before = house.until("a", lambda peer: peer.state == "working")
    house.met("PreToolUse-Read", "a")
    get(house.system.get(f"peer:{before.id}", handle=PeerHandle).info.remote())
    house.stop()
    get(house.journal.write.remote(lambda db: None))
    after = house.stored("a")
    assert after is not None
    assert after.last_seen_at > before.last_seen_at


def test_mail_knows_a_peer_and_keeps_what_is_sent_before_it_is_seen(house: House) -> None:
    event = load("claude", "Stop")
    now = house.system.clock.now()
    peer = new_peer("peer_1", event, now)

    def standing(peer_id: str) -> str:
        address = MailAddress(kind="peer", id=peer_id)
        return house.store.read(lambda db: mail_standing.standing(db, address))

    assert standing("peer_1") == "unknown"
    get(house.journal.write.remote(lambda db: peer_storage.save(db, peer)))
    assert standing("peer_1") == "lives"
    get(house.journal.write.remote(lambda db: peer_storage.save(db, end(peer, now, "not_seen"))))
    assert standing("peer_1") == "ended"
