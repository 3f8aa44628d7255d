"""The ring of announcements and those who follow it."""

from __future__ import annotations

import gevent

from whisk.actors.events import INBOX, Batch, EventsActor, EventsHandle, Numbering
from whisk.actors.future import Future, cancel, get
from whisk.actors.system import ActorSystem


def events(system: ActorSystem, kept: int = 4) -> EventsHandle:
    return system.spawn(EventsActor, kept, name="events", handle=EventsHandle)


def test_a_follower_gets_what_was_announced_behind_its_position(system: ActorSystem) -> None:
    handle = events(system)
    handle.publish.tell("mailbox.changed", id="mail_1")
    handle.publish.tell("pty.output", pty_id="pty_1", offset=7)
    batch = get(handle.follow.remote(0))
    assert [(e.seq, e.type) for e in batch.events] == [(1, "mailbox.changed"), (2, "pty.output")]
    assert (batch.next, batch.missed) == (2, False)
    assert [e.offset for e in get(handle.follow.remote(1)).events] == [7]


def test_followers_wait_and_all_wake(system: ActorSystem) -> None:
    handle = events(system)
    waiting = [handle.follow.remote(0) for _ in range(3)]
    assert get(handle.last.remote()) == 0
    handle.publish.tell("session.changed", id="sess_1")
    assert [b.events[0].id for b in get(waiting)] == ["sess_1"] * 3


def test_a_follower_that_is_too_slow_is_told_so(system: ActorSystem) -> None:
    handle = events(system)
    for number in range(10):
        handle.publish.tell("session.changed", id=str(number))
    batch = get(handle.follow.remote(2))
    assert ([e.id for e in batch.events], batch.missed) == (["6", "7", "8", "9"], True)


def test_a_position_of_an_earlier_life_is_told_so(system: ActorSystem) -> None:
    handle = events(system)
    assert get(handle.follow.remote(99)).missed
    handle.publish.tell("session.changed", id="x")
    batch = get(handle.follow.remote(99))
    assert ([e.id for e in batch.events], batch.next, batch.missed) == (["x"], 1, True)


def test_a_long_backlog_comes_in_pieces(system: ActorSystem) -> None:
    handle = events(system, kept=10)
    for number in range(6):
        handle.publish.tell("session.changed", id=str(number))
    first = get(handle.follow.remote(0, limit=4))
    rest = get(handle.follow.remote(first.next, limit=4))
    assert [e.id for e in (*first.events, *rest.events)] == ["0", "1", "2", "3", "4", "5"]
    assert not first.missed
    assert not rest.missed


def test_who_stops_waiting_leaves_nothing_behind(system: ActorSystem) -> None:
    handle = events(system)
    waiting = handle.follow.remote(0)
    get(handle.last.remote())
    assert system.describe("events").facts["followers"] == 1
    cancel(waiting)
    assert system.describe("events").facts["followers"] == 0


def test_a_restart_of_the_ring_repeats_no_number_and_is_told(system: ActorSystem) -> None:
    handle = system.spawn(EventsActor, numbering=Numbering(), name="events", handle=EventsHandle)
    for number in range(3):
        handle.publish.tell("session.changed", id=str(number))
    assert get(handle.follow.remote(2)).next == 3
    get(system.restart("events"))
    behind, first = handle.follow.remote(2), handle.follow.remote(3)
    assert get(behind).missed
    handle.publish.tell("session.changed", id="after")
    batch = get(first)
    assert ([(e.seq, e.id) for e in batch.events], batch.missed) == ([(4, "after")], False)


def test_a_follower_of_some_types_is_not_woken_by_others_and_has_not_missed_them(system: ActorSystem) -> None:
    handle = events(system)
    handle.publish.tell("pty.output")
    waiting = handle.follow.remote(0, types=frozenset({"mailbox.changed"}))
    for _ in range(20):
        handle.publish.tell("pty.output")
    assert get(handle.last.remote()) == 21
    assert not waiting.done()
    handle.publish.tell("mailbox.changed", id="mail_1")
    batch = get(waiting)
    assert ([e.id for e in batch.events], batch.next, batch.missed) == (["mail_1"], 22, False)


def test_a_follower_of_some_types_that_was_away_too_long_is_told_so(system: ActorSystem) -> None:
    handle = events(system)
    for _ in range(9):
        handle.publish.tell("pty.output")
    batch = get(handle.follow.remote(2, types=frozenset({"mailbox.changed"})))
    assert (batch.events, batch.next, batch.missed) == ((), 9, True)
    assert get(handle.follow.remote(2, types=frozenset({"pty.output"}), limit=2)).next == 7


def test_the_next_life_numbers_behind_the_last_and_knows_its_positions(system: ActorSystem) -> None:
    last = events(system)
    last.publish.tell("session.changed")
    position = get(last.follow.remote(0)).next
    get(system.stop("events"))
    handle = system.spawn(EventsActor, numbering=Numbering(1000), name="events", handle=EventsHandle)
    assert get(handle.follow.remote(position)).missed
    for number in range(9):
        handle.publish.tell("session.changed", id=str(number))
    batch = get(handle.follow.remote(position))
    assert (batch.missed, batch.events[0].seq) == (True, 1001)


def test_a_thousand_followers_get_each_event_once(system: ActorSystem) -> None:
    handle = system.spawn(EventsActor, name="events", mailbox=INBOX, handle=EventsHandle)
    seen: list[list[int]] = [[] for _ in range(1000)]

    def follow(mine: list[int], at: int) -> None:
        def arrived(done: Future[Batch]) -> None:
            mine.extend(event.seq for event in done.get().events)
            if len(mine) < 20:
                follow(mine, done.get().next)

        handle.follow.options(timeout=None).remote(at).then(arrived)

    for mine in seen:
        follow(mine, 0)
    for _ in range(20):
        handle.publish.tell("session.changed")
    with gevent.Timeout(20):
        while not all(len(mine) == 20 for mine in seen):
            get(handle.last.remote())
    assert all(mine == list(range(1, 21)) for mine in seen)
