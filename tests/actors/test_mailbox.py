"""Readers: who gets which message when many wait, hang up, hold claims, or are killed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import gevent
import pytest
from gevent.event import Event
from peewee import Database

from tests.mail_desk import SECONDS, Gate, MailDesk, until
from whisk.actors.future import Future, get, wait
from whisk.actors.system import ActorSystem
from whisk.clock import ManualClock
from whisk.errors import BusyError, CancelledError, ConflictError, UnavailableError
from whisk.mail.address import parse_address
from whisk.storage import mail_delivery
from whisk.storage.database import Store
from whisk.storage.mail_delivery import Delivery

T = TypeVar("T")


@pytest.fixture
def desk(system: ActorSystem, tmp_path: Path) -> Iterator[MailDesk]:
    desk = MailDesk(system, tmp_path / "whisk.sqlite3")
    yield desk
    desk.system.close(timeout=5.0)
    desk.store.close()


def ids(replies: list[Future[Delivery | None]]) -> list[str | None]:
    """What each reader has by now; None for one that still waits."""
    return [_id(reply.get(timeout=0)) if reply.done() else None for reply in replies]


def _id(delivery: Delivery | None) -> str | None:
    return None if delivery is None else delivery.message.id


# -- one reader ----------------------------------------------------------------------------------------------------


def test_what_is_there_comes_at_once_and_nothing_is_none(desk: MailDesk) -> None:
    assert desk.take("run:b") is None
    sent = desk.send()
    assert _id(desk.take("run:b")) == sent.id
    assert desk.take("run:b") is None
    assert desk.unread("run:b") == []


def test_a_waiting_reader_is_woken_by_the_message_it_wants(desk: MailDesk) -> None:
    reader = desk.check("run:b", types=["dispatch"], project_id="P")
    desk.queued("run:b", 1)
    desk.send(type="status", project_id="P")
    desk.send(type="dispatch")
    wanted = desk.send(type="dispatch", project_id="P")
    assert _id(get(reader, SECONDS)) == wanted.id


def test_a_look_takes_nothing_and_every_looker_sees_the_message(desk: MailDesk) -> None:
    lookers = [desk.check("run:b", ack=False) for _ in range(3)]
    desk.queued("run:b", 3)
    sent = desk.send()
    assert [_id(get(looker, SECONDS)) for looker in lookers] == [sent.id] * 3
    assert desk.unread("run:b") == [sent.id]
    assert _id(desk.take("run:b", ack=False)) == sent.id
    assert _id(desk.take("run:b")) == sent.id


def test_an_empty_mailbox_ends_and_a_waiting_one_does_not(desk: MailDesk) -> None:
    reader = desk.check("run:b")
    desk.queued("run:b", 1)
    mailbox = desk.system._cell("mailbox:run:b").actor
    assert mailbox is not None
    assert not mailbox.may_passivate()
    reader.cancel()
    until(mailbox.may_passivate)
    desk.send()
    claimed = desk.take("run:b", ack=False, claim=60)
    assert claimed is not None
    until(lambda: desk.facts("run:b")["claimed"] == 1)
    assert not mailbox.may_passivate()
    desk.read(claimed.message.id, claim=claimed.token)
    until(lambda: desk.facts("run:b")["claimed"] == 0)
    assert mailbox.may_passivate()


# -- many readers --------------------------------------------------------------------------------------------------


def test_readers_are_served_in_the_order_they_came(desk: MailDesk) -> None:
    readers = []
    for count in range(10):
        readers.append(desk.check("run:b"))
        desk.queued("run:b", count + 1)
    sent = [desk.send().id for _ in range(7)]
    until(lambda: sum(reader.done() for reader in readers) == 7)
    assert ids(readers) == [*sent, None, None, None]


@pytest.mark.parametrize("options", [{"ack": True}, {"ack": False, "claim": 60}])
def test_fifty_readers_and_fifty_messages_at_once_are_fifty_pairs(desk: MailDesk, options: dict[str, Any]) -> None:
    readers = [desk.check("run:b", **options) for _ in range(25)]
    sending = [desk.sending() for _ in range(25)]
    readers += [desk.check("run:b", **options) for _ in range(25)]
    sending += [desk.sending() for _ in range(25)]
    sent = [message.id for message in get(sending, SECONDS)]
    got = [delivery.message.id for delivery in get(readers, SECONDS) if delivery is not None]
    assert sorted(got) == sorted(sent)
    if "claim" in options:
        for reader in readers:
            delivery = get(reader, SECONDS)
            assert delivery is not None
            desk.read(delivery.message.id, claim=delivery.token)
    assert desk.unread("run:b") == []


def test_a_reader_at_several_addresses_gets_one_message(desk: MailDesk) -> None:
    reader = desk.check("run:b", "pty:p", "session:s")
    desk.queued("session:s", 1)
    sent = get([desk.sending(to=[to]) for to in ("session:s", "pty:p", "run:b")], SECONDS)
    first = get(reader, SECONDS)
    assert first is not None
    assert sorted([first.message.id, *desk.unread("run:b", "pty:p", "session:s")]) == sorted(one.id for one in sent)
    for address in ("run:b", "pty:p", "session:s"):
        desk.queued(address, 0)


def test_one_message_to_two_addresses_of_one_reader_is_taken_for_one_of_them(desk: MailDesk) -> None:
    reader = desk.check("run:b", "pty:p")
    desk.queued("pty:p", 1)
    sent = desk.send(to=["pty:p", "run:b"])
    first = get(reader, SECONDS)
    second = desk.take("run:b", "pty:p")
    assert first is not None
    assert second is not None
    assert {first.message.id, second.message.id} == {sent.id}
    assert {str(first.address), str(second.address)} == {"run:b", "pty:p"}
    assert desk.take("run:b", "pty:p") is None


def test_who_does_not_wait_does_not_push_in_before_who_does(desk: MailDesk) -> None:
    for _ in range(50):
        reader = desk.check("run:b")
        desk.queued("run:b", 1)
        sending = desk.sending()
        hasty = [desk.check("run:b", wait=False) for _ in range(3)]
        sent = get(sending, SECONDS)
        assert [get(one, SECONDS) for one in hasty] == [None] * 3
        assert _id(get(reader, SECONDS)) == sent.id


def test_a_crowd_at_several_addresses_loses_and_doubles_nothing(desk: MailDesk) -> None:
    """Readers with different addresses, kinds and filters come, go and hang up while mail comes in."""
    chance = random.Random(7)
    places = ["run:b", "run:c", "pty:p", "session:s"]
    readers: list[Future[Delivery | None]] = []
    sending = []
    for _ in range(300):
        if chance.random() < 0.5:
            options: dict[str, Any] = {"wait": chance.random() < 0.8}
            if chance.random() < 0.3:
                options["types"] = chance.choices(["status", "dispatch", "handoff"])
            readers.append(desk.check(*chance.sample(places, chance.randint(1, 4)), **options))
        else:
            kind = chance.choice(["status", "dispatch", "handoff"])
            sending.append(desk.sending(to=[chance.choice(places)], type=kind))
        if chance.random() < 0.2 and readers:
            chance.choice(readers).cancel()
        if chance.random() < 0.5:
            gevent.sleep(0)
    sent = [message.id for message in get(sending, SECONDS)]
    # Whatever is left, these last readers take.
    readers += [desk.check(*places) for _ in sent]
    got: list[str] = []

    def collect() -> bool:
        got[:] = [reader.get(timeout=0).message.id for reader in readers if _has_mail(reader)]  # type: ignore[union-attr]
        return len(got) >= len(sent)

    until(collect)
    assert sorted(got) == sorted(sent)
    assert desk.unread(*places) == []
    for reader in readers:
        reader.cancel()
    for place in places:
        desk.queued(place, 0)


def _has_mail(reader: Future[Delivery | None]) -> bool:
    return reader.done() and reader.error() is None and reader.get(timeout=0) is not None


def test_a_message_sent_between_look_and_wait_is_never_missed(desk: MailDesk) -> None:
    """The reader's look and the message start together; whichever the disk sees first, the wait returns."""
    for round_ in range(400):
        if round_ % 2:
            sending, reader = desk.sending(), desk.check("run:b", "pty:p")
        else:
            reader, sending = desk.check("run:b", "pty:p"), desk.sending()
        for _ in range(round_ % 7):
            gevent.sleep(0)
        assert _id(get(reader, SECONDS)) == get(sending, SECONDS).id


def test_too_many_readers_at_one_address_are_refused(desk: MailDesk) -> None:
    desk.open_mailbox("run:b", waiters=3)
    readers = [desk.check("run:b") for _ in range(5)]
    wait(readers, num_returns=2, timeout=SECONDS)
    assert [type(reader.error()) for reader in readers] == [type(None)] * 3 + [BusyError] * 2


# -- readers that go away ------------------------------------------------------------------------------------------


def test_a_reader_that_hung_up_is_skipped(desk: MailDesk) -> None:
    gone, reader = desk.check("run:b"), desk.check("run:b")
    desk.queued("run:b", 2)
    assert gone.cancel()
    sent = desk.send()
    assert _id(get(reader, SECONDS)) == sent.id


TAKING = [{"ack": True}, {"ack": False, "claim": 60}]


@pytest.mark.parametrize("options", TAKING)
def test_a_message_on_its_way_to_a_reader_that_hangs_up_goes_to_the_next(
    desk: MailDesk, options: dict[str, Any]
) -> None:
    reader = desk.check("run:b", **options)
    desk.queued("run:b", 1)
    sending = desk.sending()
    # The sender hears of it while the mailbox is taking the message for the reader.
    sending.then(lambda _: reader.cancel())
    sent = get(sending, SECONDS)
    assert isinstance(reader.error(), CancelledError)
    assert _id(get(desk.check("run:b"), SECONDS)) == sent.id


@pytest.mark.parametrize("options", TAKING)
def test_a_reader_that_hangs_up_while_it_is_looked_for_takes_nothing(desk: MailDesk, options: dict[str, Any]) -> None:
    sent = desk.send()
    gate = Gate(desk.journal)
    reader = desk.check("run:b", **options)
    until(lambda: desk.system.describe("journal").facts["queued"] == 1)
    assert reader.cancel()
    gate.open()
    assert _id(get(desk.check("run:b"), SECONDS)) == sent.id


@pytest.mark.parametrize("options", TAKING)
def test_what_a_reader_gives_back_goes_to_the_next(desk: MailDesk, options: dict[str, Any]) -> None:
    sent = desk.send()
    delivery = desk.take("run:b", **options)
    assert delivery is not None
    other = desk.check("run:b")
    desk.queued("run:b", 1)
    desk.post_office.give_back.tell(delivery)
    assert _id(get(other, SECONDS)) == sent.id


class SlowStore(Store):
    """Its answers are held back while `slow` is set."""

    slow = False

    def read(self, fn: Callable[[Database], T]) -> T:
        found = super().read(fn)
        if self.slow:
            self.go_on = Event()
            self.go_on.wait(SECONDS)
        return found


def test_a_message_that_passes_while_a_reader_is_looked_for_is_not_missed(desk: MailDesk) -> None:
    get(desk.system.stop("post-office"))
    store = SlowStore.open(desk.path)
    desk.post_office = desk.open_post_office(store)
    desk.open_mailbox("run:b")
    until(lambda: desk.facts("run:b") != {} and desk.system.describe("post-office").state == "alive")
    store.slow = True
    looker = desk.check("run:b", ack=False)
    until(lambda: hasattr(store, "go_on"))
    # What it found, which is nothing, is on the way back while the message arrives.
    sent = desk.send()
    store.slow = False
    store.go_on.set()
    assert _id(get(looker, SECONDS)) == sent.id
    desk.system.close()
    store.close()


# -- claims --------------------------------------------------------------------------------------------------------


def test_a_claim_that_is_not_confirmed_goes_to_the_next_reader_when_its_lease_ends(desk: MailDesk) -> None:
    sent = desk.send()
    first = desk.take("run:b", ack=False, claim=0.05)
    assert first is not None
    second = get(desk.check("run:b", ack=False, claim=60), SECONDS)
    assert second is not None
    assert _id(first) == _id(second) == sent.id
    with pytest.raises(ConflictError, match="went back to the queue"):
        desk.read(sent.id, claim=first.token)
    desk.read(sent.id, claim=second.token)
    assert desk.unread("run:b") == []


def test_a_confirmed_claim_does_not_come_back(desk: MailDesk) -> None:
    desk.send()
    claimed = desk.take("run:b", ack=False, claim=0.05)
    assert claimed is not None
    desk.read(claimed.message.id, claim=claimed.token)
    until(lambda: desk.facts("run:b").get("claimed", 0) == 0)
    assert desk.take("run:b") is None


def test_a_clock_that_jumps_neither_ends_nor_prolongs_a_claim(tmp_path: Path) -> None:
    clock = ManualClock()
    desk = MailDesk(ActorSystem(clock=clock), tmp_path / "whisk.sqlite3")
    desk.send()
    claimed = desk.take("run:b", ack=False, claim=60)
    assert claimed is not None
    clock.advance(3600)
    assert desk.take("run:b") is None
    desk.read(claimed.message.id, claim=claimed.token)
    sent = desk.send()
    claimed = desk.take("run:b", ack=False, claim=0.05)
    clock.advance(-7200)
    assert _id(get(desk.check("run:b"), SECONDS)) == sent.id
    desk.system.close()
    desk.store.close()


@pytest.mark.parametrize("step", [0.0, 61.0, -7200.0])
def test_a_claim_outlives_a_killed_daemon_but_not_its_lease(tmp_path: Path, step: float) -> None:
    clock = ManualClock()
    desk = MailDesk(ActorSystem(clock=clock), tmp_path / "whisk.sqlite3")
    sent = desk.send()
    claimed = desk.take("run:b", ack=False, claim=60)
    assert claimed is not None
    desk.crash()
    clock.advance(step)
    desk.open(ActorSystem(clock=clock))
    until(lambda: desk.system.find("mailbox:run:b") is not None)
    if step == 61.0:
        assert _id(get(desk.check("run:b"), SECONDS)) == sent.id
    else:
        assert desk.take("run:b") is None
        desk.read(sent.id, claim=claimed.token)
        assert desk.unread("run:b") == []
    desk.system.close()
    desk.store.close()


def test_a_message_read_by_id_while_it_is_claimed_stays_read(desk: MailDesk) -> None:
    sent = desk.send()
    claimed = desk.take("run:b", ack=False, claim=0.05)
    assert claimed is not None
    desk.read(sent.id)
    until(lambda: desk.facts("run:b")["claimed"] == 0)
    assert desk.take("run:b") is None


# -- ends and restarts ---------------------------------------------------------------------------------------------


def test_readers_keep_waiting_when_their_mailbox_is_restarted(desk: MailDesk) -> None:
    readers = []
    for count in range(3):
        readers.append(desk.check("run:b"))
        desk.queued("run:b", count + 1)
    sending = desk.sending()
    get(desk.system.restart("mailbox:run:b"), SECONDS)
    sent = [get(sending, SECONDS).id, desk.send().id]
    until(lambda: sum(reader.done() for reader in readers) == 2)
    assert sorted(i for i in ids(readers) if i) == sorted(sent)


def test_a_mailbox_that_ends_under_a_reader_is_started_again(desk: MailDesk) -> None:
    reader = desk.check("run:b")
    desk.queued("run:b", 1)
    get(desk.system.stop("mailbox:run:b"), SECONDS)
    desk.queued("run:b", 1)
    sent = desk.send()
    assert _id(get(reader, SECONDS)) == sent.id


def test_a_closing_post_office_tells_its_readers(desk: MailDesk) -> None:
    readers = [desk.check("run:b"), desk.check("run:b", "pty:p")]
    desk.queued("pty:p", 1)
    desk.queued("run:b", 2)
    get(desk.system.stop("post-office"), SECONDS)
    assert [type(reader.error()) for reader in readers] == [UnavailableError] * 2


def test_the_queue_of_open_claims_is_empty_at_the_end(desk: MailDesk) -> None:
    desk.send()
    claimed = desk.take("run:b", ack=False, claim=60)
    assert claimed is not None
    desk.read(claimed.message.id, claim=claimed.token)
    assert desk.store.read(lambda db: mail_delivery.open_claims(db, parse_address("run:b"))) == []
